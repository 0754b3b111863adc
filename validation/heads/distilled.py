"""A small language model distilled from its target: some of the target's layers, trained on."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from specsim.errors import InputError
from validation.heads.head import Head, Setup, State
from validation.heads.parts import Stack, Where, norm


class Distilled(Head):
    """Sees tokens alone; embedding and output matrix are the target's, layers start as some of the target's.

    Notes
    -----
    As a head it drafts from the reduced vocabulary. `as_model` makes an ordinary model of it, which other decoders take
    as an independent drafter.

    References
    ----------
    .. [1] Sanh, Debut, Chaumond, Wolf. DistilBERT. 1910.01108 (layers taken from the teacher).
    .. [2] Zhou et al. DistillSpec: Improving Speculative Decoding via Knowledge Distillation. 2310.08461.
    """

    name = "distilled"
    recurrent = True
    layers_per_head = 4
    known_options = ("layers",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.stack = Stack(setup.sizes, layers=self.cache_layers)
        self.norm = norm(setup.sizes)

    def start_from(self, model: Any) -> None:
        """See `Head.start_from`."""
        if self.stack.copy_layers(model):
            self.norm.load_state_dict(model.get_decoder().norm.state_dict())

    def read(self, tokens: Tensor, features: Tensor, where: Where) -> Tensor:
        """See `Head.read`; features are not looked at."""
        return self.stack(self.embed(tokens), where)

    def advance(self, tokens: Tensor, state: State, where: Where | None = None) -> State:
        """See `Head.advance`."""
        assert where is not None
        return State(hidden=self.stack(self.embed(tokens), where), tokens=tokens, depth=state.depth + 1)

    def foreseen(self, state: State) -> Tensor:
        """See `Head.foreseen`."""
        return self.norm(state.hidden)


def as_model(head: Distilled, target: Any) -> Any:
    """A model of the target's class with the head's layers, the target's embedding and its whole vocabulary.

    Parameters
    ----------
    head
        Of any number of layers.
    target
        The Hugging Face model that it was distilled from; it is not changed.

    Raises
    ------
    InputError
        A target that is no Llama, whose layers the head's are not.
    """
    if target.config.model_type != "llama":
        raise InputError(f"target must be a Llama to make a model of distilled layers, got {target.config.model_type}")
    config = copy.deepcopy(target.config)
    config.num_hidden_layers = len(head.stack.layers)
    config.rope_parameters = dict(head.stack.config.rope_parameters)
    config.attention_bias, config.mlp_bias, config.hidden_act = False, False, head.stack.config.hidden_act
    model = AutoModelForCausalLM.from_config(config, dtype=target.dtype)
    with torch.no_grad():
        model.get_input_embeddings().weight.copy_(target.get_input_embeddings().weight)
        model.get_output_embeddings().weight.copy_(target.get_output_embeddings().weight)
        for mine, theirs in zip(model.get_decoder().layers, head.stack.layers, strict=True):
            mine.load_state_dict(theirs.state_dict())
        model.get_decoder().norm.load_state_dict(head.norm.state_dict())
    return model.eval()
