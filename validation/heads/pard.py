"""PARD: mask tokens behind the last pair foresee all depths in one pass."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from validation.heads.head import Head, Setup, State
from validation.heads.parts import Where
from validation.heads.recurrent import Recurrent


class Pard(Recurrent):
    """An EAGLE layer whose states of later depths are replaced by one learned state and one learned embedding.

    References
    ----------
    .. [1] An et al. PARD: Accelerating LLM Inference with Low-Cost Parallel Draft Model Adaptation. 2504.18583.
    .. [2] P-EAGLE: parallel-drafting EAGLE. 2602.01469.
    """

    name = "pard"
    recurrent = False

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.mask_token = nn.Parameter(0.02 * torch.randn(setup.sizes.hidden))
        self.mask_state = nn.Parameter(0.02 * torch.randn(setup.sizes.hidden))

    @property
    def block(self) -> int:
        """One mask per depth but the first."""
        return self.setup.depth - 1

    def open(self, tokens: Tensor, hidden: Tensor, where: Where | None = None) -> State:
        """See `Head.open`."""
        (rows, nodes), (size, width) = tokens.shape, (self.block, hidden.shape[-1])
        every = hidden[:, :, None]
        if size:
            assert where is not None
            masks = self.join(self.mask_token, self.mask_state).expand(rows, nodes * size, width)
            later = self.stack(masks, where).view(rows, nodes, size, width)
            every = torch.cat([every, later.to(every.dtype)], dim=2)
        return State(hidden=every, tokens=tokens)

    def advance(self, tokens: Tensor, state: State, where: Where | None = None) -> State:
        """See `Head.advance`."""
        return Head.advance(self, tokens, state)

    def foreseen(self, state: State) -> Tensor:
        """See `Head.foreseen`."""
        return self.norm(replace(state, hidden=state.hidden[:, :, state.depth]).hidden)
