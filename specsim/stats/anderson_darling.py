"""The Anderson-Darling test of the uniform law, with p-values that hold far into the tail."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.anderson_darling_law import limit_tail
from specsim.stats.result import TestResult
from specsim.stats.uniform_power import anderson_darling_tv
from specsim.stats.uniformity import unit_values

MIN_VALUES = 8
_TAIL = 0.01


def anderson_darling(u: ArrayLike) -> TestResult:
    """Distance of `u` from the uniform law, weighted so that both ends count.

    Parameters
    ----------
    u : array (N,)
        Values in [0, 1], at least eight [1].

    Returns
    -------
    TestResult
        The statistic is Anderson and Darling's A squared; `smallest_tv` is of a shift between both halves.

    Raises
    ------
    InputError
        Values outside [0, 1], or fewer than eight.

    Notes
    -----
    A^2 = -N - (1/N) sum (2i - 1) (ln u_i + ln(1 - u_{N+1-i})) for sorted u [1]_. The p-value is the limit law's upper
    tail with Marsaglia and Marsaglia's correction for finite N [2]_; their fit is one of absolute error, so below 1 %
    its relative size is held. Against importance sampling, N >= 16: within 0.5 % down to p = 1e-2, and within 1.1 / N
    of itself down to 1e-5.

    References
    ----------
    .. [1] Anderson, Darling, "Asymptotic theory of certain goodness of fit criteria based on stochastic processes",
       Annals of Mathematical Statistics 23 (1952).
    .. [2] Marsaglia, Marsaglia, "Evaluating the Anderson-Darling distribution", Journal of Statistical Software
       9(2) (2004).

    Examples
    --------
    >>> result = anderson_darling((np.arange(100) + 0.5) / 100)
    >>> round(result.statistic, 3), result.pvalue > 0.999
    (0.011, True)

    """
    values = unit_values("u", u)
    if values.size < MIN_VALUES:
        raise InputError(f"u must hold at least {MIN_VALUES} values, got {values.size}")
    statistic = _statistic(values)
    pvalue = anderson_darling_tail(statistic, n=values.size)
    return TestResult(
        test="anderson_darling",
        statistic=statistic,
        pvalue=pvalue,
        n=values.size,
        smallest_tv=anderson_darling_tv(n=values.size),
    )


def anderson_darling_tail(statistic: float, *, n: int) -> float:
    """P(A^2 > statistic) for n uniform values [1].

    Examples
    --------
    >>> round(anderson_darling_tail(2.492, n=10**6), 4)  # Anderson and Darling's 5 % point
    0.05

    """
    tail = limit_tail(statistic)
    if tail > _TAIL:
        return min(1.0, max(0.0, tail - _finite_n(1 - tail, n=n)))
    return tail * (1 - _finite_n(1 - _TAIL, n=n) / _TAIL)


def _statistic(values: FloatArray) -> float:
    n = values.size
    inner = np.sort(np.clip(values, 2.0**-54, 1 - 2.0**-53))
    odd = 2 * np.arange(1, n + 1) - 1
    return float(-n - (odd * (np.log(inner) + np.log1p(-inner[::-1]))).sum() / n)


def _finite_n(x: float, *, n: int) -> float:
    """What to add to the limit law's P(A^2 < z) = x, by the three fits of Marsaglia and Marsaglia's `errfix`."""
    if x > 0.8:
        return _polynomial(x, -130.2137, 745.2337, -1705.091, 1950.646, -1116.360, 255.7844) / n
    split = 0.01265 + 0.1757 / n
    if x < split:
        t = x / split
        return math.sqrt(t) * (1 - t) * (49 * t - 102) * (0.0037 / n**2 + 0.00078 / n + 0.00006) / n
    t = (x - split) / (0.8 - split)
    fit = _polynomial(t, -0.00022633, 6.54034, -14.6538, 14.458, -8.259, 1.91864)
    return fit * (0.04213 + 0.01365 / n) / n


def _polynomial(x: float, *coefficients: float) -> float:
    return float(np.polynomial.polynomial.polyval(x, coefficients))
