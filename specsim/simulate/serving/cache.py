"""How much memory the caches of a server's sequences may take, and what one of them takes by its length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.drafters import DraftMethod
from specsim.errors import InfeasibleError
from specsim.memory import sequence_bytes
from specsim.placement import Placement
from specsim.units import human

BLOCK_TOKENS = 16
"""Tokens of a page of the cache: the default of vLLM."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cache:
    """Room for caches on one device.

    Parameters
    ----------
    capacity_bytes : float
        Of all sequences together [byte].
    bytes_by_tokens : array (T + 1,)
        What a sequence of 0..T tokens takes; never falling [byte].

    Examples
    --------
    >>> Cache.of_tokens(1000, longest=200).bytes_by_tokens[[0, 1, 200]]
    array([  0.,   1., 200.])
    """

    capacity_bytes: float
    bytes_by_tokens: FloatArray

    def __post_init__(self) -> None:
        checks.positive("capacity_bytes", self.capacity_bytes)
        checks.array("bytes_by_tokens", self.bytes_by_tokens, ndim=1)

    @property
    def longest(self) -> int:
        """The longest sequence that is spoken of, T [1]."""
        return len(self.bytes_by_tokens) - 1

    @classmethod
    def of_tokens(cls, tokens: int, *, longest: int) -> Cache:
        """Room for a number of tokens, whosever they are; a token counts as one byte."""
        return cls(
            capacity_bytes=float(checks.integer("tokens", tokens, low=1)),
            bytes_by_tokens=np.arange(checks.integer("longest", longest, low=1) + 1, dtype=np.float64),
        )

    @classmethod
    def of(cls, place: Placement, method: DraftMethod | None = None, *, longest: int) -> Cache:
        """What a placement leaves beside the weights of target and drafter, in pages of 16 tokens.

        Raises
        ------
        InfeasibleError
            The weights leave no room.
        """
        use = place.memory(method, batch=1, context=0)
        room = use.capacity_bytes - use.reserved_bytes - use.weight_bytes - use.draft_weight_bytes
        if room <= 0:
            raise InfeasibleError(
                f"{place.target.name} leaves no room for caches on {place.tensor_parallel} {place.hardware.name}: "
                f"{human(use.weight_bytes + use.draft_weight_bytes, 'B')} of weights on each, "
                f"{human(use.capacity_bytes - use.reserved_bytes, 'B')} to use"
            )
        tokens = np.arange(checks.integer("longest", longest, low=1) + 1)
        paged = -(-tokens // BLOCK_TOKENS) * BLOCK_TOKENS
        own = sequence_bytes(place.target, tokens=paged, tensor_parallel=place.tensor_parallel)
        drafted = use.draft_sequence_bytes * paged  # memory was asked for a sequence of one token
        return cls(capacity_bytes=room, bytes_by_tokens=np.where(tokens > 0, own + drafted, 0.0))
