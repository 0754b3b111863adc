"""Speculative sampling: accept a draft with probability p/q, else draw from what q left of p."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws
from specsim.verifiers.chain import ChainRule, leftover, normalised, or_target, ratio
from specsim.verifiers.rounds import Round
from specsim.verifiers.tables import chain_pmf


class Rejection(ChainRule):
    """Token-by-token speculative sampling.

    Draft x_k stands with probability min(1, p_k(x_k) / q_k(x_k)); the first that falls is replaced by a draw from
    (p_k - q_k)+ normalised; if all stand, the bonus is drawn from p_(G+1). Drafts without a law (`q=None`) are judged
    as one-hot: x stands with probability p(x), and the residual is p without x.

    Notes
    -----
    Lossless. Leviathan et al. (arXiv 2211.17192), algorithm 1; Chen et al. (arXiv 2302.01318), algorithm 2. Where the
    residual mass is at most 1e-8 (p and q equal but for rounding) the token is drawn from p.

    Sampled and certain drafts are two cases: sampled ones stand with probability sum min(p, q)
    (`distributions.overlap`), the argmax of q judged as one-hot with p(argmax q) (`distributions.argmax_overlap`), and
    neither dominates. A sampled draft judged without its law stays lossless and stands with sum p q; an argmax draft
    judged by the law that it was not drawn from does not stay lossless.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> Rejection().accepted_pmf([p, p, p], [q, q]).round(2)
    array([0.3 , 0.21, 0.49])
    >>> rule, rng = Rejection(), np.random.default_rng(0)
    >>> rule.verify([p, p], [0], q=[q], rng=rng).accepted.item()  # p(0) >= q(0): always stands
    1
    >>> rule.survival([p, p], [2], q=[q])
    array([0.4])
    """

    name = "rejection"
    is_lossless = True
    needs_draft_rows = True

    def accepted_pmf(self, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
        """Exact law of the accepted length, shape (G + 1,) [1]; one-hot drafts are one-hot tables."""
        return chain_pmf(p_tables, q_tables, mass=np.minimum)

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """min(1, p/q) for every token, shape (..., V); 0 wherever p is 0 [1]."""
        return ratio(*laws(p, q))

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token that replaces a rejected draft, shape (..., V) [1]."""
        p, q = np.broadcast_arrays(*laws(p, q))
        return normalised(or_target(np.maximum(p - q, 0), p))

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        return ratio(*turn.drawn(sequence, depth))

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        return _leftover(turn, rows, sequence=sequence, depth=depth)


def _leftover(turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
    return leftover(rows, turn.draft_rows(sequence, depth), turn.draft[sequence, depth])
