"""What a drafter is trained for, and what that says about acceptance: bounds, losses with gradients, weights by depth.

Gradients are with respect to the draft's logits z, q = softmax(z), for one context each; [nat] for logits.
"""

from specsim.objectives.bounds import (
    alpha_bound,
    bretagnolle_huber_bound,
    exponential_bound,
    mean_alpha_bound,
    pinsker_bound,
)
from specsim.objectives.likelihood import hybrid, mixed, nla
from specsim.objectives.losses import Loss, LossFunction, forward_kl, reverse_kl, tv
from specsim.objectives.weights import decay_weights, depth_sensitivity, weighted

LOSSES: dict[str, LossFunction] = {
    "forward_kl": forward_kl,
    "reverse_kl": reverse_kl,
    "tv": tv,
    "nla": nla,
    "hybrid": hybrid,
}

__all__ = [
    "LOSSES",
    "Loss",
    "LossFunction",
    "alpha_bound",
    "bretagnolle_huber_bound",
    "decay_weights",
    "depth_sensitivity",
    "exponential_bound",
    "forward_kl",
    "hybrid",
    "mean_alpha_bound",
    "mixed",
    "nla",
    "pinsker_bound",
    "reverse_kl",
    "tv",
    "weighted",
]
