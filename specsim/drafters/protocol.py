"""Drafter: what a draft costs and how many tokens it proposes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from specsim.checks import FloatArray
from specsim.roofline import Count, Seconds


@runtime_checkable
class Drafter(Protocol):
    """Whoever proposes the tokens of a round."""

    @property
    def name(self) -> str:
        """Name for people and for rows."""
        ...

    def draft_seconds(self, drafted: Count, *, batch: int = 1) -> Seconds:
        """Seconds to draft `drafted` tokens in each of `batch` sequences [s]."""
        ...

    def proposed_survival(self, gamma: int) -> FloatArray:
        """P(at least k tokens are proposed when gamma are asked for), k = 1..gamma, shape (gamma,) [1]."""
        ...
