"""What the laws share: the soft maximum of several times, and the checks of counts and coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError


def soft_maximum_of(*times: FloatArray, knee: FloatArray | float) -> FloatArray:
    """The p-norm of non-negative times that broadcast: their maximum for a large knee, their sum for knee 1 [s].

    Examples
    --------
    >>> soft_maximum_of(np.array(3.0), np.array([4.0, 0.0]), knee=2.0)
    array([5., 3.])
    """
    high = np.maximum.reduce(np.broadcast_arrays(*times))
    if len(times) == 2:  # one power less for each element: most kernels weigh memory against arithmetic alone
        low = np.minimum(*times)
        ratio = np.divide(low, high, out=np.zeros(high.shape), where=high > 0)
        return np.asarray(high * (1 + ratio**knee) ** (1 / np.asarray(knee)))
    scale = np.where(high > 0, high, 1.0)
    total: FloatArray = np.sum(np.stack(np.broadcast_arrays(*[(time / scale) ** knee for time in times])), axis=0)
    return np.asarray(high * total ** (1 / np.asarray(knee)))


def counts(name: str, values: ArrayLike, *, low: float = 1.0) -> FloatArray:
    """Counts as float64, refused below `low`.

    Examples
    --------
    >>> counts("m", [1, 64])
    array([ 1., 64.])
    """
    checked = checks.array(name, values).astype(np.float64)
    if (checked < low).any():
        raise InputError(f"{name} must be at least {low:g}, got {checked[checked < low].flat[0]:g}")
    return checked


def coefficients(law: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Refuse a coefficient of a law outside its range."""
    for name, (low, high) in ranges.items():
        checks.number(name, getattr(law, name), low=low, high=high)
