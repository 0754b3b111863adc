"""The parts in every replicate, and what follows from them for a gamma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from specsim.calibrate.depths import Depths
from specsim.calibrate.estimate import Estimate
from specsim.calibrate.spread import Spread
from specsim.checks import FloatArray, IntArray
from specsim.roofline import PassCost


class TargetFit(Protocol):
    """A fitted pass cost with its replicates and estimates."""

    @property
    def cost(self) -> PassCost:
        """The fit."""
        ...

    @property
    def estimates(self) -> dict[str, Estimate]:
        """What to report of it."""
        ...

    def pass_replicates(self, tokens: IntArray, *, batch: int, context: int) -> FloatArray:
        """Seconds of passes over `tokens` in each replicate, shape (R, len(tokens)) [s]."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Draws:
    """All parts in each of R replicates, drawn jointly.

    Parameters
    ----------
    accepted, proposed : Depths
        Counts and rates by depth [1].
    target : TargetFit
        The target's pass.
    draft, sample : arrays (R, 2)
        Fixed seconds and seconds per drafted token [s].
    host, plain : arrays (R,)
        Seconds of the host per round, and of a plain step [s].
    spread : Spread
        How much requests differ.
    """

    accepted: Depths
    proposed: Depths
    target: TargetFit
    draft: FloatArray
    sample: FloatArray
    host: FloatArray
    plain: FloatArray
    spread: Spread

    def tau(self, gamma: int) -> FloatArray:
        """Tokens per round in each replicate, shape (R,) [1]."""
        accepted = np.cumprod(_held(self.accepted.replicates, gamma), axis=1)
        return np.asarray(1 + (self._proposed(gamma) * accepted).sum(axis=1))

    def round_seconds(self, gamma: int, *, batch: int, context: int) -> FloatArray:
        """Seconds per round in each replicate, shape (R,) [s]."""
        proposed = self._proposed(gamma)
        ends = np.ones((len(proposed), 1)), np.zeros((len(proposed), 1))
        pmf = -np.diff(np.hstack([ends[0], proposed, ends[1]]), axis=1)
        used = np.flatnonzero((pmf > 0).any(axis=0))
        passes = self.target.pass_replicates(used + 1, batch=batch, context=context)
        drafted = proposed.sum(axis=1)
        lines = self.draft + self.sample
        return np.asarray(lines[:, 0] + lines[:, 1] * drafted + (pmf[:, used] * passes).sum(axis=1) + self.host)

    def independent_variance(self, gamma: int) -> float:
        """Variance of log tau if rounds were independent: no calibration is better than that [1].

        By the delta method on rates with half counts added, so that it stays above 0 when every draft stood.
        """
        alphas, rates = (_held(depths.smoothed[None, :], gamma)[0] for depths in (self.accepted, self.proposed))
        terms = rates * np.cumprod(alphas)
        below = terms[::-1].cumsum()[::-1]  # sum over deeper depths, this one included
        by_alpha = np.bincount(_places(self.accepted, gamma), weights=below / alphas)
        by_rate = np.bincount(_places(self.proposed, gamma), weights=terms / rates)
        variance = by_alpha**2 @ self.accepted.variances[: len(by_alpha)]
        if (self.proposed.rates < 1).any():
            variance += by_rate**2 @ self.proposed.variances[: len(by_rate)]
        return float(variance / (1 + terms.sum()) ** 2)

    def _proposed(self, gamma: int) -> FloatArray:
        return np.minimum.accumulate(_held(self.proposed.replicates, gamma), axis=1)


def _held(rates: FloatArray, gamma: int) -> FloatArray:
    """Rates (R, K) at depths 1..gamma, the last held beyond, shape (R, gamma)."""
    return rates[:, np.minimum(np.arange(gamma), rates.shape[1] - 1)]


def _places(depths: Depths, gamma: int) -> IntArray:
    return np.asarray(np.minimum(np.arange(gamma), depths.trials.shape[1] - 1))
