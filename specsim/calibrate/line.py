"""Seconds linear in the drafted tokens, fitted on sums by request so that a replicate costs a few additions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.calibrate.rows import Mask, Rows
from specsim.checks import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Line:
    """seconds = fixed + slope * drafted.

    Parameters
    ----------
    fixed, slope : float
        Fitted, neither below 0 [s].
    replicates : array (R, 2)
        Both in each replicate, not kept above 0 [s].
    centre : array (2,)
        Both from all rows, not kept above 0 [s].
    requests : int
        Behind the fit [1].
    """

    fixed: float
    slope: float
    replicates: FloatArray
    centre: FloatArray
    requests: int


def line(rows: Rows, part: str, where: Mask, *, weights: FloatArray) -> Line:
    """Least squares of one part of the round on the drafted tokens, relative to the level at each number of them.

    Notes
    -----
    Timing noise grows with what is timed, so each row weighs 1 / level^2. When all rows draft the same number of
    tokens, all of it is put on the tokens: nothing tells the two apart. A negative part is set to 0 and the other is
    fitted alone.
    """
    drafted = rows.drafted.astype(np.float64)
    seconds = rows.seconds[part]
    weight = _weights(rows.drafted, seconds, where)
    sums = np.stack(
        [rows.sums(weight * column, where) for column in _moments(drafted, seconds)],
        axis=-1,
    )
    centre = _solved(sums.sum(axis=0))
    fixed, slope = _kept_positive(centre, sums.sum(axis=0))
    return Line(
        fixed=fixed, slope=slope, replicates=_solved(weights @ sums), centre=centre, requests=rows.requests(where)
    )


def _moments(x: FloatArray, y: FloatArray) -> tuple[FloatArray, ...]:
    return np.ones_like(x), x, x * x, y, x * y


def _weights(drafted: IntArray, seconds: FloatArray, where: Mask) -> FloatArray:
    """1 / (mean seconds at this number of drafted tokens)^2, the smallest levels floored."""
    top = int(drafted.max()) + 1
    count = np.bincount(drafted[where], minlength=top)
    total = np.bincount(drafted[where], weights=seconds[where], minlength=top)
    level = total / np.maximum(count, 1)
    floor = level.max() * 1e-2
    if floor == 0:
        return np.ones(len(drafted))
    return np.asarray(1 / np.maximum(level, floor)[drafted] ** 2)


def _solved(sums: FloatArray) -> FloatArray:
    """Intercept and slope from the weighted sums of 1, x, x^2, y, xy on the last axis."""
    one, x, xx, y, xy = np.moveaxis(np.asarray(sums), -1, 0)
    spread = one * xx - x * x
    spreads = spread > 1e-9 * np.maximum(one * xx, 1e-300)
    slope = np.divide(one * xy - x * y, spread, out=np.zeros_like(y), where=spreads)
    alone = np.divide(y, x, out=np.zeros_like(y), where=x > 0)
    slope = np.where(spreads, slope, alone)
    fixed = np.divide(y - slope * x, one, out=np.zeros_like(y), where=one > 0)
    return np.stack([np.where(spreads | (x == 0), fixed, 0.0), slope], axis=-1)


def _kept_positive(centre: FloatArray, sums: FloatArray) -> tuple[float, float]:
    one, _, xx, y, xy = sums
    if centre[0] < 0:
        return 0.0, float(xy / xx)
    if centre[1] < 0:
        return float(y / one), 0.0
    return float(centre[0]), float(centre[1])
