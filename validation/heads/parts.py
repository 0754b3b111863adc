"""What heads are built of: sizes taken from the target, a stack of Llama layers, and where a pass stands."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import (
    LlamaDecoderLayer,
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
    apply_rotary_pos_emb,
)

from specsim.errors import InputError


class Sizes(NamedTuple):
    """The target's sizes that a head shares [1]."""

    vocabulary: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    layers: int
    rope_theta: float = 10_000.0
    norm_epsilon: float = 1e-6

    @classmethod
    def of(cls, config: Any) -> Sizes:
        """The sizes of a target's configuration.

        Raises
        ------
        InputError
            A configuration without attention heads or layers of the usual names.

        Examples
        --------
        >>> from validation.decoder.tiny import tiny_model
        >>> Sizes.of(tiny_model()[0].config)[:7]
        (257, 64, 128, 4, 2, 16, 4)
        """
        text = config.get_text_config(decoder=True)
        try:
            heads, hidden = text.num_attention_heads, text.hidden_size
            return cls(
                vocabulary=text.vocab_size,
                hidden=hidden,
                intermediate=getattr(text, "intermediate_size", None) or 4 * hidden,
                heads=heads,
                kv_heads=getattr(text, "num_key_value_heads", None) or heads,
                head_size=getattr(text, "head_dim", None) or hidden // heads,
                layers=text.num_hidden_layers,
                rope_theta=(getattr(text, "rope_parameters", None) or {}).get("rope_theta", 10_000.0),
                norm_epsilon=getattr(text, "rms_norm_eps", None) or 1e-6,
            )
        except AttributeError as error:
            raise InputError(f"target must state its sizes, its configuration has {error}") from error


class Where(NamedTuple):
    """Where the tokens of a pass stand and what they see."""

    positions: Tensor
    """(B, n), place in the text."""
    visible: Tensor | None = None
    """(B or 1, 1, n, S) of bool over the cache's slots, the new ones included; None lets each token see those before it
    (only without anything cached, or for one token that sees everything)."""
    cache: Any = None
    """A transformers cache with a layer for each of the head's; None keeps nothing."""


class Stack(nn.Module):
    """Llama layers and their rotary embedding.

    Notes
    -----
    The layer is Llama's for every target, as in EAGLE's published heads: what a head shares with its target are the
    width, the embedding and the output matrix, not the target's kind of attention.
    """

    def __init__(self, sizes: Sizes, *, layers: int = 1) -> None:
        super().__init__()
        config = LlamaConfig(
            vocab_size=1,
            hidden_size=sizes.hidden,
            intermediate_size=sizes.intermediate,
            num_hidden_layers=layers,
            num_attention_heads=sizes.heads,
            num_key_value_heads=sizes.kv_heads,
            head_dim=sizes.head_size,
            rms_norm_eps=sizes.norm_epsilon,
            rope_parameters={"rope_type": "default", "rope_theta": sizes.rope_theta},
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=None,
        )
        config._attn_implementation = "sdpa"
        self.config = config
        self.layers = nn.ModuleList(LlamaDecoderLayer(config, layer_idx=index) for index in range(layers))
        self._rotary = [LlamaRotaryEmbedding(config=config)]  # in a list, so that no cast rounds its frequencies

    def copy_layers(self, model: Any) -> bool:
        """Take every weight from layers of a target, the last one among them; False where its layers are others."""
        theirs = getattr(model.get_decoder(), "layers", None)
        if theirs is None or _shapes(self.layers[0]) != _shapes(theirs[0]):
            return False
        for layer, index in zip(self.layers, _evenly(len(theirs), count=len(self.layers)), strict=True):
            layer.load_state_dict(theirs[index].state_dict())
        return True

    def rotary(self, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines (B, n, head size) of positions (B, n), in the type of `hidden`."""
        cos, sin = self._rotary[0](hidden, position_ids=positions)
        return cos, sin

    def forward(self, hidden: Tensor, where: Where) -> Tensor:
        """Hidden states (B, n, d) after all layers."""
        rotary = self.rotary(hidden, where.positions)
        for layer in self.layers:
            hidden = layer(
                hidden,
                attention_mask=where.visible,
                position_embeddings=rotary,
                cache=where.cache,
                use_cache=where.cache is not None,
            )
        return hidden

    def inject(self, context: Tensor, where: Where) -> None:
        """Put keys and values of `context` (B, n, d) into every layer's cache, without any layer running over it."""
        cos, sin = self.rotary(context, where.positions)
        for index, layer in enumerate(self.layers):
            attention = layer.self_attn
            shape = (*context.shape[:2], -1, attention.head_dim)
            keys = attention.k_proj(context).view(shape).transpose(1, 2)
            values = attention.v_proj(context).view(shape).transpose(1, 2)
            _, keys = apply_rotary_pos_emb(keys, keys, cos, sin)
            where.cache.update(keys, values, index)


def _shapes(module: nn.Module) -> dict[str, torch.Size]:
    return {name: weight.shape for name, weight in module.state_dict().items()}


def _evenly(layers: int, *, count: int) -> list[int]:
    """Indices of `count` layers from the first to the last; the last one alone."""
    return [round((layers - 1) * place / (count - 1)) for place in range(count)] if count > 1 else [layers - 1]


def norm(sizes: Sizes) -> nn.Module:
    """A root-mean-square norm of the target's width."""
    return LlamaRMSNorm(sizes.hidden, eps=sizes.norm_epsilon)


class Output(nn.Module):
    """The rows of the target's output matrix that a head can draft; neither trained nor stored with the head."""

    bias = None
    weight: Tensor
    """(D, d)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.empty(0), persistent=False)

    def forward(self, foreseen: Tensor) -> Tensor:
        """Logits (..., D) of what stands in for the target's last hidden state (..., d)."""
        flat = functional.linear(foreseen.flatten(0, -2), self.weight)  # one product; torch would copy a shared matrix
        return flat.view(*foreseen.shape[:-1], -1)


class Join(nn.Module):
    """Two or more states of width d side by side, each normed, brought back to width d.

    Notes
    -----
    Without norms the widest part drowns the others: SmolLM2's embeddings vary by 0.14, its last hidden states by 1.9,
    and single entries of its middle layers reach 25,000 [1]_.

    References
    ----------
    .. [1] Sun et al. Massive Activations in Large Language Models. 2402.17762.
    """

    def __init__(self, sizes: Sizes, *, parts: int = 2) -> None:
        super().__init__()
        self.norms = nn.ModuleList(norm(sizes) for _ in range(parts))
        self.project = nn.Linear(parts * sizes.hidden, sizes.hidden, bias=False)

    def forward(self, *states: Tensor) -> Tensor:
        """(..., d) from (..., d) of each part."""
        return self.project(torch.cat([scale(state) for scale, state in zip(self.norms, states, strict=True)], dim=-1))


def spread(layers: int, *, count: int) -> tuple[int, ...]:
    """`count` hidden states of a target with `layers` layers, evenly from a low to a high one.

    Examples
    --------
    >>> spread(30, count=3), spread(30, count=5), spread(32, count=3)
    ((2, 15, 27), (2, 8, 15, 21, 27), (2, 16, 29))
    """
    low, high = layers // 15, layers - max(1, layers // 10)
    return tuple(int(low + (high - low) * place / (count - 1) + 0.5) for place in range(count))
