"""What tests of a given size can see: the smallest total variation caught, and the observations that one takes."""

from __future__ import annotations

import functools
import math

from scipy import optimize, stats

from specsim import checks
from specsim.errors import InputError

LEVEL = 1e-6
POWER = 0.99
"""False-alarm rate and power behind the `smallest_tv` of a result."""


def smallest_total_variation(*, n: int, cells: int, level: float, power: float = 0.99) -> float:
    """Smallest total variation that a chi-square test of `n` observations is sure to catch with probability `power`.

    Parameters
    ----------
    n : int
        Observations [1].
    cells : int
        Cells after pooling (for a PIT test: its bins) [1].
    level : float
        False-alarm rate of the test [1].
    power : float
        Probability of a rejection [1].

    Returns
    -------
    float
        Total variation between the laws of the cells, at most 1; 1 means that nothing is sure to be caught [1].

    Raises
    ------
    InputError
        Fewer than two cells, no observations, rates outside (0, 1), a power below the level.

    Notes
    -----
    A bound over all alternatives: by Cauchy and Schwarz sum (p' - p)^2 / p >= 4 TV^2, with equality when p' / p takes
    two values, so the noncentrality is at least 4 n TV^2. Most alternatives of that size are caught more often.
    Approximate as the noncentral chi-square law is. Distances inside one cell are not seen; for a PIT test the
    distance is that of the averaged law of u.

    Examples
    --------
    >>> round(smallest_total_variation(n=100_000, cells=216, level=1e-6), 4)
    0.0218

    """
    df = checks.integer("cells", cells, low=2) - 1
    total = checks.integer("n", n, low=1)
    return min(1.0, math.sqrt(_noncentrality(df, *rates(level, power)) / (4 * total)))


def chi_square_power(*, n: int, cells: int, level: float, total_variation: float) -> float:
    """Probability with which that test catches the hardest alternative at `total_variation` [1].

    Examples
    --------
    >>> round(chi_square_power(n=100_000, cells=216, level=1e-6, total_variation=0.02), 3)
    0.928

    """
    df = checks.integer("cells", cells, low=2) - 1
    distance = checks.probability("total_variation", total_variation)
    critical = float(stats.chi2.isf(_rate("level", level), df))
    return _power(4 * checks.integer("n", n, low=1) * distance**2, df, critical)


def score_tv(*, spread: float, variance: float, n: int, level: float = LEVEL, power: float = POWER) -> float:
    """Smallest total variation of a tilt that a two-sided score test catches with probability `power`.

    Parameters
    ----------
    spread, variance : float
        Sums over the observations of E_p |g - E_p g| and of E_p (g - E_p g)^2 [1].
    n : int
        Observations [1].
    level, power : float
        False-alarm rate, and probability of a rejection [1].

    Returns
    -------
    float
        Mean total variation per observation, at most 1 [1].

    Notes
    -----
    Approximate (normal). The tilt p' = p (1 + e (g - E_p g)) has total variation e E|g - E_p g| / 2 and moves the sum
    by e times its variance, so e sqrt(variance) must reach the sum of both quantiles.

    Examples
    --------
    >>> round(score_tv(spread=500.0, variance=250.0, n=1000), 4)  # fair coins
    0.1141

    """
    rate, rejections = rates(level, power)
    drift = float(stats.norm.isf(rate / 2) + stats.norm.isf(1 - rejections))
    return _tilt_tv(drift, spread=spread, variance=variance, n=n)


def betting_tv(
    *, spread: float, variance: float, n: int, bets: int, level: float = LEVEL, power: float = POWER
) -> float:
    """Smallest total variation of a tilt that a mixture of `bets` catches with probability `power` by token n.

    Parameters and returns as :func:`score_tv`.

    Notes
    -----
    Approximate: at the best stake the logarithm of the capital is normal of mean d^2 / 2 and variance d^2, d the drift
    of the score test; it must reach log(bets / level). The stakes are a grid, so a little more may be needed.

    Examples
    --------
    >>> round(betting_tv(spread=500.0, variance=250.0, n=1000, bets=54), 4)
    0.1381

    """
    return _tilt_tv(_betting_drift(bets, level, power), spread=spread, variance=variance, n=n)


def betting_power(
    total_variation: float, *, smallest_tv: float, bets: int, level: float = LEVEL, power: float = POWER
) -> float:
    """Probability with which that mixture catches `total_variation`, if it catches `smallest_tv` with `power` [1].

    Notes
    -----
    Approximate as `betting_tv` is: the drift is in proportion to the total variation, as long as the tilt is along the
    same direction.

    Examples
    --------
    >>> round(betting_power(0.1, smallest_tv=0.1, bets=54), 4), round(betting_power(0.05, smallest_tv=0.1, bets=54), 4)
    (0.99, 0.029)

    """
    goal = math.log(checks.integer("bets", bets, low=1) / rates(level, power)[0])
    smallest = checks.number("smallest_tv", smallest_tv, low=0, high=1, open_low=True)
    drift = _betting_drift(bets, level, power) * checks.probability("total_variation", total_variation) / smallest
    return float(stats.norm.cdf(drift / 2 - goal / drift)) if drift else 0.0


def observations(*, n: int, smallest_tv: float, total_variation: float) -> int:
    """Observations that catch `total_variation`, from a size `n` that catches `smallest_tv` below 1 [1].

    Notes
    -----
    All smallest total variations here fall as 1 / sqrt(n).

    Examples
    --------
    >>> observations(n=1000, smallest_tv=0.1, total_variation=0.01)
    100000

    """
    ratio = checks.probability("smallest_tv", smallest_tv) / checks.number(
        "total_variation", total_variation, low=0, high=1, open_low=True
    )
    return math.ceil(checks.integer("n", n, low=1) * ratio**2 * (1 - 1e-12))


def _betting_drift(bets: int, level: float, power: float) -> float:
    """Of the capital whose logarithm exceeds log(bets / level) with probability `power`."""
    rate, rejections = rates(level, power)
    slack = float(stats.norm.isf(1 - rejections))
    goal = math.log(checks.integer("bets", bets, low=1) / rate)
    return slack + math.sqrt(slack**2 + 2 * goal)


def _tilt_tv(drift: float, *, spread: float, variance: float, n: int) -> float:
    if variance <= 0:
        return 1.0
    return min(1.0, drift * spread / (2 * math.sqrt(variance) * checks.integer("n", n, low=1)))


@functools.lru_cache(maxsize=4096)
def _noncentrality(df: int, level: float, power: float) -> float:
    """Of the chi-square law that exceeds its null's `level` point with probability `power`."""
    critical = float(stats.chi2.isf(level, df))
    high = 1.0
    while _power(high, df, critical) < power:
        high *= 2
    return float(optimize.brentq(lambda x: _power(x, df, critical) - power, 0.0, high, xtol=1e-9))


def _power(noncentrality: float, df: int, critical: float) -> float:
    if noncentrality == 0:
        return float(stats.chi2.sf(critical, df))
    return float(stats.ncx2.sf(critical, df, noncentrality))


def _rate(name: str, value: float) -> float:
    rate = checks.number(name, value, low=0, high=1, open_low=True)
    if rate == 1:
        raise InputError(f"{name} must be in (0, 1), got 1")
    return rate


def rates(level: float, power: float) -> tuple[float, float]:
    """A false-alarm rate and a power above it, both in (0, 1)."""
    rate, rejections = _rate("level", level), _rate("power", power)
    if rejections <= rate:
        raise InputError(f"power must be above level {level:g}, got {power:g}")
    return rate, rejections
