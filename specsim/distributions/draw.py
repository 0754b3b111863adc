"""Drawing tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions.logits import first_place
from specsim.errors import InputError

BLOCK = 512  # tokens of a row that are summed as one


def sample(rows: ArrayLike, uniforms: ArrayLike) -> IntArray:
    """Token ids by inverse CDF, one for each uniform.

    Parameters
    ----------
    rows : array, shape (..., V)
        Non-negative weights; they need not sum to 1.
    uniforms : array, shape (...)
        Numbers in [0, 1]; leading axes broadcast against those of `rows`.

    Returns
    -------
    array of int, shape (...)
        Never an id of weight 0, not even where a uniform is 0 or 1.

    Raises
    ------
    InputError
        A row with a negative, NaN or infinite weight or with no weight at all; a uniform outside [0, 1].

    Examples
    --------
    >>> sample([0.0, 0.5, 0.5, 0.0], [0.0, 0.49, 0.5, 1.0]).tolist()
    [1, 1, 2, 2]
    """
    weights = np.asarray(rows)
    if weights.ndim == 0 or weights.shape[-1] == 0:
        raise InputError(f"rows must have a vocabulary axis, got shape {weights.shape}")
    totals = weights.sum(axis=-1, dtype=np.float64)
    usable = (weights.min(axis=-1) >= 0) & (totals > 0) & np.isfinite(totals)
    if not usable.all():
        raise InputError(f"rows{first_place(~usable)} must hold finite weights of at least 0 with a positive sum")
    return draw(weights, checks.probabilities("uniforms", uniforms))


def draw(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """`sample` of checked weights and uniforms."""
    if weights.shape[-1] > BLOCK and weights.shape[:-1] == uniforms.shape:
        return _by_blocks(weights.reshape(-1, weights.shape[-1]), uniforms.reshape(-1)).reshape(uniforms.shape)
    steps = np.cumsum(weights, axis=-1, dtype=np.float64)
    return _first_above(steps, uniforms * steps[..., -1])


def _by_blocks(rows: FloatArray, uniforms: FloatArray) -> IntArray:
    """One draw from each of n rows: first the block, then the token in it.

    Sums of blocks take a tenth of the time of running sums in double precision, which then are few.
    """
    sums = _block_sums(rows)
    steps = np.cumsum(sums, axis=-1, dtype=np.float64)
    targets = uniforms * steps[:, -1]
    block = _first_above(steps, targets)
    before = np.where(block > 0, np.take_along_axis(steps, block[:, None] - 1, axis=-1)[:, 0], 0)
    share = (targets - before) / np.take_along_axis(sums, block[:, None], axis=-1)[:, 0]  # of the block
    ids = block[:, None] * BLOCK + np.arange(BLOCK)
    inside = np.where(ids < rows.shape[-1], np.take_along_axis(rows, np.minimum(ids, rows.shape[-1] - 1), axis=-1), 0)
    steps = np.cumsum(inside, axis=-1, dtype=np.float64)
    return block * BLOCK + _first_above(steps, share * steps[:, -1])


def _block_sums(rows: FloatArray) -> FloatArray:
    """Sums of the blocks of each row, the last one of what is left.

    `einsum` adds floats several times as fast as `sum`, in their own type; what is no float, or too large, adds up as
    float64.
    """
    if rows.dtype not in (np.float32, np.float64):
        return _block_sums(rows.astype(np.float64))
    count = rows.shape[-1] // BLOCK
    whole, rest = rows[:, : count * BLOCK], rows[:, count * BLOCK :]
    sums = np.einsum("nbi->nb", whole.reshape(len(rows), count, BLOCK))
    sums = np.concatenate((sums, rest.sum(axis=-1, keepdims=True)), axis=-1) if rest.size else sums
    return sums if rows.dtype == np.float64 or np.isfinite(sums).all() else _block_sums(rows.astype(np.float64))


def _first_above(steps: FloatArray, targets: FloatArray) -> IntArray:
    """Where running sums first exceed their targets."""
    # Below the total by one float at least, so that the id found is one at which the sum rises.
    targets = np.minimum(targets, np.nextafter(steps[..., -1], 0))
    if steps.ndim == 1:
        return np.asarray(np.searchsorted(steps, targets, side="right"))
    return np.asarray((steps > targets[..., None]).argmax(axis=-1))
