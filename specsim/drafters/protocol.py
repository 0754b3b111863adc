"""Drafter: what a draft costs, how many tokens it proposes, and what it leaves the target to do."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from specsim.checks import FloatArray
from specsim.roofline import Count, Seconds


@runtime_checkable
class Drafter(Protocol):
    """Whoever proposes the tokens of a round. Counts broadcast; seconds of single counts are one float."""

    @property
    def name(self) -> str:
        """Name for people and for rows."""
        ...

    @property
    def verify_share(self) -> float:
        """Share of the target's pass left for verifying; drafting did the rest for all but the last draft [1]."""
        ...

    def draft_seconds(self, drafted: Count, *, batch: Count = 1, context: Count = 0) -> Seconds:
        """Seconds to draft `drafted` tokens in each of `batch` sequences with `context` tokens cached [s]."""
        ...

    def target_tokens(self, drafted: Count) -> Count:
        """Tokens that the target's pass scores per sequence when `drafted` deep was drafted; 1 for none [1]."""
        ...

    def proposed_survival(self, gamma: int) -> FloatArray:
        """P(at least k tokens are proposed when gamma are asked for), k = 1..gamma, shape (gamma,) [1]."""
        ...
