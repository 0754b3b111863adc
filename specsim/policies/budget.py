"""Batched budgets: how many drafts a round judges in all is settled before they are sampled, whose they are after."""

from __future__ import annotations

from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import IntArray
from specsim.policies.ranking import RoundSeconds, ranked


def best_budget(confidences: ArrayLike, *, round_seconds: RoundSeconds) -> int:
    """The number of drafts of the best throughput, for a round that is yet to be drafted.

    Parameters
    ----------
    confidences : array, shape (R, G)
        From a round before, or any guess that is older than this round's drafts: a budget that follows what was just
        drafted biases the text [1].
    round_seconds : callable
        From numbers of judged tokens, one for each request and one for each admitted draft, shape (M + 1,), to the
        seconds of a round, drafting included [s].

    Returns
    -------
    int
        0..R G; the least one wins ties [1].

    Raises
    ------
    InputError
        Confidences outside [0, 1] or of another shape, seconds that are not above 0.

    Examples
    --------
    >>> best_budget([[0.9, 0.8], [0.5, 0.5]], round_seconds=lambda tokens: 1 + 0.5 * tokens)
    2
    """
    return int(ranked(confidences).throughput(round_seconds).argmax())


def admit(confidences: ArrayLike, *, budget: int, drafted: ArrayLike | None = None) -> IntArray:
    """Give a budget to the likeliest drafts of a batch.

    Parameters
    ----------
    confidences : array, shape (R, G)
        P(draft k stands given that those before it did), from the text before draft k, so never from draft k; those of
        this round [1].
    budget : int
        Drafts to judge in all, settled before the round was drafted [1].
    drafted : array of int, shape (R,), or None
        Drafts that each request has; None means all G.

    Returns
    -------
    array of int, shape (R,)
        Drafts of each request that are judged; fewer than the budget in all if there are not so many [1].

    Raises
    ------
    InputError
        Confidences outside [0, 1] or of another shape, a negative budget.

    Notes
    -----
    Lossless for all requests together: with running products that fall along each request, a draft is admitted or not
    before anything that was computed from it is compared.

    Examples
    --------
    >>> admit([[0.9, 0.8], [0.95, 0.1]], budget=3)
    array([2, 1])
    """
    return ranked(confidences, drafted=drafted).lengths(checks.integer("budget", budget))
