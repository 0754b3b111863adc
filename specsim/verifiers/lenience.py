"""Lenience: accept more than the target's law allows, by a factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws, one_hot
from specsim.verifiers.chain import ChainRule, leftover, normalised, or_target, ratio
from specsim.verifiers.rounds import Round

RESIDUALS = ("unscaled", "scaled")


@dataclass(frozen=True, kw_only=True)
class Lenience(ChainRule):
    """Accept a draft with probability min(1, p / (l q)).

    Parameters
    ----------
    factor : float
        l in (0, 1]; 1 is the lossless rule of `Rejection`, and the smaller, the more stands. The default is an
        example, not a recommendation [1].
    residual_of : str
        What replaces a rejected draft: "unscaled" draws from (p - q)+, "scaled" from (p - l q)+. The paper does not
        say; the two laws differ.

    Notes
    -----
    Lossy below 1: no token comes out with more than p / l. Leviathan et al. (arXiv 2211.17192), appendix A.5. How far
    the text is from the target's: `law.text_total_variation`.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> Lenience(factor=0.5).accepted_pmf([p, p], [q]).round(2)  # 0.7 without lenience
    array([0.1, 0.9])
    """

    factor: float = 0.5
    residual_of: str = "unscaled"
    name = "lenience"
    needs_draft_rows = True

    def __post_init__(self) -> None:
        checks.number("factor", self.factor, low=0.0, high=1.0, open_low=True)
        checks.one_of("residual_of", self.residual_of, RESIDUALS)

    @property
    def is_lossless(self) -> bool:
        """Only at 1."""
        return self.factor == 1

    @property
    def _share(self) -> float:
        return self.factor if self.residual_of == "scaled" else 1.0

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """min(1, p / (l q)) for every token, shape (..., V) [1]."""
        p, q = laws(p, q)
        return ratio(p, self.factor * q)

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token that replaces a rejected draft, shape (..., V) [1]."""
        p, q = np.broadcast_arrays(*laws(p, q))
        return normalised(or_target(np.maximum(p - self._share * q, 0), p))

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        p, q = turn.drawn(sequence, depth)
        return ratio(p, self.factor * q)

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        return leftover(rows, turn.draft_rows(sequence, depth), turn.draft[sequence, depth], share=self._share)


@dataclass(frozen=True, kw_only=True)
class GreedyLenience(ChainRule):
    """Accept a draft whose probability is at least l times that of the argmax; else, and after the chain, the argmax.

    Parameters
    ----------
    factor : float
        l in (0, 1]; 1 is `Greedy` but for ties. The default is an example, not a recommendation [1].

    Notes
    -----
    The rule of temperature 0, on laws of another temperature (a greedy law leaves nothing to be lenient about). Lossy
    with respect to greedy decoding. Leviathan et al. (arXiv 2211.17192), appendix A.5, which prints the inequality the
    other way round.

    Examples
    --------
    >>> rows = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    >>> GreedyLenience(factor=0.5).verify(rows, [1], q=None, rng=np.random.default_rng(0))
    Verification(accepted=array(1), token=array(2))
    """

    factor: float = 0.5
    name = "greedy_lenience"
    is_lossless = False
    needs_draft_rows = False

    def __post_init__(self) -> None:
        checks.number("factor", self.factor, low=0.0, high=1.0, open_low=True)

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """1 for every token that is near the argmax, else 0, shape (..., V) [1]."""
        law, _ = np.broadcast_arrays(*laws(p, q))
        return np.where(law >= self.factor * law.max(axis=-1, keepdims=True), 1.0, 0.0)

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """All on the first argmax of p, shape (..., V) [1]."""
        law, _ = np.broadcast_arrays(*laws(p, q))
        return self._bonus(law)

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        rows = turn.target_rows(sequence, depth)
        return np.where(turn.drawn(sequence, depth)[0] >= self.factor * rows.max(axis=-1), 1.0, 0.0)

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        return self._bonus(rows)

    def _bonus(self, rows: FloatArray) -> FloatArray:
        return one_hot(rows.argmax(axis=-1), vocabulary=rows.shape[-1], dtype=rows.dtype)
