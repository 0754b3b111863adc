"""SGLang's accept length.

References
----------
.. [1] SGLang, `meta_info` of a request: `spec_accept_length` is completion tokens over verification passes, so it
   counts the bonus; the histogram counts passes by accepted drafts, without it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.counted import CountedAcceptance
from specsim.acceptance.server.metrics import ServerMetrics
from specsim.errors import InputError


def from_sglang(accept_length: float, *, gamma: int, histogram: Sequence[int] | None = None) -> ServerMetrics:
    """From the accept length, and from the histogram of accepted drafts if there is one.

    Parameters
    ----------
    accept_length : float
        Tokens per verification pass, bonus included [1].
    gamma : int
        Drafted tokens along one path: `speculative_num_steps` [1].
    histogram : sequence of int, optional
        Passes that accepted 0, 1, ... drafts; with it the counts by depth are known [1].

    Raises
    ------
    InputError
        A length outside 1..gamma + 1, a histogram of more than gamma drafts, or one that lies a token or more away from
        the accept length.

    Notes
    -----
    The first token of a text comes from the prompt's pass but is counted, and drafts after an end-of-text token are
    not, so the accept length of short texts differs a little from 1 + the histogram's mean; the histogram is exact.

    Examples
    --------
    >>> metrics = from_sglang(2.0, gamma=2, histogram=[30, 40, 30])
    >>> metrics.draft_utilisation, metrics.acceptance().conditional(2).round(3)
    (0.5, array([0.7  , 0.429]))
    """
    depth = checks.integer("gamma", gamma, low=1)
    accepted = checks.number("accept_length", accept_length, low=1, high=depth + 1) - 1
    return ServerMetrics(
        server="SGLang",
        draft_utilisation=accepted / depth,
        drafted_per_round=float(depth),
        accepted_per_round=accepted,
        counts=None if histogram is None else _counts(histogram, gamma=depth, accepted=accepted),
    )


def _counts(histogram: Sequence[int], *, gamma: int, accepted: float) -> CountedAcceptance:
    passes = checks.integers("histogram", list(histogram) or [0])
    if passes.size > gamma + 1 or passes.sum() == 0:
        raise InputError(f"histogram must count passes that accepted 0..{gamma} drafts, got {list(histogram)}")
    mean = float(passes @ np.arange(passes.size)) / int(passes.sum())
    if abs(mean - accepted) >= 1:
        raise InputError(f"histogram must have a mean near accept_length - 1 = {accepted:g}, got {mean:g}")
    reaching = np.cumsum(np.pad(passes, (0, gamma + 1 - passes.size))[::-1])[::-1].tolist()
    return Acceptance.from_counts(reaching[:-1], reaching[1:], source="SGLang, histogram of accepted drafts")
