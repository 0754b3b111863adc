"""The most probable tokens of laws."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray


def most_probable(laws: FloatArray, *, count: int) -> IntArray:
    """The `count` most probable tokens of each law, best first; of tied ones the lower ids, in rising order.

    Parameters
    ----------
    laws : array, shape (..., V)
        Weights.
    count : int
        At most V [1].

    Returns
    -------
    array of int, shape (..., count)
        Time is linear in V.

    Examples
    --------
    >>> most_probable(np.array([0.3, 0.1, 0.3, 0.3]), count=2)
    array([0, 2])
    """
    flat = laws.reshape(-1, laws.shape[-1])
    cut = np.partition(flat, -count, axis=-1)[:, -count, None] if count else np.inf
    above, tied = flat > cut, flat == cut
    room = count - above.sum(axis=-1, keepdims=True)
    kept = above | (tied & (np.cumsum(tied, axis=-1) <= room))
    tokens = np.nonzero(kept)[1].reshape(len(flat), count)
    order = np.argsort(-np.take_along_axis(flat, tokens, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(tokens, order, axis=-1).reshape(*laws.shape[:-1], count)
