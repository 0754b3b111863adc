"""Support: nothing impossible may happen."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.stats.power import POWER
from specsim.stats.result import TestResult


def support(mass: ArrayLike) -> TestResult:
    """Whether every observed token was possible: one with probability 0 rejects at once.

    Parameters
    ----------
    mass : array (N,)
        Probability under the null of each token that was observed [1].

    Returns
    -------
    TestResult
        The statistic counts the impossible tokens; the p-value is 0 when there is one, else 1.
        `smallest_tv` is the probability of impossible tokens that shows at least one.

    Raises
    ------
    InputError
        A probability outside [0, 1].

    Examples
    --------
    >>> support([0.5, 0.2]).pvalue, support([0.5, 0.0]).pvalue
    (1.0, 0.0)

    """
    masses = checks.probabilities("mass", mass, ndim=1)
    impossible = np.flatnonzero(masses == 0)
    seen = -math.expm1(math.log(1 - POWER) / masses.size) if masses.size else 1.0
    if impossible.size == 0:
        return TestResult(test="support", statistic=0.0, pvalue=1.0, n=masses.size, smallest_tv=seen)
    detail = f"token {int(impossible[0])} of {masses.size} has probability 0"
    count = float(impossible.size)
    return TestResult(test="support", statistic=count, pvalue=0.0, n=masses.size, detail=detail, smallest_tv=seen)
