"""How the acceptance probability moves when the target's law, the draft's, or both are warped."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions.history import History
from specsim.distributions.law import argmax_overlap, overlap
from specsim.distributions.sampling import Sampling

WARPED = ("neither", "target", "draft", "both")


class Alphas(NamedTuple):
    """Acceptance probability of the two ways to draft, each shape (...)."""

    sampled: FloatArray
    """Of drafts drawn from q [1]."""
    argmax: FloatArray
    """Of the argmax of q, judged as one-hot [1]."""


def warped_alphas(
    sampling: Sampling,
    *,
    target_logits: ArrayLike,
    draft_logits: ArrayLike,
    warped: str = "both",
    history: History | None = None,
) -> Alphas:
    """Acceptance probability of drafts where `sampling` makes p, q or both from logits.

    Parameters
    ----------
    sampling : Sampling
        The warps; what they leave alone is a softmax at temperature 1.
    target_logits, draft_logits : array, shape (..., V)
        Leading axes broadcast.
    warped : str
        "neither", "target", "draft" or "both".
    history : History or None
        What penalties count, the same for both.

    Returns
    -------
    Alphas
        Exact for these contexts.

    Notes
    -----
    Whatever is warped, the rules stay lossless with respect to the target's law so warped, if they are given the law
    that the drafts were drawn from. With the same temperature on both, alpha goes to 1 as it grows, and to 0 or 1 as it
    falls to 0: to whether the argmaxes agree; between these it need not be monotone. Truncating the target alone may
    lower alpha, and truncating both may lower it further: two laws that share the mass of their tails may share nothing
    of their heads.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = np.log([0.1, 0.2, 0.3, 0.4]), np.log([0.4, 0.3, 0.2, 0.1])
    >>> rule = Sampling(top_k=2)
    >>> for warped in ("neither", "target", "both"):
    ...     alphas = warped_alphas(rule, target_logits=p, draft_logits=q, warped=warped)
    ...     print(alphas.sampled.round(3))
    0.6
    0.3
    0.0
    """
    checks.one_of("warped", warped, WARPED)
    plain = Sampling()
    p = (sampling if warped in ("target", "both") else plain).probabilities(target_logits, history=history)
    q = (sampling if warped in ("draft", "both") else plain).probabilities(draft_logits, history=history)
    return Alphas(sampled=overlap(p, q), argmax=argmax_overlap(p, q))
