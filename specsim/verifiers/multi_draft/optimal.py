"""The optimal rule for independent candidates: pick one of them so that its law fits p best, then judge that one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.verifiers.chain import ratio
from specsim.verifiers.multi_draft import drawing
from specsim.verifiers.multi_draft.candidates import candidate_count, law_pairs
from specsim.verifiers.multi_draft.in_order import CandidateRule, residual_law
from specsim.verifiers.multi_draft.points import Points

BLOCK = 1 << 22
"""Numbers of one table that are worked on at once [1]."""


class Optimal(CandidateRule):
    """A rule for candidates drawn independently that reaches `optimum`.

    It picks one of the K candidates such that the picked one has the law s (`selection`) with
    sum min(p, s) = optimum, and judges that one as a single draft from s: it stands with probability
    min(1, p / s), else the token is drawn from (p - s)+ normalised.

    Notes
    -----
    Lossless. That an optimal rule has these two parts is due to Khisti et al. (arXiv 2410.18234); how the candidate is
    picked is worked out here. Lay the tokens out on [0, 1] in the order of falling p / q, each on an interval of
    length q, and let a draw be a uniform point u there. The least of K points has the law G(t) = 1 - (1 - t)^K, so
    picking the first candidate in this order favours tokens of large p / q as much as any rule can. Where that is too
    much, a point is moved: a density s / q that falls along [0, 1] is a mean of G' under some map that keeps the
    uniform law (majorisation, Hardy, Littlewood and Polya), and pairing the excess of G' over s / q with its
    deficit, both in rising order, gives one such map in closed form: u stays or changes place with its partner v, with
    probability abs(G'(u) - s/q (u)) / abs(G'(u) - G'(v)). The candidate whose point comes first is picked.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> Optimal().selection(p, q, candidates=2).round(4), Optimal().acceptance_vector(p, q, candidates=2).sum().round(4)
    (array([0.36, 0.39, 0.25]), np.float64(0.86))
    """

    name = "optimal"

    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """Independent draws, shape (..., K)."""
        return drawing.with_replacement(q, candidates=candidates, rng=rng)

    def selection(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """The law of the candidate that is picked, shape (..., V) [1]."""
        target, draft, lead = law_pairs(p, q)
        plan = Points.of(target, draft, candidates=candidate_count(candidates))
        return plan.selection().reshape(*lead, -1)

    def accept_probability(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """The probability that each token stands if it is the one picked, shape (..., V) [1]."""
        target, draft, lead = law_pairs(p, q)
        plan = Points.of(target, draft, candidates=candidate_count(candidates))
        return ratio(target, plan.selection()).reshape(*lead, -1)

    def residual(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """The law of the token where the picked candidate falls, shape (..., V) [1]."""
        target, draft, lead = law_pairs(p, q)
        plan = Points.of(target, draft, candidates=candidate_count(candidates))
        return residual_law(target, plan.selection()).reshape(*lead, -1)

    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact law of the place and token of the candidate that stands, shape (..., K, V) [1].

        The rule does not look at the order in which candidates were drawn, so all places are alike.
        """
        target, draft, lead = law_pairs(p, q)
        plan = Points.of(target, draft, candidates=candidate_count(candidates))
        share = np.minimum(target, plan.selection()) / candidates
        return np.repeat(share[:, None, :], candidates, axis=1).reshape(*lead, candidates, -1)

    def _judge(
        self, p: FloatArray, q: FloatArray, tokens: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        accepted, token = np.empty((2, len(tokens)), dtype=np.intp)
        step = max(1, BLOCK // p.shape[-1])
        for first in range(0, len(tokens), step):
            rows = slice(first, first + step)
            target, draft, _ = law_pairs(p[rows], q[rows])
            accepted[rows], token[rows] = _pick_and_judge(target, draft, tokens[rows], rng)
        return accepted, token


def _pick_and_judge(
    p: FloatArray, q: FloatArray, tokens: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    plan, rows = Points.of(p, q, candidates=tokens.shape[1]), np.arange(len(tokens))
    picked = plan.of_draws(tokens, rng).argmin(axis=-1)
    token = tokens[rows, picked]
    selected = plan.selection()
    stands = rng.random(len(rows)) < ratio(p[rows, token], selected[rows, token])
    fell = np.flatnonzero(~stands)
    if fell.size:
        token[fell] = sample(residual_law(p[fell], selected[fell]), rng.random(fell.size))
    return np.where(stands, picked, -1), token
