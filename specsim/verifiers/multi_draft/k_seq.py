"""K-SEQ: independent candidates, each judged by the same ratio, made smaller so that all of them together fit p."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.verifiers.multi_draft import drawing
from specsim.verifiers.multi_draft.candidates import candidate_count, law_pairs
from specsim.verifiers.multi_draft.in_order import InOrder, State, residual_law

MOST_STEPS = 100


class KSeq(InOrder):
    """SpecTr's sequential selection: candidate x stands with probability min(1, p(x) / (rho q(x))).

    beta is the probability that one candidate stands, and rho, in 1..K, solves 1 - (1 - beta)^K = rho beta. If none
    stands, the token is drawn from (p - rho q)+ normalised.

    Notes
    -----
    Lossless. Sun et al. (arXiv 2310.15141), who show that one stands with at least 1 - 1/e of the best possible
    probability. Their residual subtracts min(p / rho, q) (1 - (1 - beta)^K) / beta, which at the
    solution is min(p, rho q). rho is found by Newton's method between bounds; the left side falls with rho and the
    right side never does.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> float(KSeq().rho(p, q, candidates=2).round(4)), KSeq().acceptance_vector(p, q, candidates=2).round(4)
    (1.4568, array([0.5432, 0.2481]))
    """

    name = "k_seq"

    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """Independent draws, shape (..., K)."""
        return drawing.with_replacement(q, candidates=candidates, rng=rng)

    def rho(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """The factor that the ratios are made smaller by, shape (...) [1]."""
        target, draft, lead = law_pairs(p, q)
        return _rho(target, draft, candidates=candidate_count(candidates)).reshape(lead)

    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact law of the place and token of the candidate that stands, shape (..., K, V) [1]."""
        target, draft, lead = law_pairs(p, q)
        rho = _rho(target, draft, candidates=candidate_count(candidates))[:, None]
        share = np.minimum(target / rho, draft)
        missed = np.maximum(1 - share.sum(axis=-1), 0)
        reached = missed[:, None] ** np.arange(candidates)
        return np.asarray(reached[:, :, None] * share[:, None, :]).reshape(*lead, candidates, -1)

    def _start(self, p: FloatArray, q: FloatArray, *, candidates: int) -> State:
        return State(p, _rho(p, q, candidates=candidates)[:, None] * q)

    def _after(self, state: State, tokens: IntArray) -> State:
        return state

    def _rest(self, state: State) -> FloatArray:
        assert state.q is not None
        return residual_law(state.p, state.q)


def _rho(p: FloatArray, q: FloatArray, *, candidates: int) -> FloatArray:
    rho = np.ones(len(p))
    low, high = np.ones(len(p)), np.full(len(p), float(candidates))
    for _ in range(MOST_STEPS):
        excess, slope = _excess(p, q, rho, candidates=candidates)
        low, high = np.where(excess > 0, rho, low), np.where(excess <= 0, rho, high)
        better = rho - np.divide(excess, slope, out=np.zeros_like(rho), where=slope < 0)
        better = np.where((low <= better) & (better <= high), better, (low + high) / 2)
        better = np.where(excess == 0, rho, better)
        if np.allclose(better, rho, rtol=1e-15, atol=0):
            return better
        rho = better
    return rho


def _excess(p: FloatArray, q: FloatArray, rho: FloatArray, *, candidates: int) -> tuple[FloatArray, FloatArray]:
    """1 - (1 - beta)^K - rho beta and its derivative in rho, (N,) each."""
    scaled = rho[:, None] * q
    whole = p < scaled
    target, draft = (
        np.where(whole, p, 0).sum(axis=-1, dtype=np.float64),
        np.where(whole, 0, q).sum(axis=-1, dtype=np.float64),
    )
    beta = target / rho + draft
    missed = np.maximum(1 - beta, 0)
    slope = -candidates * missed ** (candidates - 1) * target / rho**2 - draft
    return 1 - missed**candidates - rho * beta, slope
