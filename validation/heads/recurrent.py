"""Recurrent: heads that read their own last state beside each drafted token."""

from __future__ import annotations

from torch import Tensor, nn

from validation.heads.head import Head, Setup, State
from validation.heads.parts import Join, Stack, Where, norm


class Recurrent(Head):
    """A decoder layer over (state, next token); where the text is known, the state comes from the target.

    Notes
    -----
    True pairs and drafted ones run through the same layer: `read` and `advance` differ in where the state comes from.
    """

    recurrent = True
    layers_per_head = 1
    known_options = ("layers",)
    normed = True
    """Whether a norm stands between the state and the output matrix."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.join = Join(setup.sizes)
        self.stack = Stack(setup.sizes, layers=self.cache_layers)
        self.norm = norm(setup.sizes) if self.normed else nn.Identity()

    def fuse(self, features: Tensor) -> Tensor:
        """The state (B, n, d) that features (B, n, F) stand for."""
        return features

    def read(self, tokens: Tensor, features: Tensor, where: Where) -> Tensor:
        """See `Head.read`."""
        return self._step(tokens, self.fuse(features), where)

    def advance(self, tokens: Tensor, state: State, where: Where | None = None) -> State:
        """See `Head.advance`."""
        assert where is not None
        return State(hidden=self._step(tokens, state.hidden, where), tokens=tokens, depth=state.depth + 1)

    def foreseen(self, state: State) -> Tensor:
        """See `Head.foreseen`."""
        return self.norm(state.hidden)

    def _step(self, tokens: Tensor, states: Tensor, where: Where) -> Tensor:
        return self.stack(self.join(self.embed(tokens), states), where)
