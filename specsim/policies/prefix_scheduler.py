"""The early-stopping prefix scheduler of DSpark: admit drafts, likeliest first, while throughput rises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.policies.ranking import RoundSeconds, ranked


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixSchedule:
    """What a round judges.

    Parameters
    ----------
    lengths : array of int, shape (R,)
        Drafts of each request that are judged [1].
    tokens_per_second : float
        Expected throughput of the round [1/s].
    trace : array
        Throughput with 0, 1, 2.. drafts admitted, up to the first that does not raise it, which is not admitted [1/s].
    """

    lengths: IntArray
    tokens_per_second: float
    trace: FloatArray


def prefix_schedule(
    confidences: ArrayLike, *, round_seconds: RoundSeconds, drafted: ArrayLike | None = None
) -> PrefixSchedule:
    """Schedule one round of R requests.

    Parameters
    ----------
    confidences : array, shape (R, G)
        P(draft k stands given that those before it did), from the text before draft k, so never from draft k [1].
    round_seconds : callable
        From numbers of judged tokens, one for each request and one for each admitted draft, shape (M + 1,), to the
        seconds of a round [s].
    drafted : array of int, shape (R,), or None
        Drafts that each request has; None means all G.

    Returns
    -------
    PrefixSchedule

    Raises
    ------
    InputError
        Confidences outside [0, 1] or of another shape, seconds that are not above 0.

    Notes
    -----
    Algorithm 1 of DSpark (arXiv 2607.05147). Lossless because it stops at the first draft that does not pay: whether a
    draft is admitted then hangs on likelier drafts alone, and its own survival is known before it is. Taking the best
    of the whole trace instead looks at drafts beyond the ones it leaves out, and biases the text; both agree where
    throughput has one peak.

    Examples
    --------
    >>> schedule = prefix_schedule([[0.9, 0.8], [0.5, 0.5]], round_seconds=lambda tokens: 1 + 0.5 * tokens)
    >>> schedule.lengths, round(schedule.tokens_per_second, 3)
    (array([2, 0]), 1.207)
    """
    ranking = ranked(confidences, drafted=drafted)
    throughput = ranking.throughput(round_seconds)
    falls = np.flatnonzero(np.diff(throughput) <= 0)
    admitted = int(falls[0]) if falls.size else throughput.size - 1
    return PrefixSchedule(
        lengths=ranking.lengths(admitted),
        tokens_per_second=float(throughput[admitted]),
        trace=throughput[: admitted + 2],
    )
