"""Intervals for a proportion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError

METHODS = ("clopper_pearson", "jeffreys")


def proportion_interval(
    successes: ArrayLike, *, trials: ArrayLike, level: float = 0.95, method: str = "clopper_pearson"
) -> tuple[FloatArray, FloatArray]:
    """Interval for the probability behind `successes` out of `trials`, elementwise.

    Parameters
    ----------
    successes, trials : array (...)
        Counts [1].
    level : float
        Confidence, in (0, 1) [1].
    method : str
        "clopper_pearson" covers with at least `level` whatever the truth; "jeffreys" (equal tails of the Beta(1/2, 1/2)
        posterior, ends opened at 0 and `trials`) covers with about `level` and is shorter.

    Returns
    -------
    low, high : arrays (...)
        Ends of the interval [1].

    Raises
    ------
    InputError
        More successes than trials, negative counts, a level outside (0, 1), an unknown method.

    References
    ----------
    .. [1] Brown, Cai, DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16 (2001),
       sections 3.1 and 4.2.

    Examples
    --------
    >>> low, high = proportion_interval(0, trials=10)
    >>> float(low), round(float(high), 4)
    (0.0, 0.3085)

    """
    checks.one_of("method", method, METHODS)
    tail = (1 - checks.number("level", level, low=0, high=1, open_low=True)) / 2
    if tail <= 0:
        raise InputError(f"level must be in (0, 1), got {level:g}")
    hits, total = np.broadcast_arrays(checks.array("successes", successes), checks.array("trials", trials))
    if ((hits < 0) | (hits > total)).any():
        raise InputError("successes must be in 0..trials")
    up, down = (1.0, 0.0) if method == "clopper_pearson" else (0.5, 0.5)
    misses = total - hits
    low = np.where(hits > 0, _beta(tail, hits + down, misses + up), 0.0)
    high = np.where(misses > 0, _beta(1 - tail, hits + up, misses + down), 1.0)
    return low, high


def _beta(level: float, a: FloatArray, b: FloatArray) -> FloatArray:
    quantiles: FloatArray = np.asarray(stats.beta.ppf(level, np.maximum(a, 1e-300), np.maximum(b, 1e-300)))
    return quantiles
