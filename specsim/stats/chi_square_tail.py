"""Upper tails of Pearson's statistic, on the safe side far out and at small counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray

_BODY = 1e-3
"""Above this the tails of chi-square laws hold at 5 per cell."""


def pearson_tail(statistic: float, expected: Sequence[FloatArray]) -> float:
    """P(X >= statistic) for X the sum of Pearson's statistics of independent multinomial counts.

    Parameters
    ----------
    statistic : float
        The sum observed [1].
    expected : sequence of arrays (K_i,)
        Expected counts of each, their sum the number of observations [1].

    Returns
    -------
    float
        Upper tail probability [1].

    Notes
    -----
    Approximate, and on the safe side: the larger of two tails, that of the chi-square law with K - 1 degrees, and
    that of a gamma law (Pearson's type III) shifted to have X's own mean, variance and third cumulant, which is heavier
    where many cells expect little; far out, :func:`guarded` raises it. The mean K - 1 and the variance are exact; with
    R the sum of 1/p the third cumulant is 8 (K - 1) + (22 R - 18 K^2 - 36 K + 32) / n up to 1 / n^2, which enumerations
    confirm.

    Examples
    --------
    >>> round(pearson_tail(3.841459, [np.full(2, 1e9)]), 6)
    0.05

    """
    mean, variance, third = np.sum([_cumulants(cells) for cells in expected], axis=0)
    tail = max(float(stats.chi2.sf(statistic, mean)), type_three_tail(statistic, mean, variance, third))
    return guarded(tail, least=min(float(cells.min()) for cells in expected))


def guarded(tail: float, *, least: float) -> float:
    """A chi-square tail below 1e-3, raised by what it lacks when the smallest cell expects `least` [1].

    Notes
    -----
    Counts have heavier tails than normal variables: at 5 per cell a nominal 1e-6 is up to 4.2e-6, a nominal 1e-8 up to
    1.6e-7, by exact enumeration over 2 to 32 cells. Raising tail / 1e-3 to the power 1 - 0.3 (least / 5)^-0.6 brings
    all of these below their level at 1e-6 and within 1.2 times that at 1e-8, and fades as counts grow.

    Examples
    --------
    >>> f"{guarded(1e-6, least=5):.1e}", f"{guarded(1e-6, least=5000):.1e}", guarded(0.01, least=5)
    ('7.9e-06', '1.0e-06', 0.01)

    """
    if tail >= _BODY:
        return tail
    return float(_BODY * (tail / _BODY) ** (1 - min(0.5, 0.3 * (least / 5) ** -0.6)))


def type_three_tail(statistic: float, mean: float, variance: float, third: float) -> float:
    """P(X >= statistic) for a shifted gamma law with these three cumulants [1].

    Examples
    --------
    >>> round(type_three_tail(3.841459, 1.0, 2.0, 8.0), 6)
    0.05

    """
    shape = 4 * variance**3 / third**2
    standard = (statistic - mean) / math.sqrt(variance)
    return float(stats.gamma.sf(shape + standard * math.sqrt(shape), shape))


def band_tail(statistic: float, expected: Sequence[FloatArray], *, tolerance: float) -> float:
    """The same tail where each law is off by `tolerance`; 0 if that is 0, so that it never counts [1].

    Examples
    --------
    >>> round(band_tail(30.0, [np.full(4, 250.0)], tolerance=0.02), 4)
    0.0004

    """
    distance = checks.probability("tolerance", tolerance)
    if distance == 0:
        return 0.0
    df = sum(cells.size - 1 for cells in expected)
    noncentrality = sum(2 * cells.size * float(cells.sum()) * distance**2 for cells in expected)
    return min(1.0, float(stats.ncx2.sf(statistic, df, noncentrality)))


def _cumulants(expected: FloatArray) -> tuple[float, float, float]:
    """Mean, variance and third cumulant of Pearson's statistic."""
    k, n = expected.size, float(expected.sum())
    reciprocals = float((1 / expected).sum())  # sum of 1 / p over n
    variance = 2 * (k - 1) + reciprocals + (2 - k**2 - 2 * k) / n
    return k - 1, variance, 8 * (k - 1) + 22 * reciprocals + (32 - 18 * k**2 - 36 * k) / n
