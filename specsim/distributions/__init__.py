"""The laws of one token: from logits to probabilities, how two laws overlap, and drawing from them.

Shapes: V is the vocabulary, always the last axis; `(...)` are any leading axes, which broadcast.
"""

from specsim.distributions.draw import sample
from specsim.distributions.history import History
from specsim.distributions.law import (
    argmax_overlap,
    entropy,
    kl_divergence,
    laws,
    one_hot,
    overlap,
    total_variation,
)
from specsim.distributions.logits import LOWEST_TEMPERATURE, softmax
from specsim.distributions.sampling import Sampling
from specsim.distributions.warped import Alphas, warped_alphas

__all__ = [
    "LOWEST_TEMPERATURE",
    "Alphas",
    "History",
    "Sampling",
    "argmax_overlap",
    "entropy",
    "kl_divergence",
    "laws",
    "one_hot",
    "overlap",
    "sample",
    "softmax",
    "total_variation",
    "warped_alphas",
]
