"""Chi-square of values on equal bins against the uniform law."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.stats.result import TestResult


def uniformity(u: ArrayLike, *, bins: int = 16) -> TestResult:
    """Chi-square of `u` on equal bins of [0, 1].

    Parameters
    ----------
    u : array (N,)
        Values in [0, 1] [1].
    bins : int
        Number of bins [1].

    Returns
    -------
    TestResult

    Raises
    ------
    InputError
        Values outside [0, 1], one bin, or fewer than five values per bin.

    Notes
    -----
    Approximate as :func:`~specsim.stats.chi_square.goodness_of_fit`. Its smallest detectable total variation is
    known (:func:`~specsim.stats.power.smallest_total_variation`); smooth departures are found sooner by
    :func:`~specsim.stats.anderson_darling.anderson_darling`.

    Examples
    --------
    >>> uniformity((np.arange(160) + 0.5) / 160).pvalue
    1.0

    """
    values = unit_values("u", u)
    cells = checks.integer("bins", bins, low=2)
    if values.size < 5 * cells:
        raise InputError(f"u must hold at least five values per bin, got {values.size} for {cells} bins")
    counts = np.bincount(np.minimum((values * cells).astype(np.int64), cells - 1), minlength=cells)
    return dataclasses.replace(goodness_of_fit(counts, np.full(cells, 1 / cells)), test="uniformity")


def unit_values(name: str, values: ArrayLike) -> FloatArray:
    """One axis of at least one number in [0, 1], as float64."""
    checked = checks.probabilities(name, values, ndim=1).astype(np.float64)
    if checked.size == 0:
        raise InputError(f"{name} must hold at least one value, got none")
    return checked
