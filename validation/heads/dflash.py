"""DFlash: a block of mask tokens, each seeing the whole block and the target's features, filled in one pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from validation.heads.head import Head, Setup, State
from validation.heads.parts import Join, Stack, Where, norm, spread

FEATURES = 5  # hidden states that are fused, as in the paper


class DFlash(Head):
    """Fused features enter every layer as keys and values; the block's anchor is the last known token.

    Notes
    -----
    Differs from the published drafters in that each hidden state is normed before they are fused.

    References
    ----------
    .. [1] DFlash: Block Diffusion for Flash Speculative Decoding. 2602.06036.
    """

    name = "dflash"
    layers_per_head = 2
    known_options = ("layers",)
    causal_block = False
    anchored = True
    """Whether the anchor's own place foresees nothing, and the masks foresee themselves."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.fusion = Join(setup.sizes, parts=FEATURES)
        self.context_norm = norm(setup.sizes)
        self.stack = Stack(setup.sizes, layers=self.cache_layers)
        self.norm = norm(setup.sizes)
        self.mask_token = nn.Parameter(0.02 * torch.randn(setup.sizes.hidden))

    @classmethod
    def feature_layers(cls, layers: int) -> tuple[int, ...]:
        """Five, from low to high."""
        return spread(layers, count=FEATURES)

    @property
    def block(self) -> int:
        """Anchor and masks."""
        return self.setup.depth + int(self.anchored)

    def read(self, tokens: Tensor, features: Tensor, where: Where) -> Tensor:
        """See `Head.read`; no layer runs over the text, its keys and values alone are kept."""
        self.stack.inject(self.context_norm(self.fusion(*features.chunk(FEATURES, dim=-1))), where)
        return self.embed(tokens)

    def open(self, tokens: Tensor, hidden: Tensor, where: Where | None = None) -> State:
        """See `Head.open`."""
        assert where is not None
        rows, nodes, width = hidden.shape
        masks = self.mask_token.to(hidden.dtype).expand(rows, nodes, self.block - 1, width)
        block = torch.cat([hidden[:, :, None], masks], dim=2).view(rows, nodes * self.block, width)
        filled = self.norm(self.stack(block, where)).view(rows, nodes, self.block, width)
        return State(hidden=filled[:, :, int(self.anchored) :], tokens=tokens)

    def foreseen(self, state: State) -> Tensor:
        """See `Head.foreseen`."""
        return state.hidden[:, :, state.depth]
