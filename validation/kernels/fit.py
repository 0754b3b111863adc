"""Robust least squares for the coefficients of a law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from specsim.checks import FloatArray, IntArray
from validation.kernels.problem import Problem, Values, from_search, to_search

# Relative errors beyond this count by size and not by square: engines' choices are outliers, not noise.
ROBUST_BEYOND = 0.04
# A coefficient that data is silent about stays within e of its start at this price of relative error.
PULL = 0.02
WIDEST = 9.0
STEP = 1e-4


def fitted(problem: Problem, rows: IntArray, *, starts: tuple[Values, ...] | None = None, steps: int = 25) -> Values:
    """Coefficients that minimise relative errors over some rows, the best of several starts.

    Parameters
    ----------
    problem : Problem
        The law and its measurements.
    rows : int array (n,)
        Rows to look at.
    starts : tuple of Mapping, optional
        Instead of the problem's own.
    steps : int
        Most steps of the search from each start.
    """
    found = [_search(problem, rows, start, steps) for start in starts or tuple(problem.starts)]
    return min(found, key=lambda pair: pair[0])[1]


def _search(problem: Problem, rows: IntArray, start: Values, steps: int) -> tuple[float, Values]:
    names, measured = problem.names, problem.seconds[rows]
    prior = np.array([to_search(name, problem.starts[0][name]) for name in names])
    low, high = _bounds(problem, prior)

    def values(searched: FloatArray) -> Values:
        return {name: from_search(name, float(each)) for name, each in zip(names, searched, strict=True)}

    def residuals(searched: FloatArray, predict: Callable[[Values], FloatArray] | None = None) -> FloatArray:
        seconds = predict(values(searched)) if predict else problem.predict(values(searched), rows)
        return np.concatenate([seconds / measured - 1, PULL * (searched - prior)])

    def jacobian(searched: FloatArray) -> FloatArray:
        near = problem.nearby(values(searched), rows) if problem.nearby else None
        here = residuals(searched, near)
        inward = np.where(searched + STEP > high, -STEP, STEP)
        columns = [(residuals(searched + step, near) - here) / step.sum() for step in np.diag(inward)]
        return np.stack(columns, axis=1)

    begin = np.clip([to_search(name, start[name]) for name in names], low + 1e-6, high - 1e-6)
    result = least_squares(
        residuals, begin, jac=jacobian, bounds=(low, high), loss="soft_l1", f_scale=ROBUST_BEYOND, max_nfev=steps
    )
    return float(result.cost), values(result.x)


def _bounds(problem: Problem, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    ends = [[to_search(name, end) for end in problem.ranges[name]] for name in problem.names]
    low, high = np.array(ends).T
    return np.maximum(low, prior - WIDEST), np.minimum(high, prior + WIDEST)


def drawn(problem: Problem, among: IntArray, *, seed: int = 0) -> IntArray:
    """Some rows of every stratum of every shape, in a fixed random order.

    Parameters
    ----------
    problem : Problem
        Whose `per_stratum` says how many.
    among : int array (n,)
        Rows to draw from.
    seed : int
        Of the draw.
    """
    shuffled = np.random.default_rng(seed).permutation(among)
    key = problem.shape[shuffled] * (problem.stratum.max(initial=0) + 1) + problem.stratum[shuffled]
    ordered = shuffled[np.argsort(key, kind="stable")]
    key = np.sort(key)
    first = np.concatenate([[True], key[1:] != key[:-1]])
    place = np.arange(len(key)) - np.maximum.accumulate(np.where(first, np.arange(len(key)), 0))
    return np.sort(ordered[place < problem.per_stratum])
