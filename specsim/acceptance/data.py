"""Lengths: what a law can be fitted to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from specsim.acceptance.base import Acceptance
from specsim.checks import FloatArray


class Lengths(Protocol):
    """Accepted lengths as data: counts by depth (`CountedAcceptance`) or means by gamma (`MeanLengths`)."""

    @property
    def depths(self) -> int:
        """Deepest depth that the data speak of [1]."""
        ...

    @property
    def size(self) -> int:
        """Independent observations [1]."""
        ...

    @property
    def edges(self) -> tuple[int, ...]:
        """Depths at which an acceptance of its own can be told."""
        ...

    def rough(self) -> FloatArray:
        """Conditional acceptance by depth, good enough to start a fit, shape (K,) [1]."""
        ...

    def log_likelihood(self, conditional: FloatArray) -> float:
        """Of conditional acceptance by depth, shape (K,), up to a constant [nat]."""
        ...

    def cutoff(self, level: float, *, parameters: int) -> float:
        """How far twice the log likelihood may fall below its maximum inside an interval; infinite: no limit [nat]."""
        ...

    def held_out(self, refit: Refit) -> tuple[FloatArray, FloatArray]:
        """Log density of each part of the data by what `refit` makes of the rest, and how often the part occurs.

        Two arrays of shape (F,), both empty where nothing would be left [nat], [1].
        """
        ...


Refit = Callable[[Lengths], tuple[Acceptance, int]]
"""From data to the law fitted to them and its number of parameters."""
