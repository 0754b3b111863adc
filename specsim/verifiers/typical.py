"""Typical acceptance: a draft stands if the target finds it likely enough for how uncertain it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws, one_hot
from specsim.verifiers.chain import ChainRule, normalised
from specsim.verifiers.rounds import Round

EMITS = ("typical", "greedy")


@dataclass(frozen=True, kw_only=True)
class Typical(ChainRule):
    """Accept a draft if p(x) > min(epsilon, delta exp(-H(p))), with H the entropy of p; no coin is thrown.

    Parameters
    ----------
    epsilon, delta : float
        In (0, 1]; by default the `posterior_threshold` and `posterior_alpha` of the official code [1].
    emits : str
        The token after the accepted drafts: "typical" draws from p cut to the tokens that would be accepted, "greedy"
        takes the argmax. The official code has had both.

    Notes
    -----
    Lossy by design; how far the text is from the target's: `law.text_total_variation`. Medusa: Cai et al. (arXiv
    2401.10774), section 3.3.1. Which law drafts are drawn from is not read.

    Examples
    --------
    >>> rule, p = Typical(), [0.6, 0.3, 0.1]
    >>> float(rule.threshold(p).round(4)), rule.accept_probability(p, p)
    (0.0367, array([1., 1., 1.]))
    """

    epsilon: float = 0.3
    delta: float = 0.09
    emits: str = "typical"
    name = "typical"
    is_lossless = False
    needs_draft_rows = False

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            checks.number(name, value, low=0.0, high=1.0, open_low=True)
        checks.one_of("emits", self.emits, EMITS)

    def threshold(self, p: ArrayLike) -> FloatArray:
        """min(epsilon, delta exp(-H(p))), shape (...) [1]."""
        return self._threshold(checks.distribution("p", p))

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """1 for every typical token, else 0, shape (..., V) [1]."""
        law, _ = np.broadcast_arrays(*laws(p, q))
        return np.where(law > self._threshold(law)[..., None], 1.0, 0.0)

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token after the accepted drafts, shape (..., V) [1]."""
        law, _ = np.broadcast_arrays(*laws(p, q))
        return normalised(self._bonus(law))

    def _threshold(self, rows: FloatArray) -> FloatArray:
        return np.asarray(np.minimum(self.epsilon, self.delta * np.exp(-entr(rows).sum(axis=-1))))

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        rows = turn.target_rows(sequence, depth)
        return np.where(turn.drawn(sequence, depth)[0] > self._threshold(rows), 1.0, 0.0)

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        return self._bonus(rows)

    def _bonus(self, rows: FloatArray) -> FloatArray:
        best = one_hot(rows.argmax(axis=-1), vocabulary=rows.shape[-1], dtype=rows.dtype)
        if self.emits == "greedy":
            return best
        kept = np.where(rows > self._threshold(rows)[..., None], rows, 0)
        return np.where(kept.any(axis=-1, keepdims=True), kept, best)  # at delta 1 a flat law has no typical token
