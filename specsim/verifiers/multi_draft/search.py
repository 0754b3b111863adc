"""The least of p(H) - Q(H) over prefixes H of the tokens in the order of p / q, without sorting all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np

from specsim.checks import FloatArray, IntArray

Columns = Callable[[IntArray | slice], Iterable[FloatArray]]
"""What Q is computed from, for some of the tokens: arrays, q first, each of which may be overwritten by the next."""
Covered = Callable[[FloatArray, FloatArray], FloatArray]
"""Q of n prefixes, from the sums over their tokens, (columns, n), and the sums of q over all others, (n,)."""

SHIFT, BUCKETS = 46, 48 * 64
LOWEST = int(np.float64(2.0**-24).view(np.int64)) >> SHIFT
"""Buckets of p / q: 64 to each power of two from 2^-24 to 2^24, cut from the bits of the number."""
PARTS = 16
"""Into which an interval of prefixes is split at a time."""
TOLERANCE = 1e-13
"""A set that is better by less than this is not looked for [1]."""


class Prefixes(NamedTuple):
    """n + 1 nested prefixes; p / q of what the next one has besides lies between `low` and `high`."""

    mass: FloatArray
    """(n + 1,): p of each."""
    sums: FloatArray
    """(columns, n + 1): sums over its tokens; the first column is q."""
    rest: FloatArray
    """(n + 1,): q of all other tokens."""
    low: FloatArray
    """(n,)"""
    high: FloatArray
    """(n,)"""


def odds(p: FloatArray, q: FloatArray) -> FloatArray:
    """Of the token under p against q, p / q: infinite where q is 0."""
    return np.asarray(np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0))


def least_gap(p: FloatArray, q: FloatArray, columns: Columns, covered: Covered) -> float:
    """Minimum over prefixes H, in the order of rising p / q, of p(H) - Q(H).

    Parameters
    ----------
    p, q : array, shape (V,)
        Laws [1].
    columns, covered : callable
        Q, which must be q-convex, see `optimum`.

    Notes
    -----
    One pass puts tokens into buckets by p / q, whose sums give p(H) - Q(H) exactly between buckets. Where the minimum
    cannot be is ruled out by a bound (`_bounds`), and only the buckets that are left, a few hundredths, are sorted.
    """
    bucket = odds(p, q).view(np.int64)
    bucket >>= SHIFT
    bucket -= LOWEST
    bucket.clip(0, BUCKETS - 1, out=bucket)
    everything = chain([p], columns(slice(None)))
    each = np.array([np.bincount(bucket, weights=column, minlength=BUCKETS) for column in everything])
    edges = ((LOWEST + np.arange(BUCKETS + 1)) << SHIFT).view(np.float64)
    edges[0], edges[-1] = 0.0, np.inf
    whole = _prefixes(each, edges[:-1], edges[1:])
    best, left = _search(whole, covered, best=0.0)
    if not left.size:
        return best
    first, last = int(left[0]), int(left[-1])
    tokens = np.flatnonzero((bucket >= first) & (bucket <= last))
    ratio = odds(p[tokens], q[tokens])
    order = np.argsort(ratio, kind="stable")
    tokens, ratio = tokens[order], ratio[order]
    each = np.array([column.copy() for column in chain([p[tokens]], columns(tokens))])
    inner = _prefixes(each, ratio, ratio)
    moved = inner._replace(
        mass=inner.mass + whole.mass[first],
        sums=inner.sums + whole.sums[:, first, None],
        rest=inner.rest + whole.rest[last + 1],
    )
    return _search(moved, covered, best=best)[0]


def _prefixes(each: FloatArray, low: FloatArray, high: FloatArray) -> Prefixes:
    sums = np.zeros((len(each), each.shape[1] + 1))
    np.cumsum(each, axis=1, out=sums[:, 1:])
    rest = np.zeros(sums.shape[1])
    np.cumsum(each[1, ::-1], out=rest[-2::-1])
    return Prefixes(sums[0], sums[1:], rest, low, high)


def _search(prefixes: Prefixes, covered: Covered, *, best: float) -> tuple[float, IntArray]:
    """The least value found, at most `best`, and the steps from one prefix to the next within which less may be."""
    value = np.full(prefixes.mass.shape, np.nan)
    start, end = np.zeros(1, dtype=np.intp), np.full(1, prefixes.low.size, dtype=np.intp)
    while start.size and (end - start).max() > 1:
        cuts = start[:, None] + (end - start)[:, None] * np.arange(PARTS + 1) // PARTS
        start, end = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        start, end = start[end > start], end[end > start]
        at = np.unique(np.concatenate([start, end]))
        at = at[np.isnan(value[at])]
        value[at] = prefixes.mass[at] - covered(prefixes.sums[:, at], prefixes.rest[at])
        best = min(best, float(value[at].min(initial=best)))
        open_ = _bounds(prefixes, value, start, end) < best - TOLERANCE
        start, end = start[open_], end[open_]
    return best, start


def _bounds(prefixes: Prefixes, value: FloatArray, start: IntArray, end: IntArray) -> FloatArray:
    """A lower bound of p(H) - Q(H) for the prefixes strictly between two, whose values are known.

    As functions of q(H), p(H) lies above the two lines through its ends that rise as the least and as the greatest
    p / q of the tokens between, and Q lies below the straight line through its ends, being q-convex. The bound is
    taken where the two lines meet, or it is the value at an end.
    """
    low, high = prefixes.low[start], prefixes.high[end - 1]
    inside, rest = prefixes.sums[0], prefixes.rest
    width = np.where(inside[end] < rest[start], inside[end] - inside[start], rest[start] - rest[end])  # the preciser
    rise = prefixes.mass[end] - prefixes.mass[start]
    fall = rise - (value[end] - value[start])  # what Q gains
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = np.where((high > low) & np.isfinite(high), (high * width - rise) / (high - low), width)
        slope = np.where(width > 0, low - fall / width, 0.0)
    inner = value[start] + np.clip(meet, 0, width) * slope
    return np.asarray(np.minimum(inner, np.minimum(value[start], value[end])))
