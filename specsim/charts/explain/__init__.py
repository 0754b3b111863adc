"""Pictures that a newcomer asks for: what happens in a round, why drafts stand or fall, and what rules differ in.

Like all charts they compute nothing but what a slider asks for; the frames say what there is to see.
"""

from __future__ import annotations

from specsim.charts.explain.areas import acceptance_areas
from specsim.charts.explain.race import match_rate, race
from specsim.charts.explain.round import draft_and_verify
from specsim.charts.explain.tree import token_tree
from specsim.charts.explain.verification import lengths_by_rule, standing_by_rule

EXPLANATIONS = {
    "acceptance_areas": acceptance_areas,
    "draft_and_verify": draft_and_verify,
    "lengths_by_rule": lengths_by_rule,
    "match_rate": match_rate,
    "race": race,
    "standing_by_rule": standing_by_rule,
    "token_tree": token_tree,
}

__all__ = [
    "EXPLANATIONS",
    "acceptance_areas",
    "draft_and_verify",
    "lengths_by_rule",
    "match_rate",
    "race",
    "standing_by_rule",
    "token_tree",
]
