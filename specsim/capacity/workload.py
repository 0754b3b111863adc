"""Workload: what has to be served, and how fast."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """Sequences that are decoded at the same time, as one replica of the target sees them.

    Parameters
    ----------
    batch : int
        Sequences at once: the concurrency of a replica [1].
    context : int
        Tokens cached in each, on average over its life [1].
    user_tokens_per_second : float, optional
        What each sequence has to get at least; None is no target [tokens/s].
    task : str, optional
        Picks published acceptance, such as "chat" or "code".

    Examples
    --------
    >>> Workload(batch=32, context=4096, user_tokens_per_second=50.0).task is None
    True
    """

    batch: int
    context: int
    user_tokens_per_second: float | None = None
    task: str | None = None

    def __post_init__(self) -> None:
        checks.integer("batch", self.batch, low=1)
        checks.integer("context", self.context)
        if self.user_tokens_per_second is not None:
            checks.positive("user_tokens_per_second", self.user_tokens_per_second)
