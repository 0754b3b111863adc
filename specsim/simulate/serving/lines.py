"""Lines: arrays that are linear in one number between knots, evaluated one place at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from specsim.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Values at the knots, shape (K, ...), with the knots rising; both ends go on as they came.

    Examples
    --------
    >>> Lines((0, 10), np.array([[0.0, 1.0], [5.0, 2.0]])).at(4)
    array([2. , 1.4])
    """

    knots: tuple[int, ...]
    values: FloatArray
    _slopes: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        widths = np.diff(self.knots).reshape(-1, *(1,) * (self.values.ndim - 1))
        object.__setattr__(self, "_slopes", np.diff(self.values, axis=0) / widths)

    @classmethod
    def of(cls, knots: IntArray, price: Callable[[IntArray], FloatArray]) -> Lines:
        """Through what `price` gives for all knots, along its first axis."""
        return cls(tuple(knots.tolist()), price(knots))

    def at(self, place: float, row: int | slice = slice(None)) -> FloatArray:
        """Values at a place, of one row of the second axis or of all."""
        left = min(max(bisect_right(self.knots, place) - 1, 0), len(self._slopes) - 1)
        return np.asarray(self.values[left, row] + (place - self.knots[left]) * self._slopes[left, row])
