"""What tests of uniformity can see: mass that moves from one half of the unit interval to the other.

With density 1 + 2 t on one half and 1 - 2 t on the other, t is the total variation. It stands for the slow departures
that PIT values show when tokens are ordered by what a fault acts on; wiggles of the same size are seen later.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import optimize, special, stats

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.stats.anderson_darling_law import limit_tail
from specsim.stats.power import LEVEL, POWER, rates

_TERMS = 60
_STEP, _POINTS = 0.02, 15_000


def anderson_darling_tv(*, n: int, level: float = LEVEL, power: float = POWER) -> float:
    """Total variation of a shift between halves that Anderson-Darling's test catches with probability `power`.

    Parameters
    ----------
    n : int
        Values [1].
    level, power : float
        False-alarm rate, and probability of a rejection [1].

    Returns
    -------
    float
        At most 1 [1].

    Notes
    -----
    Of the limit law: A^2 becomes the sum of (Z_j + d_j)^2 / (j (j + 1)), d_j from the Legendre polynomials; its law is
    inverted numerically by Imhof's formula [1]_.

    References
    ----------
    .. [1] Imhof, "Computing the distribution of quadratic forms in normal variables", Biometrika 48 (1961).

    Examples
    --------
    >>> round(anderson_darling_tv(n=10_000), 4)
    0.0409

    """
    return min(1.0, _shift(*rates(level, power)) / math.sqrt(checks.integer("n", n, low=1)))


def kolmogorov_smirnov_tv(*, n: int, level: float = LEVEL, power: float = POWER) -> float:
    """The same of the Kolmogorov-Smirnov test, whose distance is that total variation.

    Notes
    -----
    Approximate and a little large: the critical distance of the limit law, sqrt(log(2 / level) / 2 / n), plus the
    normal quantile of the share of values in one half.

    Examples
    --------
    >>> round(kolmogorov_smirnov_tv(n=10_000), 4)
    0.0386

    """
    rate, rejections = rates(level, power)
    critical = math.sqrt(math.log(2 / rate) / 2)
    total = checks.integer("n", n, low=1)
    return min(1.0, (critical + float(stats.norm.isf(1 - rejections)) / 2) / math.sqrt(total))


@functools.lru_cache(maxsize=256)
def _shift(level: float, power: float) -> float:
    """sqrt(n) times that total variation."""
    critical = optimize.brentq(lambda x: math.log(limit_tail(x)) - math.log(level), 0.05, 200.0)
    return float(optimize.brentq(lambda d: _exceeds(critical, d) - power, 0.0, 10.0, xtol=1e-6))


def _exceeds(statistic: float, shift: float) -> float:
    """P(A^2 > statistic) in the limit under this shift, by Imhof's integral."""
    j = np.arange(1, _TERMS + 1)
    weights, means = 1 / (j * (j + 1)), shift * _loadings(j)
    u = (np.arange(_POINTS) + 0.5) * _STEP
    angle, log_size = -(statistic - 1 / (_TERMS + 1)) * u / 2, np.zeros(_POINTS)  # less the mean of what is left
    for weight, mean in zip(weights, means, strict=True):
        scaled = weight * u
        angle += (np.arctan(scaled) + mean**2 * scaled / (1 + scaled**2)) / 2
        log_size += np.log1p(scaled**2) / 4 + (mean * scaled) ** 2 / (1 + scaled**2) / 2
    return 0.5 + float((np.sin(angle) / u * np.exp(-log_size)).sum() * _STEP) / math.pi


def _loadings(j: IntArray) -> FloatArray:
    """Mean of sqrt(2 j + 1) P_j(2 u - 1) under that density, over t."""
    half = (special.eval_legendre(j - 1, 0.0) - special.eval_legendre(j + 1, 0.0)) / (2 * j + 1)
    loadings: FloatArray = np.where(j % 2, 2 * np.sqrt(2 * j + 1) * half, 0.0)
    return loadings
