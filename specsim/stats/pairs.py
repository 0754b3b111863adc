"""Pairs of PIT values: tokens must not remember the random numbers of others, in their request or in the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.stats.chi_square_tail import guarded, type_three_tail
from specsim.stats.power import LEVEL, POWER, smallest_total_variation
from specsim.stats.result import TestResult
from specsim.stats.uniformity import unit_values

MIN_EXPECTED = 5


def pairs(first: ArrayLike, second: ArrayLike, *, bins: int = 4) -> TestResult:
    """Whether u and u' of many pairs are independent, whatever their own laws may be off by.

    Parameters
    ----------
    first, second : array (N,)
        PIT values of each pair; pairs may overlap, as those of :func:`within` do [1].
    bins : int
        Bins of each value [1].

    Returns
    -------
    TestResult
        `smallest_tv` is between the law of the pair's cell and the uniform one, of faults that leave each value
        uniform.

    Raises
    ------
    InputError
        Values outside [0, 1], two shapes, fewer than five pairs per cell.

    Notes
    -----
    Good's correction [1]_ for a known uniform law: the chi-square of the cells less those of both margins, with
    (bins - 1)^2 degrees. Overlapping pairs share values, which correlates the margins of the table but not its
    interactions: each is a sum of martingale differences. Approximate as a chi-square law is, with the third cumulant
    of disjoint pairs.

    References
    ----------
    .. [1] Good, "The serial test for sampling numbers and other tests for randomness", Proceedings of the Cambridge
       Philosophical Society 49 (1953).

    Examples
    --------
    >>> grid = (np.arange(16) + 0.5) / 16
    >>> pairs(np.repeat(grid, 16), np.tile(grid, 16)).statistic
    0.0

    """
    u, v = unit_values("first", first), unit_values("second", second)
    if u.shape != v.shape:
        raise InputError(f"second must have the shape of first {u.shape}, got {v.shape}")
    cells = checks.integer("bins", bins, low=2)
    if u.size < MIN_EXPECTED * cells**2:
        raise InputError(f"first must hold at least {MIN_EXPECTED * cells**2} pairs for {cells} bins, got {u.size}")
    table = np.bincount(_bin(u, cells) * cells + _bin(v, cells), minlength=cells**2).reshape(cells, cells)
    statistic = _interaction(table)
    return TestResult(
        test="pairs",
        statistic=statistic,
        pvalue=guarded(type_three_tail(statistic, *_cumulants(u.size, cells)), least=u.size / cells**2),
        n=u.size,
        smallest_tv=smallest_total_variation(n=u.size, cells=(cells - 1) ** 2 + 1, level=LEVEL, power=POWER),
    )


def within(u: ArrayLike, requests: ArrayLike, *, lag: int) -> tuple[FloatArray, FloatArray]:
    """Values `lag` tokens apart in the same request.

    Parameters
    ----------
    u : array (N,)
        PIT values in the order of the tokens, request by request [1].
    requests : array (N,)
        A label for each token's request; equal labels stand together.
    lag : int
        Tokens apart [1].

    Returns
    -------
    first, second : arrays (M,)
        The pairs [1].

    Examples
    --------
    >>> first, second = within([0.1, 0.2, 0.3, 0.4], [7, 7, 7, 8], lag=1)
    >>> first.tolist(), second.tolist()
    ([0.1, 0.2], [0.2, 0.3])

    """
    values, labels = _labelled(u, requests)
    step = checks.integer("lag", lag, low=1)
    same = labels[:-step] == labels[step:]
    return values[:-step][same], values[step:][same]


def across(u: ArrayLike, requests: ArrayLike, *, lag: int = 1) -> tuple[FloatArray, FloatArray]:
    """Values at the same place of two requests, the second `lag` requests later: shared random streams show here.

    Examples
    --------
    >>> first, second = across([0.1, 0.2, 0.3, 0.4], [7, 7, 8, 9])
    >>> first.tolist(), second.tolist()
    ([0.1, 0.3], [0.3, 0.4])

    """
    values, labels = _labelled(u, requests)
    step = checks.integer("lag", lag, low=1)
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    lengths = np.diff(np.r_[starts, values.size])
    request = np.repeat(np.arange(starts.size), lengths)
    place = np.arange(values.size) - starts[request]
    later = np.minimum(request + step, starts.size - 1)
    both = (request + step < starts.size) & (place < lengths[later])
    return values[both], values[starts[later[both]] + place[both]]


def _labelled(u: ArrayLike, requests: ArrayLike) -> tuple[FloatArray, IntArray]:
    values, labels = unit_values("u", u), np.asarray(requests)
    if labels.shape != values.shape:
        raise InputError(f"requests must have the shape of u {values.shape}, got {labels.shape}")
    return values, labels


def _bin(values: FloatArray, bins: int) -> IntArray:
    return np.minimum((values * bins).astype(np.int64), bins - 1)


def _interaction(table: IntArray) -> float:
    bins, n = len(table), table.sum()
    expected = n / bins**2
    residual = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + expected
    return float((residual**2).sum() / expected)


def _cumulants(n: int, bins: int) -> tuple[float, float, float]:
    """Mean, variance and third cumulant of the statistic for n disjoint pairs, exact.

    With z the interaction scores of a pair, |z|^2 is always d, and T - d = 2/n times the sum of z_i . z_j over i < j.
    """
    degrees, skew = (bins - 1) ** 2, ((bins - 1) * (bins - 2)) ** 2  # skew: E (z_1 . z_2)^3
    once = 1 - 1 / n
    return degrees, 2 * degrees * once, once * (8 * degrees * (1 - 2 / n) + 4 * skew / n)
