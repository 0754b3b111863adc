"""Hydra: a small network per depth, each of which knows the tokens drafted before it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from validation.heads.head import Head, Setup, State
from validation.heads.parts import Where


class Hydra(Head):
    """The last feature and the embeddings of all tokens since, side by side, through one hidden layer per depth.

    References
    ----------
    .. [1] Ankner et al. Hydra: Sequentially-Dependent Draft Heads for Medusa Decoding. 2402.05109.
    """

    name = "hydra"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        width = setup.sizes.hidden
        self.inputs = nn.ModuleList(nn.Linear((depth + 2) * width, width) for depth in range(setup.depth))
        self.outputs = nn.ModuleList(nn.Linear(width, width) for _ in range(setup.depth))

    def passes(self, gamma: int) -> int:
        """One small network per token."""
        return gamma

    def read(self, tokens: Tensor, features: Tensor, where: Where) -> Tensor:
        """See `Head.read`; nothing is cached."""
        return torch.cat([features, self.embed(tokens)], dim=-1)

    def advance(self, tokens: Tensor, state: State, where: Where | None = None) -> State:
        """See `Head.advance`."""
        longer = torch.cat([state.hidden, self.embed(tokens)], dim=-1)
        return replace(state, hidden=longer, tokens=tokens, depth=state.depth + 1)

    def foreseen(self, state: State) -> Tensor:
        """See `Head.foreseen`."""
        inner = functional.silu(self.inputs[state.depth](state.hidden))
        return state.hidden[..., : self.setup.sizes.hidden] + self.outputs[state.depth](inner)
