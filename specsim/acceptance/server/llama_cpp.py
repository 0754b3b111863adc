"""llama.cpp's draft counters.

References
----------
.. [1] llama.cpp, `timings` in the answers of its server: `draft_n` tokens drafted, `draft_n_accepted` of them accepted,
   `predicted_n` tokens in the text.
"""

from __future__ import annotations

from specsim import checks
from specsim.acceptance.server.metrics import ServerMetrics


def from_llama_cpp(*, draft_n: int, draft_n_accepted: int, predicted_n: int | None = None) -> ServerMetrics:
    """From the `timings` of one request, or from sums over several.

    Parameters
    ----------
    draft_n, draft_n_accepted : int
        Drafted and accepted tokens [1].
    predicted_n : int, optional
        Tokens of the texts: every pass of the target adds one that was not drafted, which gives the number of rounds,
        those without a draft among them [1].

    Raises
    ------
    InputError
        No drafted token, more accepted than drafted, or no fewer accepted than predicted.

    Notes
    -----
    llama.cpp ends drafts early where the drafter is unsure, so lengths differ, and `ServerMetrics.acceptance` is the
    constant for the mean length: a summary of these drafts, not a law for drafts of another length.

    Examples
    --------
    >>> metrics = from_llama_cpp(draft_n=12, draft_n_accepted=9, predicted_n=16)
    >>> metrics.draft_utilisation, round(metrics.E_tokens, 3)
    (0.75, 2.286)
    """
    drafted = checks.integer("draft_n", draft_n, low=1)
    accepted = checks.integer("draft_n_accepted", draft_n_accepted, high=drafted)
    if predicted_n is None:
        return ServerMetrics(server="llama.cpp", draft_utilisation=accepted / drafted)
    rounds = checks.integer("predicted_n", predicted_n, low=accepted + 1) - accepted
    return ServerMetrics(
        server="llama.cpp",
        draft_utilisation=accepted / drafted,
        drafted_per_round=drafted / rounds,
        accepted_per_round=accepted / rounds,
    )
