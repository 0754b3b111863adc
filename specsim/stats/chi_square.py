"""Pearson's chi-square of counts against known probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.chi_square_tail import band_tail, pearson_tail
from specsim.stats.power import LEVEL, POWER, smallest_total_variation
from specsim.stats.result import TestResult


def goodness_of_fit(
    counts: ArrayLike, probabilities: ArrayLike, *, min_expected: float = 5.0, tolerance: float = 0.0
) -> TestResult:
    """Chi-square goodness of fit; a count in an impossible cell rejects at once.

    Parameters
    ----------
    counts : array (K,)
        Observed counts, whole numbers [1].
    probabilities : array (K,)
        Their probabilities under the null, summing to 1 [1].
    min_expected : float
        Cells that expect fewer are merged into one [1].
    tolerance : float
        Total variation that is no fault, rounding in a low precision say [1].

    Returns
    -------
    TestResult
        `n` is the number of observations; `smallest_tv` holds for any fault that moves mass between cells.

    Raises
    ------
    InputError
        Counts that are negative, not whole, all zero, or of another shape; probabilities that are no law; so few
        observations that a single cell is left.

    Notes
    -----
    Approximate: see :func:`~specsim.stats.chi_square_tail.pearson_tail`. With a tolerance the statistic must also be
    beyond a noncentral chi-square law of noncentrality 2 K n tolerance^2, that of a law which moves this mass from one
    average cell to another; the same distance put into rarer cells would be seen as a fault.

    Examples
    --------
    >>> goodness_of_fit([48, 52], [0.5, 0.5]).statistic
    0.16
    >>> goodness_of_fit([99, 1], [1.0, 0.0]).pvalue
    0.0

    """
    return judged("chi_square", [pearson(counts, probabilities, min_expected=min_expected)], tolerance=tolerance)


class Pearson(NamedTuple):
    """Pearson's statistic of one set of counts, with its cells after pooling and how many there were before."""

    statistic: float
    expected: FloatArray
    cells: int
    n: int
    impossible: str


def pearson(counts: ArrayLike, probabilities: ArrayLike, *, min_expected: float) -> Pearson:
    """The statistic alone, of counts and laws as :func:`goodness_of_fit` takes them.

    Examples
    --------
    >>> pearson([48, 52], [0.5, 0.5], min_expected=5).statistic
    0.16

    """
    law = checks.distribution("probabilities", probabilities).astype(np.float64)
    observed = checks.array("counts", counts, ndim=1).astype(np.float64)
    _check_counts(observed, law)
    total = int(observed.sum())
    ruled_out = np.flatnonzero((law == 0) & (observed > 0))
    if ruled_out.size:
        first = int(ruled_out[0])
        detail = f"cell {first} has probability 0 and was seen {int(observed[first])} times"
        return Pearson(math.inf, np.empty(0), law.size, total, detail)
    seen, hoped = pool(observed, total * law / law.sum(), min_expected=min_expected)
    if hoped.size < 2:
        raise InputError(f"counts must leave two cells that expect {min_expected:g} each, got {total} observations")
    return Pearson(float(((seen - hoped) ** 2 / hoped).sum()), hoped, law.size, total, "")


def judged(test: str, parts: Sequence[Pearson], *, tolerance: float = 0.0) -> TestResult:
    """One result for the sum of independent statistics; an impossible cell in any of them rejects at once.

    Examples
    --------
    >>> judged("both", [pearson([48, 52], [0.5, 0.5], min_expected=5)] * 2).statistic
    0.32

    """
    n = sum(part.n for part in parts)
    impossible = next((part.impossible for part in parts if part.impossible), None)
    if impossible:
        return TestResult(test=test, statistic=math.inf, pvalue=0.0, n=n, detail=impossible)
    statistic, expected = sum(part.statistic for part in parts), [part.expected for part in parts]
    left = sum(cells.size for cells in expected)
    return TestResult(
        test=test,
        statistic=statistic,
        pvalue=max(pearson_tail(statistic, expected), band_tail(statistic, expected, tolerance=tolerance)),
        n=n,
        detail=f"{left} of {sum(part.cells for part in parts)} cells",
        smallest_tv=smallest_total_variation(n=n, cells=left - len(parts) + 1, level=LEVEL, power=POWER),
        details={"cells": float(left), "degrees": float(left - len(parts))},
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
