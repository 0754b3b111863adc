"""What a policy may know when a round begins, and what it answers: how deep the round drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from specsim.checks import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Load:
    """A server just before a round: nothing of the round is drafted yet, so no policy can look at its drafts.

    Parameters
    ----------
    batch : int
        Sequences that decode, at least 1 [1].
    waiting : int
        Requests that are not admitted yet [1].
    round_seconds : array, shape (G + 1,)
        Of a round in which 0..G tokens are drafted, without prompts [s].
    step_seconds : array, shape (G + 1,)
        Of the round together with the prompt tokens that are processed in the same pass [s].
    lengths : array of int, shape (G + 1, G + 1)
        How many past rounds of a request asked for g drafts and accepted k, by g and k; it goes on counting, so that a
        policy copies what it wants to keep [1].

    Examples
    --------
    >>> seconds = np.array([1.0, 1.1, 1.2])
    >>> lengths = np.array([[9, 0, 0], [3, 5, 0], [2, 2, 4]])
    >>> load = Load(batch=1, waiting=0, round_seconds=seconds, step_seconds=seconds, lengths=lengths)
    >>> load.reached, load.stood
    (array([16,  6]), array([11,  4]))
    """

    batch: int
    waiting: int
    round_seconds: FloatArray
    step_seconds: FloatArray
    lengths: IntArray

    @property
    def deepest(self) -> int:
        """The largest gamma that can be asked for, G [1]."""
        return len(self.round_seconds) - 1

    @property
    def reached(self) -> IntArray:
        """Past rounds of a request in which draft k was asked for and those before it stood, k = 1..G [1]."""
        return np.diagonal(self._at_least, offset=-1)

    @property
    def stood(self) -> IntArray:
        """Past rounds of a request in which draft k stood, k = 1..G [1]."""
        return np.asarray(self._at_least[0, 1:])

    @property
    def _at_least(self) -> IntArray:
        """Past rounds that asked for g at least and accepted k at least, by g and k [1]."""
        return np.asarray(self.lengths[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1])


@runtime_checkable
class GammaPolicy(Protocol):
    """Chooses how many tokens every sequence of the next round drafts."""

    @property
    def name(self) -> str:
        """Name for people and for rows."""
        ...

    @property
    def deepest(self) -> int:
        """The largest gamma that it may choose [1]."""
        ...

    def gamma(self, load: Load) -> int:
        """Drafts of the next round, 0..deepest; 0 is plain decoding [1]."""
        ...
