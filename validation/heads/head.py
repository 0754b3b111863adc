"""Head: what training and drafting ask of a drafter head, with the same forward code for both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specsim import checks
from specsim.errors import InputError
from validation.heads.parts import Output, Sizes, Where


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What a head is built from; stored with its weights.

    Parameters
    ----------
    sizes
        Of the target.
    drafts
        Tokens of the draft vocabulary [1].
    depth
        Most tokens drafted in a round: a limit of parallel heads, the trained depth of the others [1].
    options
        Of the head's class.
    """

    sizes: Sizes
    drafts: int
    depth: int
    options: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.integer("drafts", self.drafts, low=2, high=self.sizes.vocabulary)
        checks.integer("depth", self.depth, low=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What m nodes of each row have come to, ready to say the law of the next token.

    Parameters
    ----------
    hidden
        (B, m, w), or (B, m, K, d) with all depths at once in parallel heads.
    tokens
        (B, m), the last token of each node.
    depth
        Drafted tokens on the way to these nodes [1].
    """

    hidden: Tensor
    tokens: Tensor
    depth: int = 0

    def at(self, rows: Tensor, nodes: Tensor) -> State:
        """The nodes `nodes` (B, m) of rows `rows` (B, 1): what the children of these nodes start from."""
        return replace(self, hidden=self.hidden[rows, nodes], tokens=self.tokens[rows, nodes])


class Head(nn.Module, ABC):
    """Foresees tokens from the target's hidden states ("features").

    With tokens x_0..x_n of a text and features f_0..f_{n-1} known (the last token has not been read by the target),
    `read` takes the pairs (f_i, x_{i+1}) that are new, `open` starts at a pair, `logits` says the law of the token
    behind it, and `advance` goes on to the next token, as often as wanted::

        hidden = head.read(tokens, features, where)      # (B, n): x_{i+1} beside f_i; enters the cache
        state = head.open(last tokens, hidden of the last pairs, where)
        while drafting:
            law = softmax(head.logits(state))            # over head.vocabulary
            state = head.advance(chosen tokens, state, where)

    Positions: pair i stands at i, the j-th of the `block` tokens that `open` puts behind it at i + 1 + j, and the k-th
    `advance` at i + k. Parallel heads know all depths once opened, and neither `advance` nor recurrent heads' `open`
    runs a layer then. What `open` and `advance` put into the cache is to be cut off before the next `read`.

    Parameters
    ----------
    setup
        Sizes and options.
    """

    name: ClassVar[str]
    layers_per_head: ClassVar[int] = 0
    """Layers of the head's cache unless its options say otherwise."""
    known_options: ClassVar[tuple[str, ...]] = ()
    vocabulary: Tensor
    """(D,), the tokens that can be drafted, in rising order."""
    draft_index: Tensor
    """(V,), the place of each token in `vocabulary`; D for those that cannot be drafted."""
    recurrent: ClassVar[bool] = False
    """Whether `advance` runs layers, each time one pass."""
    causal_block: ClassVar[bool] = True
    """Whether the tokens of a block see only those before them."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.setup = setup
        for option, value in setup.options.items():
            checks.integer(checks.one_of(f"option of {self.name}", option, self.known_options), value, low=1)
        self.register_buffer("vocabulary", torch.zeros(setup.drafts, dtype=torch.int64))
        self.register_buffer("embedding", torch.empty(0), persistent=False)
        self.output = Output()
        self.register_buffer("draft_index", torch.empty(0, dtype=torch.int64), persistent=False)

    @classmethod
    def feature_layers(cls, layers: int) -> tuple[int, ...]:
        """Which hidden states of a target with `layers` layers the head starts from; the last one by default."""
        return (layers,)

    @property
    def cache_layers(self) -> int:
        """Layers that the head's cache needs; 0 where it keeps nothing [1]."""
        return self.setup.options.get("layers", self.layers_per_head)

    @property
    def block(self) -> int:
        """Tokens that `open` runs the layers over, per node [1]."""
        return 0

    def passes(self, gamma: int) -> int:
        """Runs over the head's layers for a chain of `gamma` tokens, `read` included [1]."""
        return gamma if self.recurrent else int(gamma > 0)

    def attach(self, model: Any) -> Head:
        """Share the embedding and the draft vocabulary's rows of the output matrix with the target.

        Raises
        ------
        InputError
            A target of other sizes.
        """
        embedding, output = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        sizes = self.setup.sizes
        if embedding.shape != (sizes.vocabulary, sizes.hidden) or output.shape != embedding.shape:
            raise InputError(
                f"target must have {sizes.vocabulary} tokens of width {sizes.hidden} as the head {self.name} has, "
                f"got {tuple(embedding.shape)} and {tuple(output.shape)}"
            )
        like = self.vocabulary.device
        self.embedding = embedding.detach().to(like, self.dtype)
        self.output.weight = output.detach()[self.vocabulary.to(output.device)].to(like, self.dtype)
        self.draft_index = torch.full((sizes.vocabulary,), self.setup.drafts, device=like)
        self.draft_index[self.vocabulary] = torch.arange(self.setup.drafts, device=like)
        return self

    def start_from(self, model: Any) -> None:
        """Take weights of the target to start training from, where that helps; random ones otherwise."""

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return next(self.parameters()).dtype

    def embed(self, tokens: Tensor) -> Tensor:
        """The target's embedding of any tokens of its vocabulary."""
        return functional.embedding(tokens, self.embedding)

    @abstractmethod
    def read(self, tokens: Tensor, features: Tensor, where: Where) -> Tensor:
        """Take pairs into the cache.

        Parameters
        ----------
        tokens
            (B, n), x_{i+1}.
        features
            (B, n, F), f_i, the hidden states of `feature_layers` side by side.
        where
            Where the pairs stand.

        Returns
        -------
        Tensor
            (B, n, w), what `open` starts from.
        """

    def open(self, tokens: Tensor, hidden: Tensor, where: Where | None = None) -> State:
        """Start at m pairs: their tokens (B, m), what `read` gave for them (B, m, w), and where the block stands."""
        return State(hidden=hidden, tokens=tokens)

    def advance(self, tokens: Tensor, state: State, where: Where | None = None) -> State:
        """Go on with one chosen token (B, m) behind each node of `state`."""
        return replace(state, tokens=tokens, depth=state.depth + 1)

    def logits(self, state: State) -> Tensor:
        """(B, m, D) over the draft vocabulary, for the token behind each node."""
        found: Tensor = self.output(self.foreseen(state))
        return found

    @abstractmethod
    def foreseen(self, state: State) -> Tensor:
        """(B, m, d), what stands in for the target's last hidden state."""
