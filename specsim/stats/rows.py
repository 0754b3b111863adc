"""Rows of log-probabilities: checked, and cut down to cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

BoolArray = NDArray[np.bool_]

MERGED = -1
"""In place of a token id: the cell holds several tokens."""
BLOCKS = 16  # cells for the tokens outside the head, by id
_TOLERANCE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}
_REST = 1e-12  # what a top-k list leaves at least
_STRIDE = 64


class Cells(NamedTuple):
    """Laws over cells in the order of token ids: `ids` is (N, K), or MERGED."""

    ids: IntArray
    p: FloatArray
    q: FloatArray | None
    cell: IntArray
    mass: FloatArray


def law_rows(name: str, rows: ArrayLike, *, shape: tuple[int, ...] | None = None) -> FloatArray:
    """Log-probabilities (N, V) as float32 or float64; their sums are checked where they are exponentiated."""
    values = np.asarray(rows)
    if values.dtype.kind not in "fiu":
        raise InputError(f"{name} must be an array of numbers")
    if values.dtype not in _TOLERANCE:
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[1] == 0 or (shape is not None and values.shape != shape):
        raise InputError(f"{name} must have shape {shape or '(N, V)'}, got {values.shape}")
    return values


def token_ids(tokens: ArrayLike, shape: tuple[int, ...]) -> IntArray:
    """One id per row, inside the vocabulary."""
    ids = np.asarray(tokens)
    if ids.shape != shape[:1] or not np.issubdtype(ids.dtype, np.integer):
        raise InputError(f"tokens must be whole numbers, one per row ({shape[0]}), got {ids.dtype} {ids.shape}")
    bad = np.flatnonzero((ids < 0) | (ids >= shape[1]))
    if bad.size:
        raise InputError(f"tokens[{bad[0]}] must be in 0..{shape[1] - 1}, got {ids[bad[0]]}")
    return ids


def full_cells(tokens: IntArray, *, log_p: FloatArray, log_q: FloatArray | None, head: int) -> Cells:
    """One cell per token."""
    del head
    p = _laws("log_p", log_p)
    q = None if log_q is None else _laws("log_q", log_q)
    ids = np.broadcast_to(np.arange(p.shape[1]), p.shape)
    return Cells(ids, p, q, tokens, np.take_along_axis(p, tokens[:, None], axis=1)[:, 0])


def head_cells(tokens: IntArray, *, log_p: FloatArray, log_q: FloatArray | None, head: int) -> Cells:
    """The `head` likeliest tokens under either law by themselves, the rest in BLOCKS equal ranges of ids."""
    rows = [
        _cut(int(token), row, None if log_q is None else log_q[i], head=head, place=i)
        for i, (token, row) in enumerate(zip(tokens, log_p, strict=True))
    ]
    ids, p, q, cell, mass = (list(column) for column in zip(*rows, strict=True))
    return Cells(np.array(ids), np.array(p), None if log_q is None else np.array(q), np.array(cell), np.array(mass))


def top_cells(tokens: ArrayLike, *, ids: ArrayLike, log_p: ArrayLike, log_q: ArrayLike | None) -> Cells:
    """The listed tokens by themselves, the rest in one cell at the end."""
    rows = law_rows("log_p", log_p)
    listed = checks.integers("ids", ids)
    if listed.shape != rows.shape:
        raise InputError(f"ids must have the shape of log_p {rows.shape}, got {listed.shape}")
    seen = np.asarray(tokens)
    if seen.shape != rows.shape[:1] or not np.issubdtype(seen.dtype, np.integer):
        raise InputError(f"tokens must be whole numbers, one per row ({len(rows)}), got {seen.dtype} {seen.shape}")
    order = np.argsort(listed, axis=1)
    ordered = np.take_along_axis(listed, order, axis=1)
    twice = np.flatnonzero((np.diff(ordered, axis=1) == 0).any(axis=1))
    if twice.size:
        raise InputError(f"ids[{twice[0]}] must name every token once")
    p = _with_rest("log_p", np.take_along_axis(rows, order, axis=1))
    q = None
    if log_q is not None:
        q = _with_rest("log_q", np.take_along_axis(law_rows("log_q", log_q, shape=rows.shape), order, axis=1))
    hit = ordered == seen[:, None]
    cell = np.where(hit.any(axis=1), hit.argmax(axis=1), rows.shape[1])
    merged = np.full((len(rows), 1), MERGED)
    return Cells(np.hstack([ordered, merged]), p, q, cell, np.take_along_axis(p, cell[:, None], axis=1)[:, 0])


def _laws(name: str, logs: FloatArray) -> FloatArray:
    rows = np.exp(logs, dtype=np.float64)
    totals = rows.sum(axis=1)
    _check_totals(name, totals, _TOLERANCE[logs.dtype])
    rows /= totals[:, None]
    return rows


def _check_totals(name: str, totals: FloatArray, tolerance: float, *, first: int = 0) -> None:
    off = np.flatnonzero(~(np.abs(totals - 1) <= tolerance))  # NaN is off, too
    if off.size:
        raise InputError(f"{name}[{first + off[0]}] must sum to 1 as probabilities, got {totals[off[0]]:.6g}")


def _with_rest(name: str, logs: FloatArray) -> FloatArray:
    rows = np.exp(logs, dtype=np.float64)
    totals = rows.sum(axis=1)
    off = np.flatnonzero(~(totals <= 1 + _TOLERANCE[np.dtype(np.float32)]))
    if off.size:
        raise InputError(f"{name}[{off[0]}] must sum to at most 1 as probabilities, got {totals[off[0]]:.6g}")
    whole = np.hstack([rows, np.maximum(1 - totals, _REST)[:, None]])
    normalised: FloatArray = whole / whole.sum(axis=1, keepdims=True)
    return normalised


def _cut(token: int, log_p: FloatArray, log_q: FloatArray | None, *, head: int, place: int) -> tuple[Any, ...]:
    """One row: ids, p and q of the cells, the cell of the token and the token's own probability."""
    top = _largest(log_p if log_q is None else np.maximum(log_p, log_q), head)
    if top.size < head:
        raise InputError(f"log_p[{place}] and log_q must not hold NaN")
    top = np.sort(top)
    width = -(-log_p.size // BLOCKS)
    starts = np.arange(0, log_p.size, width)
    order = np.argsort(np.concatenate([top, starts + width - 0.5]))  # a block stands after the heads of its range
    labels = np.concatenate([top, np.full(starts.size, MERGED)])[order]
    p, mass = _cell_law("log_p", log_p, top, starts, token, place=place)
    q = None if log_q is None else _cell_law("log_q", log_q, top, starts, token, place=place)[0][order]
    mine = np.searchsorted(top, token)
    own = mine if mine < top.size and top[mine] == token else top.size + token // width
    return labels, p[order], q, int(np.flatnonzero(order == own)[0]), mass


def _cell_law(
    name: str, logs: FloatArray, top: IntArray, starts: IntArray, token: int, *, place: int
) -> tuple[FloatArray, float]:
    row = np.exp(logs)
    heads, mass = row[top].astype(np.float64), float(row[token])
    row[top] = 0
    law = np.concatenate([heads, np.add.reduceat(row, starts, dtype=np.float64)])
    total = law.sum()
    _check_totals(name, np.array([total]), _TOLERANCE[logs.dtype], first=place)
    return law / total, mass / total


def _largest(values: FloatArray, count: int) -> IntArray:
    """Indices of the `count` largest; ties by whatever comes first, which the values decide alone.

    The count-th largest maximum of strides bounds the count-th largest value from below, so few values are sorted.
    """
    whole = values[: values.size // _STRIDE * _STRIDE].reshape(_STRIDE, -1).max(axis=0)
    if whole.size <= count:
        return np.argpartition(values, values.size - count)[-count:]
    bound = np.partition(whole, whole.size - count)[whole.size - count]
    few = np.flatnonzero(values >= bound)
    if few.size < count:  # NaN alone can do that
        return few
    return few[np.argpartition(values[few], few.size - count)[-count:]]
