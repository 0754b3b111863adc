"""Who moves the weights: AdamW alone, or Muon for linear layers and AdamW for the rest."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn
from torch.optim import AdamW, Muon, Optimizer

OPTIMIZERS = ("muon", "adamw")
MOMENTS = (0.9, 0.95)


def make_optimizers(head: nn.Module, *, name: str, learning_rate: float, weight_decay: float) -> Sequence[Optimizer]:
    """One or two optimizers that share the head's weights out among them.

    Parameters
    ----------
    head
        Its weights are shared out.
    name
        "adamw", or "muon": matrices of linear layers take steps of equal size in every direction that they can move in;
        embeddings do not, since most of their rows see no token in a step.
    learning_rate, weight_decay
        Of all; Muon's steps are scaled to the size of AdamW's [1].

    References
    ----------
    .. [1] Liu et al. Muon is Scalable for LLM Training. 2502.16982 (the scale of the steps).
    """
    layers = [layer.weight for layer in head.modules() if isinstance(layer, nn.Linear)]
    matrices = layers if name == "muon" else []
    rest = [weight for weight in head.parameters() if all(weight is not matrix for matrix in matrices)]
    shared = {"lr": learning_rate, "weight_decay": weight_decay}
    found: list[Optimizer] = [AdamW(rest, betas=MOMENTS, fused=True, **shared)] if rest else []
    return [*found, *([Muon(matrices, adjust_lr_fn="match_rms_adamw", **shared)] if matrices else [])]
