"""How far a draft law is from the target's: the losses that heads are trained with.

Each takes the draft's logits (..., D) over the draft vocabulary and the target's probabilities (..., D) of the same
tokens, which sum to less than 1 where the target wants a token that cannot be drafted, and gives (...).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor], Tensor]

FLOOR = 1e-8  # of probabilities whose logarithm is taken
HYBRID_RATE = 3.0  # eta of [1]


def overlap(logits: Tensor, target: Tensor) -> Tensor:
    """alpha: the sum of min(p, q), exact also for tokens outside of the draft vocabulary, whose q is 0.

    Examples
    --------
    >>> overlap(torch.zeros(2), torch.tensor([0.7, 0.1]))
    tensor(0.6000)
    """
    return torch.minimum(functional.softmax(logits, dim=-1), target).sum(-1)


def ce(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of the draft law under the target's."""
    return -(target * functional.log_softmax(logits, dim=-1)).sum(-1)


def kl(logits: Tensor, target: Tensor) -> Tensor:
    """Kullback-Leibler divergence from target to draft over the draft vocabulary; its gradient is that of `ce`."""
    return ce(logits, target) + torch.xlogy(target, target).sum(-1)


def reverse_kl(logits: Tensor, target: Tensor) -> Tensor:
    """Kullback-Leibler divergence from draft to target; a target probability counts as 1e-8 at least."""
    log_q = functional.log_softmax(logits, dim=-1)
    return (log_q.exp() * (log_q - target.clamp_min(FLOOR).log())).sum(-1)


def tv(logits: Tensor, target: Tensor) -> Tensor:
    """Total variation, 1 - alpha; half the L1 distance."""
    return 1 - overlap(logits, target)


def lk_nla(logits: Tensor, target: Tensor) -> Tensor:
    """Negative logarithm of alpha [1]_: the gradient of `tv`, larger where little overlaps.

    References
    ----------
    .. [1] LK losses: direct acceptance-rate optimisation for speculative decoding. 2602.23881.
    """
    return -overlap(logits, target).clamp_min(FLOOR).log()


def lk_hybrid(logits: Tensor, target: Tensor) -> Tensor:
    """Lambda KL + (1 - lambda) TV with lambda = exp(-3 alpha), alpha held fixed [1]_: KL far off, TV close by.

    References
    ----------
    .. [1] LK losses: direct acceptance-rate optimisation for speculative decoding. 2602.23881.
    """
    alpha = overlap(logits, target)
    share = torch.exp(-HYBRID_RATE * alpha.detach())
    return share * kl(logits, target) + (1 - share) * (1 - alpha)


LOSSES: dict[str, Loss] = {
    "ce": ce,
    "kl": kl,
    "reverse_kl": reverse_kl,
    "tv": tv,
    "lk_nla": lk_nla,
    "lk_hybrid": lk_hybrid,
}


def depth_weights(kind: str, alphas: Tensor, *, decay: float) -> Tensor:
    """What the loss at each depth counts.

    Parameters
    ----------
    kind
        "equal"; "decay", exp(-(k - 1) / decay); or "gain", the derivative of the expected tokens of a round by the
        acceptance at depth k, sum over m >= k of s_m, divided by alpha_k.
    alphas
        (K,) conditional acceptance by depth, as it is now [1].
    decay
        Of "decay" [1].

    Returns
    -------
    Tensor
        (K,), the first of them 1.

    Examples
    --------
    >>> depth_weights("gain", torch.tensor([0.5, 0.5]), decay=4.0)
    tensor([1.0000, 0.3333])
    """
    places = torch.arange(len(alphas), dtype=alphas.dtype, device=alphas.device)
    if kind == "equal":
        return torch.ones_like(alphas)
    if kind == "decay":
        return torch.exp(-places / decay)
    survival = alphas.clamp_min(0.01).cumprod(0)
    gains = survival.flip(0).cumsum(0).flip(0) / alphas.clamp_min(0.01)
    return gains / gains[0]


DEPTH_WEIGHTS = ("equal", "decay", "gain")
