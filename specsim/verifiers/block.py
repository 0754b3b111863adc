"""Block verification: judge the drafted chain as a whole, and accept the longest prefix that passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.verifiers.chain import leftover, normalised, ratio
from specsim.verifiers.protocol import Verification, Verifier
from specsim.verifiers.rounds import Round, checked_round, flat_round
from specsim.verifiers.tables import path_pmf


class Block(Verifier):
    """Accept up to the last draft that passes, where a good later draft can make up for a bad one.

    With p_0 = 1, p_i = min(1, p_(i-1) p(x_i) / q(x_i)) and Z_i = sum_v (p_i p(v) - q(v))+ at the next depth, draft i
    passes with probability Z_i / (Z_i + 1 - p_i), the last one with p_G. Drafts up to the last that passes stand; the
    next token comes from (p_i p - q)+ normalised, or from p after the whole chain.

    Notes
    -----
    Lossless, and no other lossless rule for a drafted chain that is judged by itself accepts more: Sun et al.
    (arXiv 2403.10444), algorithm 2. P(accepted >= i | x_1..x_i) = p_i, so survival needs no coins. With one draft, or
    drafts that are no draw, it is the rule of `Rejection`. A coin that fails ends nothing, and the residual is that of
    p_i p, not of p: either slip changes the law.

    Examples
    --------
    >>> p, q = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    >>> round(9 * float(Block().accepted_pmf([p, p, p], [q, q]) @ [0, 1, 2]), 9)  # ninths; token by token it is 10
    11.0
    >>> Block().survival([p, p, p], [0, 1], q=[q, q])
    array([0.5, 1. ])
    """

    name = "block"
    is_lossless = True
    needs_draft_rows = True
    needs_coupled_noise = False

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: np.random.Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """Judge one round of each sequence; see `Verifier.verify`."""
        turn = flat_round(p, draft, q=q, drafted=drafted)
        count, gamma = turn.draft.shape
        coins = rng.random((count, gamma + 1))
        reach = self._reach(turn)
        # Strictly below: a chance and a coin can both be exactly 0.
        accepted = self._accepted(coins[:, :-1] < self._chances(turn, reach))
        return turn.outcome(accepted, sample(self._weights(turn, reach, np.arange(count), accepted), coins[:, -1]))

    def outcomes(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """Exact law of (accepted, token) given the drafts; see `Verifier.outcomes`."""
        turn = checked_round(p, draft, q=q, drafted=drafted)
        reach = self._reach(turn)
        lengths = self._length_law(self._chances(turn, reach))
        law = np.zeros(turn.p.shape)
        for accepted in range(turn.p.shape[1]):
            here = np.flatnonzero(turn.drafted >= accepted)
            weights = self._weights(turn, reach, here, np.full(here.size, accepted))
            law[here, accepted] = lengths[here, accepted, None] * normalised(weights)
        return turn.shaped(law)

    def survival(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """P(accepted >= k given drafts 1..k) = p_k; see `Verifier.survival`."""
        turn = checked_round(p, draft, q=q, drafted=drafted)
        return turn.shaped(self._reach(turn)[:, 1:])

    def accepted_pmf(self, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
        """Exact law of the accepted length, shape (G + 1,) [1]; one-hot drafts are one-hot tables.

        Raises
        ------
        InputError
            Too many paths to tell apart; see `tables.path_pmf`.
        """
        return path_pmf(p_tables, q_tables, cap=1.0)

    def _reach(self, turn: Round) -> FloatArray:
        """p_0..p_G, shape (N, G + 1); 0 past what is drafted, and from where the target forbids a draft."""
        reach = np.zeros((turn.drafted.size, turn.p.shape[1]))
        reach[:, 0] = 1
        for depth in range(turn.draft.shape[1]):
            here = np.flatnonzero((turn.drafted > depth) & (reach[:, depth] > 0))
            p, q = turn.drawn(here, depth)
            reach[here, depth + 1] = ratio(reach[here, depth] * p, q)
        return reach

    def _chances(self, turn: Round, reach: FloatArray) -> FloatArray:
        """h_1..h_G, shape (N, G); 0 past what is drafted."""
        chances = reach[:, 1:].copy()  # h_G = p_G
        for depth in range(1, turn.draft.shape[1]):
            here = np.flatnonzero((turn.drafted > depth) & (reach[:, depth] > 0))
            kept = reach[here, depth]
            left = self._left(turn, here, depth, kept)
            total = left + (1 - kept)
            chances[here, depth - 1] = np.divide(left, total, out=np.ones_like(total), where=total > 0)
        return chances

    def _left(self, turn: Round, sequence: IntArray, depth: int, kept: FloatArray) -> FloatArray:
        """Z: the mass that the next draft leaves of p_i p."""
        drawn_from = turn.draft_rows(sequence, depth)
        if drawn_from is None:
            return kept * (1 - turn.drawn(sequence, depth)[0])
        rows = turn.target_rows(sequence, depth)
        rows *= kept.astype(rows.dtype)[:, None]
        rows -= drawn_from
        return np.asarray(np.maximum(rows, 0, out=rows).sum(axis=-1, dtype=np.float64))

    def _accepted(self, passes: NDArray[np.bool_]) -> IntArray:
        """The last draft that passes, 0 if none does."""
        depths = np.arange(1, passes.shape[1] + 1)
        return np.asarray(np.where(passes, depths, 0).max(axis=1, initial=0))

    def _length_law(self, chances: FloatArray) -> FloatArray:
        """P(accepted = 0..G) given the chances: the last that passes, shape (N, G + 1)."""
        none_after = np.cumprod((1 - chances)[:, ::-1], axis=1)[:, ::-1]
        ends = np.ones((len(chances), 1))
        return np.concatenate((ends, chances), axis=1) * np.concatenate((none_after, ends), axis=1)

    def _weights(self, turn: Round, reach: FloatArray, sequence: IntArray, accepted: IntArray) -> FloatArray:
        rows = turn.target_rows(sequence, accepted)
        fell = np.flatnonzero(accepted < turn.drafted[sequence])
        if fell.size:
            kept = reach[sequence[fell], accepted[fell]]
            rows[fell] = self._replacement(turn, rows[fell], kept, sequence[fell], accepted[fell])
        return rows

    def _replacement(
        self, turn: Round, rows: FloatArray, kept: FloatArray, sequence: IntArray, depth: IntArray
    ) -> FloatArray:
        return leftover(
            rows, turn.draft_rows(sequence, depth), turn.draft[sequence, depth], kept=kept.astype(rows.dtype)[:, None]
        )


def full_information_pmf(p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
    """What no rule can exceed: P(accepted >= k) at most sum over x_1..x_k of min(p(x_1..x_k), q(x_1..x_k)).

    Returns
    -------
    array, shape (G + 1,)
        A law of the accepted length [1].

    Notes
    -----
    A bound: reaching it takes a target that is changed after a rejection, in rounds to come. See `tables.path_pmf`.

    Examples
    --------
    >>> p, q = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    >>> round(9 * float(full_information_pmf([p, p, p], [q, q]) @ [0, 1, 2]), 9)  # ninths
    12.0
    """
    return path_pmf(p_tables, q_tables, cap=float(np.finfo(np.float64).max))  # never infinity, which 0 makes NaN
