"""Errors on shapes that a fit has not seen, and intervals of coefficients over the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from specsim.checks import BoolArray, FloatArray, IntArray
from validation.kernels.fit import drawn, fitted
from validation.kernels.problem import Problem, Values, from_search, to_search

FOLDS = 5
FOLD_STEPS = 8
LEVEL = 0.95
RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A fitted law and how well it predicted what it had not seen.

    Parameters
    ----------
    name : str
        Path of the law.
    values, intervals : Mapping
        Coefficients of the fit to all shapes, and their 95 % intervals.
    seconds, predicted, naive : array (N,)
        Measured; predicted by the fold that had not seen the shape; the datasheet's roofline [s].
    shape, fold : int array (N,)
        Shapes, and the fold that held each out.
    scored : bool array (N,)
        Rows that the stated error is about.
    """

    name: str
    values: Values
    intervals: Mapping[str, tuple[float, float]]
    seconds: FloatArray
    predicted: FloatArray
    naive: FloatArray
    shape: IntArray
    fold: IntArray
    scored: BoolArray

    @property
    def shapes(self) -> int:
        """Shapes among the scored rows."""
        return len(np.unique(self.shape[self.scored]))

    def error(self, *, of: str = "predicted") -> tuple[float, float, float]:
        """Mean absolute relative error over the scored rows, with its 95 % interval over shapes [1]."""
        off = np.abs(getattr(self, of)[self.scored] / self.seconds[self.scored] - 1)
        return mean_over_shapes(off, self.shape[self.scored])


def judged(problem: Problem, *, folds: int = FOLDS) -> Judged:
    """Fit a law to all shapes, and to all but a fifth of them in turn.

    Notes
    -----
    Intervals are those of the jackknife over folds, with Student's t of folds - 1 degrees of freedom, on the scale that
    the search uses.
    """
    fold = folds_of(problem.shape, folds=folds)
    every = np.arange(len(problem.seconds))
    whole = fitted(problem, drawn(problem, every))
    parts, predicted = [], np.zeros(len(every))
    for held in range(folds):
        part = fitted(problem, drawn(problem, every[fold != held]), starts=(whole,), steps=FOLD_STEPS)
        predicted[fold == held] = problem.predict(part, every[fold == held])
        parts.append(part)
    return Judged(
        name=problem.name,
        values=whole,
        intervals={name: _interval(problem, name, whole, parts) for name in problem.names},
        seconds=problem.seconds,
        predicted=predicted,
        naive=problem.naive,
        shape=problem.shape,
        fold=fold,
        scored=problem.scored,
    )


def folds_of(shape: IntArray, *, folds: int = FOLDS) -> IntArray:
    """The fold of every row; a shape's rows share one.

    Examples
    --------
    >>> shape = np.array([0, 0, 1, 2, 2, 3, 4])
    >>> fold = folds_of(shape)
    >>> bool((fold[0] == fold[1]) and (fold[3] == fold[4])), sorted(set(fold.tolist()))
    (True, [0, 1, 2, 3, 4])
    """
    of_shape = np.random.default_rng(0).permutation(int(shape.max(initial=0)) + 1) % folds
    return np.asarray(of_shape[shape])


def mean_over_shapes(errors: FloatArray, shape: IntArray) -> tuple[float, float, float]:
    """A mean, and its 95 % interval by resampling shapes.

    Examples
    --------
    >>> mean_over_shapes(np.array([0.1, 0.1, 0.1]), np.array([0, 1, 1]))
    (0.1, 0.1, 0.1)
    """
    _, where = np.unique(shape, return_inverse=True)
    sums, sizes = np.bincount(where, weights=errors), np.bincount(where)
    picked = np.random.default_rng(0).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[picked].sum(axis=1) / sizes[picked].sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(f"{errors.mean():.12g}"), float(f"{low:.12g}"), float(f"{high:.12g}")


def _interval(problem: Problem, name: str, whole: Values, parts: list[Values]) -> tuple[float, float]:
    centre = to_search(name, whole[name])
    spread = np.array([to_search(name, part[name]) for part in parts])
    count = len(spread)
    error = np.sqrt((count - 1) / count * ((spread - spread.mean()) ** 2).sum())
    reach = float(stats.t.ppf((1 + LEVEL) / 2, count - 1) * error)
    low, high = problem.ranges[name]
    ends = [from_search(name, min(centre + sign * reach, 60.0)) for sign in (-1, 1)]
    return max(low, min(ends[0], whole[name])), min(high, max(ends[1], whole[name]))
