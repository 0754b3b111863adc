"""Drawing tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions.logits import first_place
from specsim.errors import InputError


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
    steps = np.cumsum(weights, axis=-1, dtype=np.float64)
    totals = steps[..., -1]
    usable = (weights.min(axis=-1) >= 0) & (totals > 0) & np.isfinite(totals)
    if not usable.all():
        raise InputError(f"rows{first_place(~usable)} must hold finite weights of at least 0 with a positive sum")
    return _inverse(steps, checks.probabilities("uniforms", uniforms))


def draw(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """`sample` of checked weights and uniforms."""
    return _inverse(np.cumsum(weights, axis=-1, dtype=np.float64), uniforms)


def _inverse(steps: FloatArray, uniforms: FloatArray) -> IntArray:
    totals = steps[..., -1]
    # Below the total by one float at least, so that the id found is one at which the CDF rises.
    targets = np.minimum(uniforms * totals, np.nextafter(totals, 0))
    if steps.ndim == 1:
        return np.asarray(np.searchsorted(steps, targets, side="right"))
    return np.asarray((steps > targets[..., None]).argmax(axis=-1))
