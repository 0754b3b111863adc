"""How many experts of a mixture a pass wakes, and so has to read."""

from __future__ import annotations

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.roofline.distinct import by_distinct
from specsim.roofline.protocol import Count, Seconds


def expected_distinct_experts(*, experts: int, active: int, tokens: Count, skew: float = 0.0) -> Seconds:
    """Expected number of different experts that the tokens of a pass are routed to, in one layer.

    Parameters
    ----------
    experts : int
        Experts of the layer, N [1].
    active : int
        Experts that each token is routed to, k of N [1].
    tokens : int or array (...)
        Tokens of the pass, over all sequences [1].
    skew : float
        Zipf exponent of the experts' popularity: 0 is balanced routing, 1 is strongly skewed [1].

    Returns
    -------
    float or array (...)
        Sum over experts of 1 - (1 - r_i)^t, with r_i the chance that a token goes to expert i; N (1 - (1 - k/N)^t) when
        balanced [1].

    Raises
    ------
    InputError
        More active than there are, a count below its least, or a negative skew.

    Notes
    -----
    Exact where tokens are routed independently with these chances; neighbouring tokens of a text share experts, so real
    passes wake fewer. MoESD (arXiv 2505.19645) reasons with the balanced form: small batches read more experts to
    verify drafts than to decode plainly, medium ones read all anyway.

    Examples
    --------
    >>> round(expected_distinct_experts(experts=512, active=10, tokens=4), 2)
    38.84
    >>> expected_distinct_experts(experts=8, active=2, tokens=1)
    2.0
    >>> round(expected_distinct_experts(experts=512, active=10, tokens=4, skew=1.0), 2)
    30.29
    """
    total = checks.integer("experts", experts, low=1)
    chosen = checks.integer("active", active, low=1, high=total)
    chances, copies = np.unique(routing_chances(experts=total, active=chosen, skew=skew), return_counts=True)
    awake = by_distinct(
        lambda different: ((1 - (1 - chances) ** different[:, None]) * copies).sum(axis=1),
        checks.integers("tokens", tokens),
    )
    return awake if awake.ndim else float(awake)


def routing_chances(*, experts: int, active: int, skew: float) -> FloatArray:
    """P(a token is routed to expert i), most popular first, summing to `active`, shape (experts,) [1].

    Proportional to i^-skew, cut at 1: what the cut leaves over goes to the others in proportion.

    Examples
    --------
    >>> routing_chances(experts=4, active=2, skew=0.0)
    array([0.5, 0.5, 0.5, 0.5])
    >>> routing_chances(experts=4, active=2, skew=2.0).round(3)
    array([1.   , 0.59 , 0.262, 0.148])
    """
    weights = np.arange(1, experts + 1, dtype=np.float64) ** -checks.non_negative("skew", skew)
    for certain in range(active + 1):  # experts that every token goes to
        rest = (active - certain) * weights[certain:] / weights[certain:].sum() if certain < experts else weights[:0]
        if not len(rest) or rest[0] <= 1:
            break
    return np.concatenate([np.ones(certain), rest])
