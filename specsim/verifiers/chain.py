"""Rules that judge a drafted chain token by token and stop at the first that falls: what all of them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.distributions.draw import draw
from specsim.verifiers.protocol import Verification, Verifier
from specsim.verifiers.rounds import Round, checked_round, flat_round
from specsim.verifiers.tables import chain_pmf

LEAST_RESIDUAL_MASS = 1e-8


class ChainRule(Verifier):
    """A rule given by what a draft's chance is and by the law of the token that replaces it.

    A new one states `accept_probability` and `residual` for laws, and `_stands` and `_replacement` for drafted tokens.
    """

    @property
    def needs_coupled_noise(self) -> bool:
        """Whether drafts must be drawn with the rule's own noise; most rules have none."""
        return False

    @abstractmethod
    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The chance of every token to stand if it is drafted, shape (..., V) [1]."""

    @abstractmethod
    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token that replaces a rejected draft, shape (..., V) [1]."""

    @abstractmethod
    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        """The chance of the drafted tokens at `depth` of some sequences, shape (M,)."""

    @abstractmethod
    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        """Weights of what replaces rejected drafts; `rows` are the target's there, shape (M, V)."""

    def _bonus(self, rows: FloatArray) -> FloatArray:
        """Weights of the token after a chain that stands."""
        return rows

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
        turn = flat_round(p, draft, q=q, drafted=drafted, lazily=True)
        count, gamma = turn.draft.shape
        coins = rng.random((count, gamma + 1))
        accepted, going = np.zeros(count, dtype=np.intp), np.arange(count)
        for depth in range(gamma):  # strictly below: a coin can be 0, and a token that the target forbids never stands
            going = going[turn.drafted[going] > depth]
            if not going.size:
                break
            going = going[coins[going, depth] < self._stands(turn, sequence=going, depth=depth)]
            accepted[going] += 1
        return turn.outcome(accepted, draw(self._weights(turn, np.arange(count), accepted), coins[:, -1]))

    def outcomes(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """Exact law of (accepted, token) given the drafts; see `Verifier.outcomes`."""
        turn = checked_round(p, draft, q=q, drafted=drafted)
        reached = np.concatenate((np.ones((len(turn.drafted), 1)), self._survival(turn)), axis=1)
        law = np.zeros(turn.p.shape)
        for accepted in range(turn.p.shape[1]):
            here = np.flatnonzero(turn.drafted >= accepted)
            weights = self._weights(turn, here, np.full(here.size, accepted))
            deeper = reached[here, accepted + 1] if accepted < turn.draft.shape[1] else 0.0
            law[here, accepted] = (reached[here, accepted] - deeper)[:, None] * normalised(weights)
        return turn.shaped(law)

    def survival(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """P(accepted >= k given drafts 1..k); see `Verifier.survival`."""
        turn = checked_round(p, draft, q=q, drafted=drafted)
        return turn.shaped(self._survival(turn))

    def accepted_pmf(self, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
        """Exact law of the accepted length, shape (G + 1,) [1]; drafts that are no draw are one-hot tables."""
        return chain_pmf(p_tables, q_tables, mass=lambda p, q: q * self.accept_probability(p, q))

    def _survival(self, turn: Round) -> FloatArray:
        stands = np.zeros(turn.draft.shape)
        for depth in range(turn.draft.shape[1]):
            here = np.flatnonzero(turn.drafted > depth)
            stands[here, depth] = self._stands(turn, sequence=here, depth=depth)
        return np.cumprod(stands, axis=1)

    def _weights(self, turn: Round, sequence: IntArray, accepted: IntArray) -> FloatArray:
        rows = turn.target_rows(sequence, accepted)
        fell = np.flatnonzero(accepted < turn.drafted[sequence])
        if fell.size == len(rows):
            return self._replacement(turn, rows, sequence=sequence, depth=accepted)
        weights = self._bonus(rows)
        if fell.size:
            weights[fell] = self._replacement(turn, rows[fell], sequence=sequence[fell], depth=accepted[fell])
        return weights


def normalised(weights: FloatArray) -> FloatArray:
    """Weights as laws over the last axis."""
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def or_target(weights: FloatArray, p: FloatArray) -> FloatArray:
    """The weights, or p where they vanish but for rounding: mass at most 1e-8."""
    vanish = weights.sum(axis=-1, keepdims=True) <= LEAST_RESIDUAL_MASS
    return np.where(vanish, p, weights) if vanish.any() else weights


def without(rows: FloatArray, tokens: IntArray) -> FloatArray:
    """Each row without one of its tokens; the row as it is where nothing is left."""
    weights = rows.copy()
    weights[np.arange(len(rows)), tokens] = 0
    return or_target(weights, rows)


def leftover(
    p: FloatArray,
    drawn_from: FloatArray | None,
    tokens: IntArray,
    *,
    kept: FloatArray | float = 1.0,
    share: float = 1.0,
) -> FloatArray:
    """(kept p - share q)+, or for drafts without a law p without the draft; p where nothing is left."""
    if drawn_from is None:
        return without(p, tokens)
    return or_target(np.maximum(kept * p - share * drawn_from, 0), p)


def ratio(p: FloatArray, q: FloatArray | float) -> FloatArray:
    """min(1, p / q), and 0 wherever p is 0."""
    p, q = np.broadcast_arrays(p, q)
    return np.asarray(np.divide(p, q, out=np.where(p > 0, np.ones_like(p), 0), where=p < q))
