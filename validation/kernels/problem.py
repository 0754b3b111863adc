"""A law, the measurements that it is fitted to, and how its coefficients are searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from specsim.checks import BoolArray, FloatArray, IntArray

Values = Mapping[str, float]
Predict = Callable[[Values, IntArray], FloatArray]
PLAIN = ("knee_growth",)
ABOVE_ONE = ("knee", "tile_knee")
SMALLEST = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What a fit needs to know.

    Parameters
    ----------
    name : str
        Path of the law, like "gemm.bfloat16".
    starts : sequence of Mapping[str, float]
        Coefficients to begin the search at; the first is also what they are drawn to where data is silent.
    ranges : Mapping[str, tuple[float, float]]
        What the law accepts.
    seconds : array (N,)
        Measured [s].
    shape : int array (N,)
        Rows of one shape share a number; a shape is held out as a whole.
    stratum : int array (N,)
        Rows are drawn from every stratum of a shape alike.
    naive : array (N,)
        The datasheet's roofline [s].
    scored : bool array (N,)
        Rows that the stated error is about.
    predict : callable
        Seconds of some rows under some coefficients.
    nearby : callable, optional
        Like `predict`, but returns a cheap function that holds near those coefficients.
    per_stratum : int
        Rows of each stratum that a fit looks at.
    """

    name: str
    starts: Sequence[Values]
    ranges: Mapping[str, tuple[float, float]]
    seconds: FloatArray
    shape: IntArray
    stratum: IntArray
    naive: FloatArray
    scored: BoolArray
    predict: Predict
    nearby: Callable[[Values, IntArray], Callable[[Values], FloatArray]] | None = None
    per_stratum: int = 4

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficients in the order of the search vector."""
        return tuple(self.starts[0])


def to_search(name: str, value: float) -> float:
    """A coefficient as the search sees it: its logarithm, that of its excess over 1, or itself.

    Examples
    --------
    >>> to_search("knee", 2.0), to_search("knee_growth", 0.5)
    (0.0, 0.5)
    """
    if name in PLAIN:
        return value
    return math.log(max(value - 1.0, SMALLEST) if name in ABOVE_ONE else max(value, 1e-30))


def from_search(name: str, searched: float) -> float:
    """The inverse of `to_search`.

    Examples
    --------
    >>> from_search("knee", 0.0)
    2.0
    """
    if name in PLAIN:
        return searched
    return math.exp(searched) + (1.0 if name in ABOVE_ONE else 0.0)


def numbered(frame: pd.DataFrame, columns: Sequence[str]) -> IntArray:
    """One number per combination of the columns' values."""
    return np.asarray(frame.groupby(list(columns), sort=True).ngroup())


def medians(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The median of repeated measurements; one row per combination of the columns."""
    grouped: Any = frame.groupby(list(columns), as_index=False, sort=True)["seconds"].median()
    return pd.DataFrame(grouped)
