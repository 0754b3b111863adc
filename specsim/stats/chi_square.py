"""Pearson's chi-square of counts against known probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.result import TestResult


def goodness_of_fit(counts: ArrayLike, probabilities: ArrayLike, *, min_expected: float = 5.0) -> TestResult:
    """Chi-square goodness of fit; a count in an impossible cell rejects at once.

    Parameters
    ----------
    counts : array (K,)
        Observed counts, whole numbers [1].
    probabilities : array (K,)
        Their probabilities under the null, summing to 1 [1].
    min_expected : float
        Cells that expect fewer are merged into one [1].

    Returns
    -------
    TestResult
        `n` is the number of observations.

    Raises
    ------
    InputError
        Counts that are negative, not whole, all zero, or of another shape; probabilities that are no law; so few
        observations that a single cell is left.

    Notes
    -----
    Approximate: the statistic follows a chi-square law only as the expected counts grow. At 5 per cell its upper
    tail is a little heavier than nominal (K = 200, level 1e-3: about 1.6e-3); for levels below 1e-3 take
    `min_expected` 20.

    Examples
    --------
    >>> goodness_of_fit([48, 52], [0.5, 0.5]).statistic
    0.16
    >>> goodness_of_fit([99, 1], [1.0, 0.0]).pvalue
    0.0

    """
    expected_law = checks.distribution("probabilities", probabilities).astype(np.float64)
    observed = checks.array("counts", counts, ndim=1).astype(np.float64)
    _check_counts(observed, expected_law)
    total = int(observed.sum())
    impossible = np.flatnonzero((expected_law == 0) & (observed > 0))
    if impossible.size:
        detail = f"cell {int(impossible[0])} has probability 0 and was seen {int(observed[impossible[0]])} times"
        return TestResult(test="chi_square", statistic=math.inf, pvalue=0.0, n=total, detail=detail)
    expected = total * expected_law / expected_law.sum()
    seen, hoped = pool(observed, expected, min_expected=min_expected)
    if hoped.size < 2:
        raise InputError(f"counts must leave two cells that expect {min_expected:g} each, got {total} observations")
    statistic = float(((seen - hoped) ** 2 / hoped).sum())
    pvalue = float(stats.chi2.sf(statistic, hoped.size - 1))
    return TestResult(
        test="chi_square", statistic=statistic, pvalue=pvalue, n=total, detail=f"{hoped.size} of {expected.size} cells"
    )


def pool(observed: FloatArray, expected: FloatArray, *, min_expected: float) -> tuple[FloatArray, FloatArray]:
    """Merge every cell that expects fewer than `min_expected` into one, and that one into the next if still short.

    Which cells are merged depends on the expected counts alone, so the test keeps its size.

    Examples
    --------
    >>> pool(np.array([7.0, 2.0, 3.0]), np.array([6.0, 3.0, 3.0]), min_expected=5)
    (array([7., 5.]), array([6., 6.]))

    """
    large = expected >= checks.positive("min_expected", min_expected)
    seen, hoped = observed[large], expected[large]
    rest_seen, rest_hoped = observed[~large].sum(), expected[~large].sum()
    if rest_hoped >= min_expected:
        return np.append(seen, rest_seen), np.append(hoped, rest_hoped)
    if hoped.size and rest_hoped > 0:
        smallest = hoped.argmin()
        seen[smallest] += rest_seen
        hoped[smallest] += rest_hoped
    return seen, hoped


def _check_counts(observed: FloatArray, law: FloatArray) -> None:
    if observed.shape != law.shape:
        raise InputError(f"counts must have the shape of probabilities {law.shape}, got {observed.shape}")
    bad = np.flatnonzero((observed < 0) | (observed != np.floor(observed)))
    if bad.size:
        raise InputError(f"counts[{bad[0]}] must be a whole number of at least 0, got {observed[bad[0]]:g}")
    if observed.sum() == 0:
        raise InputError("counts must hold at least one observation, got 0")
