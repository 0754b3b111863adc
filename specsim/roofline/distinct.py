"""Functions of counts that are evaluated once for each count that occurs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.checks import FloatArray, IntArray


def by_distinct(function: Callable[[IntArray], FloatArray], counts: IntArray) -> FloatArray:
    """`function` of every count, of the shape of `counts`; it is asked for the different ones only, rising.

    Notes
    -----
    Where counts are not much larger than how many there are, a table finds the different ones in one pass; else they
    are sorted.

    Examples
    --------
    >>> by_distinct(lambda different: different + 0.5, np.array([[7, 1], [1, 7]]))
    array([[7.5, 1.5],
           [1.5, 7.5]])
    """
    flat = np.ravel(counts)
    top = int(flat.max(initial=0))
    if top > 4 * flat.size:
        different, where = np.unique(flat, return_inverse=True)
        return np.asarray(np.broadcast_to(function(different), different.shape)[where].reshape(np.shape(counts)))
    occurs = np.zeros(top + 1, dtype=bool)
    occurs[flat] = True
    different = np.flatnonzero(occurs)
    table = np.empty(top + 1)
    table[different] = function(different)
    return np.asarray(table[flat].reshape(np.shape(counts)))
