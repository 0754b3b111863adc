"""Do drafts stand as often as the rule says, and do texts end as often as the target says?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.evidence import UNKNOWN, Evidence
from specsim.stats import TestResult, accepted_drafts
from specsim.stats.rows import BoolArray

CLAIMS = ("rejection", "block")
"""Rules whose law of accepted drafts is known here."""
RARE = (1e-2, 1e-3, 1e-4)
_ROUNDING = 1 + 1e-9

Results = Iterator[tuple[str, TestResult]]


def acceptance_tests(evidence: Evidence, *, claims: str | None) -> Results:
    """Two kinds of tests of the drafts that stood, over all tokens and by group.

    Notes
    -----
    Let r be the reach of a place: 1 for token verification, min(1, r p / q) along the round for block verification.
    Drafts stand there, with a token that does not end the text, with probability sum of min(r p, q) / r over such
    tokens; and given the text, a draft stood behind token x with probability min(1, q(x) / (r p(x))). The second needs
    no care at the ends of texts, for it is a law given the tokens.
    """
    if claims is None or np.isnan(evidence.draft_mass).any() or not (evidence.accepted != UNKNOWN).any():
        return
    reach = _reach(evidence, claims)
    yield from _given_text(evidence, reach)
    judged = (evidence.accepted != UNKNOWN) & (evidence.place < evidence.room[evidence.request] - 1) & (reach > 0)
    some = np.flatnonzero(judged)
    stood = (evidence.accepted[some] == 1) & ~evidence.ended[some]
    chances = np.clip(evidence.overlap[some, CLAIMS.index(claims)], 0.0, 1.0)
    yield from _by_group("drafts that stand", stood, chances, {n: m[some] for n, m in evidence.strata().items()})


def contradictions(evidence: Evidence, *, claims: str | None) -> BoolArray:
    """Drafts that fell, or stood, where the rule leaves no choice, shape (N,): none if laws are exact."""
    found = np.zeros(len(evidence), dtype=bool)
    if claims is not None and not np.isnan(evidence.draft_mass).any():
        some, stood, chances = _behind(evidence, _reach(evidence, claims))
        found[some] = np.where(stood, chances == 0, chances == 1)
    return found


def _reach(evidence: Evidence, claims: str) -> FloatArray:
    return evidence.reach if claims == "block" else np.ones(len(evidence))


def _behind(evidence: Evidence, reach: FloatArray) -> tuple[IntArray, BoolArray, FloatArray]:
    """Places where a draft was and its fate is known, whether it stood, and how likely that was given the token."""
    some = np.flatnonzero((evidence.accepted >= 0) & (evidence.observed.mass > 0))
    p, q = reach[some] * evidence.observed.mass[some], evidence.draft_mass[some]
    chances = np.divide(q, p, out=np.ones_like(p), where=p > q * _ROUNDING)
    return some, evidence.accepted[some] == 1, chances


def _given_text(evidence: Evidence, reach: FloatArray) -> Results:
    _, stood, chances = _behind(evidence, reach)
    likely = chances > 0.5
    yield from _by_group("drafts behind tokens", stood, chances, {"likely drafts": likely, "unlikely drafts": ~likely})


def end_tests(evidence: Evidence) -> Results:
    """Whether texts end as often as they should: given what stood before, with the probability of tokens that end."""
    some = np.flatnonzero(evidence.end_mass > 0)  # NaN is not
    chances = np.clip(evidence.end_mass[some], 0.0, 1.0)
    groups = {name: mask[some] for name, mask in evidence.strata().items()}
    yield from _by_group("texts that end", evidence.ended[some], chances, groups)


def rare_tests(evidence: Evidence) -> Results:
    """Whether tokens of small probability come as rarely as they should."""
    for bound in RARE:
        rare = (evidence.observed.p < bound) & (evidence.observed.p > 0)
        chances = np.where(rare, evidence.observed.p, 0.0).sum(axis=1)
        some = np.flatnonzero(chances > 0)
        seen = rare[some, evidence.observed.cell[some]]
        yield from _by_group(f"tokens below {bound:g}", seen, np.minimum(chances[some], 1.0), {})


def _by_group(name: str, hits: BoolArray, chances: FloatArray, groups: Mapping[str, BoolArray]) -> Results:
    every = {"": np.ones(hits.size, dtype=bool), **{f", {group}": mask for group, mask in groups.items()}}
    for group, mask in every.items():
        if mask.any():
            yield f"{name}{group}", accepted_drafts(hits[mask], chances[mask])
