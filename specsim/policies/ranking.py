"""The drafts of a batch by how likely they are to stand, and what a round with the first of them yields."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

RoundSeconds = Callable[[IntArray], ArrayLike]


class Ranking(NamedTuple):
    """Drafts in the order in which they are to be admitted; of one request, never a deeper one first.

    Parameters
    ----------
    requests : array of int, shape (M,)
        Whose draft it is.
    survival : array, shape (M,)
        P(it stands), falling [1].
    batch : int
        R, the requests [1].
    """

    requests: IntArray
    survival: FloatArray
    batch: int

    def lengths(self, admitted: int) -> IntArray:
        """Drafts of each request among the first `admitted`, shape (R,) [1]."""
        return np.asarray(np.bincount(self.requests[:admitted], minlength=self.batch))

    def throughput(self, round_seconds: RoundSeconds) -> FloatArray:
        """Expected tokens per second with the first 0..M drafts, shape (M + 1,) [1/s]."""
        tokens = self.batch + np.arange(self.survival.size + 1)  # every request has one token judged anyway
        seconds = checks.array("round_seconds", round_seconds(tokens))
        if seconds.shape != tokens.shape or (seconds <= 0).any():
            raise InputError(f"round_seconds must give {tokens.size} numbers above 0, got shape {seconds.shape}")
        return np.asarray((self.batch + np.append(0.0, np.cumsum(self.survival))) / seconds)


def ranked(confidences: ArrayLike, *, drafted: ArrayLike | None = None) -> Ranking:
    """Rank the drafts of R requests by the running products of their confidences.

    Parameters
    ----------
    confidences : array, shape (R, G)
        P(draft k stands given that those before it did), from the text before draft k [1].
    drafted : array of int, shape (R,), or None
        Drafts that each request has; None means all G.

    Returns
    -------
    Ranking
        Ties go to the earlier request, then to the lesser depth.

    Raises
    ------
    InputError
        Confidences outside [0, 1] or of another shape, `drafted` outside 0..G.
    """
    chances = checks.probabilities("confidences", confidences, ndim=2)
    batch, gamma = chances.shape
    limits = np.full(batch, gamma) if drafted is None else checks.integers("drafted", drafted)
    if limits.shape != (batch,) or (limits > gamma).any():
        raise InputError(f"drafted must hold {batch} numbers in 0..{gamma}, got {limits.tolist()}")
    requests, depths = np.nonzero(np.arange(gamma) < limits[:, None])
    survival = np.cumprod(chances, axis=1)[requests, depths]
    order = np.argsort(-survival, kind="stable")
    return Ranking(requests=requests[order], survival=survival[order], batch=batch)
