"""Input validation, used once at public boundaries.

Every function returns the checked value (arrays as float64 unless they are float32), or raises
:class:`~specsim.errors.InputError` with one line: name, rule, value, place.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim.errors import InputError

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]


def number(
    name: str, value: object, *, low: float = -math.inf, high: float = math.inf, open_low: bool = False
) -> float:
    """A finite number in [low, high], or in (low, high] with `open_low`.

    Raises
    ------
    InputError
        Not a number, NaN, infinite, or outside the range.

    Examples
    --------
    >>> number("alpha", 0.7, low=0, high=1)
    0.7
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name} must be a number, got {value!r}")
    checked = float(value)
    inside = checked > low if open_low else checked >= low
    if not (math.isfinite(checked) and inside and checked <= high):
        raise InputError(f"{name} must be {_range(low, high, open_low)}, got {value:g}")
    return checked


def probability(name: str, value: object) -> float:
    """A number in [0, 1]."""
    return number(name, value, low=0.0, high=1.0)


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    return number(name, value, low=0.0, open_low=True)


def non_negative(name: str, value: object) -> float:
    """A finite number of at least 0."""
    return number(name, value, low=0.0)


def integer(name: str, value: object, *, low: int = 0, high: int | None = None) -> int:
    """A whole number in [low, high]; floats are refused even when they are whole."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    if value < low or (high is not None and value > high):
        rule = f"at least {low}" if high is None else f"in {low}..{high}"
        raise InputError(f"{name} must be {rule}, got {value}")
    return int(value)


def integers(name: str, values: ArrayLike, *, low: int = 0) -> IntArray:
    """An array of whole numbers of at least `low`; floats are refused even when they are whole."""
    checked = np.asarray(values)
    if not np.issubdtype(checked.dtype, np.integer):
        raise InputError(f"{name} must be whole numbers, got {checked.dtype} {values!r}")
    if (checked < low).any():
        place = tuple(int(i) for i in np.argwhere(checked < low)[0])
        raise InputError(f"{name}{_place(place)} must be at least {low}, got {checked[place]}")
    return checked


def one_of(name: str, value: str, known: Iterable[str]) -> str:
    """A known name; the message lists the known ones and the closest match first."""
    names = sorted(known)
    if value in names:
        return value
    close = difflib.get_close_matches(value, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else ";"
    raise InputError(f"{name} {value!r} is unknown{hint} known: {', '.join(names)}")


def array(name: str, values: ArrayLike, *, ndim: int | None = None) -> FloatArray:
    """A finite float array; float32 stays float32, everything else becomes float64."""
    try:
        checked = np.asarray(values)
        if checked.dtype.kind in "cSU":  # numpy would drop the imaginary part, and read text
            raise TypeError
        if checked.dtype != np.float32:
            checked = checked.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers") from None
    if ndim is not None and checked.ndim != ndim:
        raise InputError(f"{name} must have {ndim} axes, got shape {checked.shape}")
    if not np.isfinite(checked).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(checked))[0])
        raise InputError(f"{name}{_place(place)} must be finite, got {checked[place]}")
    return checked


def probabilities(name: str, values: ArrayLike, *, ndim: int | None = None) -> FloatArray:
    """An array whose entries are all in [0, 1]; rows need not sum to 1."""
    checked = array(name, values, ndim=ndim)
    bad = (checked < 0) | (checked > 1)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(f"{name}{_place(place)} must be in [0, 1], got {checked[place]:g}")
    return checked


def distribution(name: str, rows: ArrayLike, *, tolerance: float = 1e-6) -> FloatArray:
    """Rows over the last axis that are non-negative and sum to 1 within `tolerance` (float32: 1e-3 at least).

    Raises
    ------
    InputError
        A row that is negative, NaN, or does not sum to 1; an empty vocabulary.
    """
    checked = array(name, rows)
    if checked.ndim == 0 or checked.shape[-1] == 0:
        raise InputError(f"{name} must have a vocabulary axis, got shape {checked.shape}")
    if (checked < 0).any():
        place = tuple(int(i) for i in np.argwhere(checked < 0)[0])
        raise InputError(f"{name}{_place(place)} must be at least 0, got {checked[place]:g}")
    allowed = max(tolerance, 1e-3) if checked.dtype == np.float32 else tolerance
    totals = checked.sum(axis=-1, dtype=np.float64)
    off = np.abs(totals - 1) > allowed
    if off.any():
        place = tuple(int(i) for i in np.argwhere(off)[0])
        raise InputError(f"{name}{_place(place)} must sum to 1, got {float(totals[place]):.6g}")
    return checked


def _range(low: float, high: float, open_low: bool) -> str:
    if math.isinf(high):
        return f"above {low:g}" if open_low else ("finite" if math.isinf(low) else f"at least {low:g}")
    return f"in {'(' if open_low else '['}{low:g}, {high:g}]"


def _place(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""
