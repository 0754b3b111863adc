"""PassCost: what one forward pass of a model costs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from specsim.checks import FloatArray, IntArray

Count = int | IntArray
Seconds = float | FloatArray


@runtime_checkable
class PassCost(Protocol):
    """What one forward pass of a model costs."""

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Seconds:
        """Seconds of a pass over `tokens` in each of `batch` sequences, `context` tokens cached; they broadcast [s]."""
        ...
