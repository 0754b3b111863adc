"""How many drafts a round gets: decisions inside a round, and what they may depend on.

Whether draft x_k of a request is judged may depend on x_1..x_(k-1), on the law q_k and the hidden state that x_k is
drawn from, on load, and on other requests as far as they are ranked ahead of it; never on x_k itself or on anything
computed from it or from later drafts. A decision that looks at x_k picks which draws of q count, so that what is judged
is no draw from q any more, and every verifier loses its guarantee. `anticipated_depth` finds such a decision in a table
of lengths. Drafts that are certain given the text (argmax, lookup) carry no choice and may be dropped at will.
"""

from specsim.policies.anticipation import anticipated_depth
from specsim.policies.budget import admit, best_budget
from specsim.policies.by_batch import ByBatch
from specsim.policies.confidence import entropy_confidence, length_before, length_keeping, worthwhile_length
from specsim.policies.fixed import Fixed
from specsim.policies.goodput import Goodput
from specsim.policies.load import GammaPolicy, Load
from specsim.policies.prefix_scheduler import PrefixSchedule, prefix_schedule

POLICIES: dict[str, type[GammaPolicy]] = {"fixed": Fixed, "by_batch": ByBatch, "goodput": Goodput}
"""How a server chooses the depth of its next round."""

__all__ = [
    "POLICIES",
    "ByBatch",
    "Fixed",
    "GammaPolicy",
    "Goodput",
    "Load",
    "PrefixSchedule",
    "admit",
    "anticipated_depth",
    "best_budget",
    "entropy_confidence",
    "length_before",
    "length_keeping",
    "prefix_schedule",
    "worthwhile_length",
]
