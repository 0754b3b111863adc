"""Holm's correction: many tests, one false-alarm rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.result import TestResult


def holm(pvalues: ArrayLike) -> FloatArray:
    """Adjusted p-values: rejecting those at most `level` makes any false rejection at most that likely.

    Parameters
    ----------
    pvalues : array (K,)
        One p-value per test, dependent in any way [1].

    Returns
    -------
    array (K,)
        Adjusted p-values, in the order given [1].

    Raises
    ------
    InputError
        Values outside [0, 1], or none.

    References
    ----------
    .. [1] Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.04, 0.01, 0.5]).tolist()
    [0.08, 0.03, 0.5]

    """
    values = checks.probabilities("pvalues", pvalues, ndim=1).astype(np.float64)
    if values.size == 0:
        raise InputError("pvalues must hold at least one value, got none")
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def combine(results: Sequence[TestResult], *, test: str) -> TestResult:
    """One result for "all of these nulls hold": the smallest Holm-adjusted p-value.

    Parameters
    ----------
    results : sequence of TestResult
        Dependent in any way.
    test : str
        Name of the combination.

    Returns
    -------
    TestResult
        `statistic` is that of the smallest p-value, `n` the largest, `detail` names the test.

    Raises
    ------
    InputError
        No results.

    Examples
    --------
    >>> pair = [TestResult(test=name, statistic=1.0, pvalue=p, n=9) for name, p in (("a", 0.01), ("b", 0.5))]
    >>> combine(pair, test="both").pvalue
    0.02

    """
    if not results:
        raise InputError("results must hold at least one test, got none")
    worst = min(results, key=lambda result: result.pvalue)
    detail = f"smallest of {len(results)}: {worst.test}" + (f" ({worst.detail})" if worst.detail else "")
    return TestResult(
        test=test,
        statistic=worst.statistic,
        pvalue=min(1.0, len(results) * worst.pvalue),  # the first of Holm's steps
        n=max(result.n for result in results),
        detail=detail,
    )


def holm_named(results: Mapping[str, TestResult]) -> dict[str, float]:
    """Holm-adjusted p-values of a session's results, by name.

    Parameters
    ----------
    results : mapping
        Dependent in any way. Those of tests by betting enter with 1 / largest E, a p-value at any stopping time.

    Returns
    -------
    dict
        Adjusted p-value of each: those at most `level` may be rejected, and any false rejection is at most that
        likely [1].

    Raises
    ------
    InputError
        No results.

    Examples
    --------
    >>> results = {name: TestResult(test="t", statistic=1.0, pvalue=p, n=9) for name, p in (("a", 0.01), ("b", 0.5))}
    >>> holm_named(results)
    {'a': 0.02, 'b': 0.5}

    """
    if not results:
        raise InputError("results must hold at least one test, got none")
    adjusted = holm([result.pvalue for result in results.values()])
    return dict(zip(results, adjusted.tolist(), strict=True))
