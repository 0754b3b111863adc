"""Estimate: a value with an interval, from replicates that resample whole requests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special, stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats import proportion_interval

Transform = Callable[[FloatArray], FloatArray]
SCALES: dict[str, tuple[Transform, Transform]] = {
    "linear": (np.asarray, np.asarray),
    "log": (np.log, np.exp),
    "logit": (special.logit, special.expit),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A value, and an interval that holds the truth with probability `level`.

    Parameters
    ----------
    value, low, high : float
        In the unit of what is estimated.
    level : float
        Of the interval, in (0, 1) [1].
    n : int
        Requests behind it: rounds of one request are correlated, so they are not what counts [1].

    Raises
    ------
    InputError
        A value outside its own interval, or a level outside (0, 1).

    Examples
    --------
    >>> Estimate(value=2.0, low=1.5, high=2.5, level=0.95, n=12).high
    2.5
    """

    value: float
    low: float
    high: float
    level: float
    n: int

    def __post_init__(self) -> None:
        checked_level(self.level)
        checks.integer("n", self.n, low=1)
        if not self.low <= self.value <= self.high:
            raise InputError(f"value must be in its interval {self.low:g}..{self.high:g}, got {self.value:g}")


def checked_level(level: float) -> float:
    """A confidence level in (0, 1), ends excluded."""
    if not 0 < checks.number("level", level, low=0, high=1, open_low=True) < 1:
        raise InputError(f"level must be in (0, 1), got {level:g}")
    return level


def standard_error(replicates: FloatArray, *, n: int, scale: str = "linear") -> float:
    """Spread of bootstrap replicates on a scale, corrected for resampling n requests out of n themselves."""
    if not np.isfinite(replicates).all() or (scale == "log" and (replicates <= 0).any()):
        return math.inf
    return float(np.std(SCALES[scale][0](replicates))) * math.sqrt(n / (n - 1))


def from_error(
    value: float,
    *,
    error: float,
    n: int,
    level: float,
    scale: str = "linear",
    low: float = -math.inf,
    high: float = math.inf,
    centre: float | None = None,
) -> Estimate:
    """Value plus and minus a Student-t quantile (n - 1 degrees of freedom) of a standard error on a scale.

    Parameters
    ----------
    value, centre
        What is reported, and where the interval is centred when that differs.
    error
        Standard error on the scale.
    n, level, scale
        Requests; confidence; "linear", "log" (seconds, ratios) or "logit" (probabilities).
    low, high
        Ends are cut to these.

    Examples
    --------
    >>> estimate = from_error(2.0, error=0.1, n=10, level=0.95, scale="log")
    >>> round(estimate.low, 3), round(estimate.high, 3)
    (1.595, 2.508)
    """
    forward, back = SCALES[scale]
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    middle = float(forward(np.asarray(value if centre is None else centre)))
    ends = [float(back(np.asarray(middle + side))) if reach else value for side in (-reach, reach)]
    inside = (max(low, min(ends[0], value)), min(high, max(ends[1], value)))
    return Estimate(value=value, low=inside[0], high=inside[1], level=level, n=n)


def from_replicates(
    value: float,
    replicates: FloatArray,
    *,
    n: int,
    level: float,
    positive: bool = True,
    centre: float | None = None,
) -> Estimate:
    """An estimate of something positive on the log scale, or of something that may be 0 on the linear one."""
    scale = "log" if positive and value > 0 and (replicates > 0).all() else "linear"
    error = standard_error(replicates, n=n, scale=scale)
    return from_error(value, error=error, n=n, level=level, scale=scale, low=0.0, centre=centre)


def from_counts(hits: FloatArray, trials: FloatArray, weights: FloatArray, *, n: int, level: float) -> Estimate:
    """A probability from counts by request, on the logit scale with half counts added (Jeffreys).

    Parameters
    ----------
    hits, trials : array (n,)
        Counts of each request [1].
    weights : array (R, n)
        How often each replicate drew each request [1].
    n, level
        Requests with a trial; confidence.

    Notes
    -----
    Never narrower than the Jeffreys interval for independent rounds, which also keeps it open when all rounds agree: a
    bootstrap of equal outcomes shows no spread.

    Examples
    --------
    >>> estimate = from_counts(np.full(9, 4.0), np.full(9, 4.0), np.ones((50, 9)), n=9, level=0.95)
    >>> estimate.value, round(estimate.low, 2), estimate.high
    (1.0, 0.93, 1.0)
    """
    hit, trial = float(hits.sum()), float(trials.sum())
    rates = (weights @ hits + 0.5) / (weights @ trials + 1)
    error = standard_error(rates, n=n, scale="logit")
    resampled = from_error(hit / trial, error=error, n=n, level=level, scale="logit", centre=(hit + 0.5) / (trial + 1))
    low, high = proportion_interval(hit, trials=trial, level=level, method="jeffreys")
    return replace(resampled, low=min(resampled.low, float(low)), high=max(resampled.high, float(high)))
