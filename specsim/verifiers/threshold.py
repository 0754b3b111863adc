"""Threshold acceptance: a draft stands with more than the target's own probability of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws
from specsim.verifiers.chain import ChainRule, normalised, or_target, ratio, without
from specsim.verifiers.rounds import Round


@dataclass(frozen=True, kw_only=True)
class Threshold(ChainRule):
    """Accept a draft if p(x) >= single, else with probability min(1, p(x) / accumulated); replace it by p without x.

    Parameters
    ----------
    single, accumulated : float
        In (0, 1]; both 1 is the lossless rule, which judges every draft as one-hot. The defaults are an example, not
        a recommendation: the server that has the rule ships with 1 and 1 [1].

    Notes
    -----
    Lossy unless both are 1; how far the text is from the target's: `law.text_total_variation`. SGLang's
    `speculative_accept_threshold_single` and `_acc` (tree_speculative_sampling_target_only) on a chain. The law that a
    draft was drawn from is not read, and p without x keeps the rule lossless at 1 and 1 whatever that law was.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> Threshold(single=1, accumulated=1).accepted_pmf([p, p], [q])  # sum p q
    array([0.71, 0.29])
    >>> Threshold(single=0.5, accumulated=0.5).accepted_pmf([p, p], [q]).round(2)
    array([0.42, 0.58])
    """

    single: float = 0.5
    accumulated: float = 0.5
    name = "threshold"
    needs_draft_rows = False

    def __post_init__(self) -> None:
        for name, value in (("single", self.single), ("accumulated", self.accumulated)):
            checks.number(name, value, low=0.0, high=1.0, open_low=True)

    @property
    def is_lossless(self) -> bool:
        """Only with both at 1."""
        return self.single == self.accumulated == 1

    def accept_probability(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The chance of every token to stand, shape (..., V) [1]."""
        law, _ = np.broadcast_arrays(*laws(p, q))
        return self._chance(law)

    def residual(self, p: ArrayLike, q: ArrayLike) -> FloatArray:
        """The law of the token that replaces a rejected draft, over all drafts, shape (..., V) [1]."""
        p, q = np.broadcast_arrays(*laws(p, q))
        fell = np.divide(q * (1 - self._chance(p)), 1 - p, out=np.zeros(p.shape), where=p < 1)
        return normalised(or_target(p * (fell.sum(axis=-1, keepdims=True) - fell), p))

    def _chance(self, p: FloatArray) -> FloatArray:
        return np.where(p >= self.single, 1.0, ratio(p, self.accumulated))

    def _stands(self, turn: Round, *, sequence: IntArray, depth: int) -> FloatArray:
        return self._chance(turn.drawn(sequence, depth)[0])

    def _replacement(self, turn: Round, rows: FloatArray, *, sequence: IntArray, depth: IntArray) -> FloatArray:
        return without(rows, turn.draft[sequence, depth])
