"""Running sums and binary search along the last axis of many rows at once."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray


def running_sum(rows: FloatArray) -> FloatArray:
    """Sums of the first 0, 1, ..., V numbers of each row, shape (..., V + 1).

    Examples
    --------
    >>> running_sum(np.array([1.0, 2.0]))
    array([0., 1., 3.])
    """
    sums = np.zeros((*rows.shape[:-1], rows.shape[-1] + 1))
    np.cumsum(rows, axis=-1, out=sums[..., 1:])
    return sums


def places(rows: FloatArray, values: FloatArray, *, side: str) -> IntArray:
    """`numpy.searchsorted` for each row: rows (M, V) in rising order, values (M, K), answer (M, K).

    Examples
    --------
    >>> places(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0], [2.0]]), side="left")
    array([[1],
           [0]])
    """
    low, high = np.zeros(values.shape, dtype=np.intp), np.full(values.shape, rows.shape[-1], dtype=np.intp)
    for _ in range(int(rows.shape[-1]).bit_length()):
        middle = (low + high) // 2
        found = np.take_along_axis(rows, np.minimum(middle, rows.shape[-1] - 1), axis=-1)
        right = (found <= values if side == "right" else found < values) & (middle < high)
        low, high = np.where(right, middle + 1, low), np.where(right, high, middle)
    return low
