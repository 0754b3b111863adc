"""The Kolmogorov-Smirnov test of the uniform law."""

from __future__ import annotations

from numpy.typing import ArrayLike
from scipy import stats

from specsim.stats.result import TestResult
from specsim.stats.uniform_power import kolmogorov_smirnov_tv
from specsim.stats.uniformity import unit_values


def kolmogorov_smirnov(u: ArrayLike) -> TestResult:
    """Largest distance between the empirical distribution of `u` and the uniform one.

    Parameters
    ----------
    u : array (N,)
        Values in [0, 1] [1].

    Returns
    -------
    TestResult
        `smallest_tv` is of a shift between both halves.

    Raises
    ------
    InputError
        Values outside [0, 1], or none.

    Notes
    -----
    Exact p-value (SciPy's `kstest`) for continuous `u`; conservative when values repeat.

    Examples
    --------
    >>> kolmogorov_smirnov([0.25, 0.5, 0.75]).statistic
    0.25

    """
    values = unit_values("u", u)
    outcome = stats.kstest(values, "uniform")
    return TestResult(
        test="kolmogorov_smirnov",
        statistic=float(outcome.statistic),
        pvalue=float(outcome.pvalue),
        n=values.size,
        smallest_tv=kolmogorov_smirnov_tv(n=values.size),
    )
