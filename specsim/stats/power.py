"""What a chi-square test of a given size can see."""

from __future__ import annotations

import math

from scipy import optimize, stats

from specsim import checks
from specsim.errors import InputError


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
    rejections = _rate("power", power)
    if rejections <= _rate("level", level):
        raise InputError(f"power must be above level {level:g}, got {power:g}")
    df = checks.integer("cells", cells, low=2) - 1
    total = checks.integer("n", n, low=1)
    critical = float(stats.chi2.isf(level, df))
    high = 1.0
    while _power(high, df, critical) < rejections:
        high *= 2
    noncentrality = optimize.brentq(lambda x: _power(x, df, critical) - rejections, 0.0, high, xtol=1e-9)
    return min(1.0, math.sqrt(float(noncentrality) / (4 * total)))


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


def _power(noncentrality: float, df: int, critical: float) -> float:
    if noncentrality == 0:
        return float(stats.chi2.sf(critical, df))
    return float(stats.ncx2.sf(critical, df, noncentrality))


def _rate(name: str, value: float) -> float:
    rate = checks.number(name, value, low=0, high=1, open_low=True)
    if rate == 1:
        raise InputError(f"{name} must be in (0, 1), got 1")
    return rate
