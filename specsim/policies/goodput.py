"""Drafts as long as they buy more tokens than their time is worth, by what the rounds so far accepted.

References
----------
.. [1] Liu et al., "Optimizing speculative decoding for serving large language models using goodput" (SmartSpec),
   arXiv 2406.14066.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.policies.load import Load


@dataclass(frozen=True, kw_only=True, slots=True)
class Goodput:
    """The depth of the most tokens per second at the present load, after [1].

    Parameters
    ----------
    survival : tuple of float
        P(draft k stands), k = 1..G, as expected before anything is seen: `Scenario.accepted_survival` [1].
    weight : float
        How many drafts of each depth the expectation counts for, against those that were seen [1].

    Raises
    ------
    InputError
        Survival outside [0, 1] or rising, a weight that is not above 0.

    Notes
    -----
    With E(g) = 1 + s_1 + ... + s_g and round seconds T(g), theta = max E(g) / T(g) is what a second is worth. A step
    drafts the g of the largest E(g) - theta * step_seconds(g). Without prompts that is the g of the largest E / T; with
    prompts in the same pass, their seconds are spent anyway, and drafts have to earn only what they add.
    Survival is the running product of the share of drafts k that stood among those that were reached, in all rounds so
    far, together with what was expected of draft k; never of the round to come, so the choice anticipates nothing.

    Examples
    --------
    >>> seconds, lengths = np.array([1.0, 1.1, 1.6]), np.zeros((3, 3), dtype=int)
    >>> load = Load(batch=1, waiting=0, round_seconds=seconds, step_seconds=seconds, lengths=lengths)
    >>> Goodput(survival=(0.8, 0.64)).gamma(load), Goodput(survival=(0.05, 0.0)).gamma(load)
    (1, 0)
    """

    survival: tuple[float, ...]
    weight: float = 100.0

    def __post_init__(self) -> None:
        chances = checks.probabilities("survival", self.survival, ndim=1)
        if (np.diff(chances) > 1e-12).any():
            raise InputError(f"survival must never rise with depth, got {self.survival}")
        checks.positive("weight", self.weight)

    @property
    def name(self) -> str:
        """What it maximises."""
        return "goodput"

    @property
    def deepest(self) -> int:
        """As deep as survival is known [1]."""
        return len(self.survival)

    def gamma(self, load: Load) -> int:
        """The depth worth its time; the least of equals [1]."""
        depths = min(self.deepest, load.deepest)
        tokens = self._tokens(load, depths)
        worth = (tokens / load.round_seconds[: depths + 1]).max()
        return int(np.argmax(tokens - worth * load.step_seconds[: depths + 1]))

    def _tokens(self, load: Load, depths: int) -> FloatArray:
        """Expected tokens of a round with 0..G drafts, shape (G + 1,) [1]."""
        known = np.array([1.0, *self.survival[:depths]])
        expected = np.divide(known[1:], known[:-1], out=np.zeros(depths), where=known[:-1] > 0)
        weight = self.weight
        alphas = (load.stood[:depths] + weight * expected) / (load.reached[:depths] + weight)
        return np.concatenate(([1.0], 1 + np.cumsum(np.cumprod(alphas))))
