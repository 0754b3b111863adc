"""Rows of logits, checked, and the law that they stand for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError

LOWEST_TEMPERATURE = 1e-6


def softmax(logits: ArrayLike, *, temperature: float = 1.0) -> FloatArray:
    """exp(logits / temperature), normalised over the last axis [1].

    Examples
    --------
    >>> softmax([0.0, 0.0]), softmax([1.0, 0.0], temperature=1e-3)
    (array([0.5, 0.5]), array([1., 0.]))
    """
    return exponentials(checked_logits(logits), checked_temperature(temperature))


def checked_temperature(value: float) -> float:
    """A temperature that is no mistaken zero."""
    return checks.number("temperature", value, low=LOWEST_TEMPERATURE)


def checked_logits(logits: ArrayLike, *, name: str = "logits") -> FloatArray:
    """Rows that leave one token at least, without NaN; float32 stays float32, everything else becomes float64."""
    rows = np.asarray(logits)
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    if rows.ndim == 0 or rows.shape[-1] == 0:
        raise InputError(f"{name} must have a vocabulary axis, got shape {rows.shape}")
    peaks = rows.max(axis=-1)  # NaN if any is NaN
    if not np.isfinite(peaks).all():
        place = first_place(~np.isfinite(peaks))
        raise InputError(f"{name}{place} must be numbers below infinity that leave one token, got a row of NaN or inf")
    return rows


def exponentials(rows: FloatArray, temperature: float) -> FloatArray:
    """`softmax` of checked rows."""
    with np.errstate(over="ignore"):  # the lowest float is a common ban; it may become -inf here
        weights: FloatArray = rows - rows.max(axis=-1, keepdims=True)
        if temperature != 1:
            weights /= rows.dtype.type(temperature)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def first_place(bad: NDArray[np.bool_] | np.bool_) -> str:
    """Where the first row that is bad stands, for a message."""
    place = np.argwhere(bad)[0]
    return f"[{', '.join(str(index) for index in place)}]" if place.size else ""
