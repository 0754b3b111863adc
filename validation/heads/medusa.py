"""Medusa: a residual block per depth on the last feature, blind to the tokens in between."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from validation.heads.head import Head, Setup, State
from validation.heads.parts import Where


class Medusa(Head):
    """Depth k's law is that of the (k+2)-th token after the feature, whatever stands before it.

    Notes
    -----
    Differs from the published heads in that all depths share the target's output matrix.

    References
    ----------
    .. [1] Cai et al. Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads. 2401.10774.
    """

    name = "medusa"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        width = setup.sizes.hidden
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(setup.depth))
        self.outputs = nn.ModuleList(nn.Linear(width, width) for _ in range(setup.depth))

    def read(self, tokens: Tensor, features: Tensor, where: Where) -> Tensor:
        """See `Head.read`; nothing is cached."""
        return features

    def foreseen(self, state: State) -> Tensor:
        """See `Head.foreseen`."""
        inner = functional.silu(self.blocks[state.depth](state.hidden))
        return state.hidden + self.outputs[state.depth](inner)
