"""How many experts of a mixture a pass wakes, and so has to read."""

from __future__ import annotations

import numpy as np

from specsim import checks
from specsim.roofline.protocol import Count, Seconds


def expected_distinct_experts(*, experts: int, active: int, tokens: Count) -> Seconds:
    """Expected number of different experts that the tokens of a pass are routed to, in one layer.

    Parameters
    ----------
    experts : int
        Experts of the layer, N [1].
    active : int
        Experts that each token is routed to, k of N [1].
    tokens : int or array (...)
        Tokens of the pass, over all sequences [1].

    Returns
    -------
    float or array (...)
        N (1 - (1 - k/N)^t) [1].

    Raises
    ------
    InputError
        More active than there are, or a count below its least.

    Notes
    -----
    Exact where tokens are routed independently and uniformly; neighbouring tokens of a text share experts, so real
    passes wake fewer. MoESD (arXiv 2505.19645) reasons with it: small batches read more experts to verify drafts than
    to decode plainly, medium ones read all anyway.

    Examples
    --------
    >>> round(expected_distinct_experts(experts=512, active=10, tokens=4), 2)
    38.84
    >>> expected_distinct_experts(experts=8, active=2, tokens=1)
    2.0
    """
    total = checks.integer("experts", experts, low=1)
    share = checks.integer("active", active, low=1, high=total) / total
    count = checks.integers("tokens", tokens)
    awake = np.asarray(total * (1 - (1 - share) ** count))
    return awake if awake.ndim else float(awake)
