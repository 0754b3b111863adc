"""A twin of a model for passes over few tokens on a CPU: weights laid out anew, fewer steps."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.models.llama.modeling_llama import (
    LlamaAttention,
    LlamaDecoderLayer,
    LlamaMLP,
    LlamaModel,
    LlamaRMSNorm,
)

from specsim.errors import InputError
from validation.decoder.products import Layout, can_lay_out, laid_out
from validation.decoder.quantised import EightBitLinear, FourBitLinear, is_quantised
from validation.heads.parts import Output

_HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
_HOOKED = "_output_capturing_hooks_installed"
_known: WeakKeyDictionary[nn.Module, nn.Module] = WeakKeyDictionary()


def packed(hf_model: Any) -> Any:
    """A twin of the model that reads packed copies of the weights; itself where that cannot be had.

    Parameters
    ----------
    hf_model
        A Hugging Face model, or a part of one, whose weights do not change any more. It needs its own size in memory
        once more, twice more in float32 on Intel's processors; see `products`.

    Returns
    -------
    model
        Of the same class, sharing everything but the packed copies and the model's forward hooks; the same twin for the
        same model, however its weights have changed since.

    Notes
    -----
    torch multiplies a few rows by a plain weight at a third to a half of the memory's speed. While weights stream by,
    the caches hold nothing else, so each step of a layer costs some ten microseconds, however small: products that
    read the same input become one, sums are part of products, attention runs over grouped heads without copying keys
    and values for each, norms and rotations take few steps. Sums round in another order than in the model.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> model, _ = tiny_model()
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> bool(torch.allclose(packed(model)(ids).logits, model(ids).logits, atol=1e-4))
    True
    """
    return _twin(hf_model) if _is_possible(hf_model) else hf_model


class PackedLinear(nn.Module):
    """The product with one weight, or with several at once, from a copy that is read faster."""

    def __init__(self, *linears: Any) -> None:
        super().__init__()
        biases = [linear.bias for linear in linears if linear.bias is not None]
        self._bias = torch.cat([bias.detach() for bias in biases]) if biases else None
        self._layout = _layout(linears)

    def forward(self, input: Tensor, added: Tensor | None = None) -> Tensor:
        """(..., n) of all weights, one behind the other, and what is added to them."""
        return self._layout.product(input, self._bias, added)

    __call__ = forward  # nobody hooks a copy, and each layer calls four


class PackedNorm(nn.Module):
    """Llama's norm in five steps."""

    def __init__(self, norm: LlamaRMSNorm) -> None:
        super().__init__()
        self._weight = norm.weight.detach()
        self._epsilon = torch.tensor(norm.variance_epsilon, dtype=torch.float32)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """As `LlamaRMSNorm`."""
        size = torch.linalg.vector_norm(hidden_states, dim=-1, keepdim=True, dtype=torch.float32)
        scale = torch.addcmul(self._epsilon, size, size, value=1 / hidden_states.shape[-1]).rsqrt_()
        return (hidden_states * scale * self._weight).to(hidden_states.dtype)

    __call__ = forward


class PackedLayer(LlamaDecoderLayer):
    """Llama's layer with few steps, each sum a part of the product before it."""

    def __init__(self, layer: LlamaDecoderLayer) -> None:
        nn.Module.__init__(self)
        self.self_attn, self._mlp = _Attention(layer.self_attn), _Mlp(layer.mlp)
        self._before_attention, self._before_mlp = _twin(layer.input_layernorm), _twin(layer.post_attention_layernorm)

    def forward(
        self,
        hidden_states: Tensor,
        *,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
        cache: Any = None,
        **others: Any,
    ) -> Tensor:
        """As `LlamaDecoderLayer`; without a mask each token sees those before it."""
        where = (position_embeddings, attention_mask, cache)
        between = self.self_attn(self._before_attention(hidden_states), *where, added=hidden_states)
        return self._mlp(self._before_mlp(between), added=between)


class PackedDecoder(LlamaModel):
    """Llama's layers one after another, without what transformers does around them."""

    def __init__(self, model: LlamaModel) -> None:
        nn.Module.__init__(self)
        self.config = model.config
        self._modules = {name: _twin(part) for name, part in model.named_children()}

    def forward(
        self,
        input_ids: Tensor | None = None,
        *,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool = False,
    ) -> BaseModelOutputWithPast:
        """As `LlamaModel`, but it makes no cache, and takes masks of shape (B or 1, 1, n, S) only."""
        if attention_mask is not None and attention_mask.dim() != 4:
            raise InputError(f"attention_mask must have 4 axes, got {attention_mask.dim()}")
        hidden: Tensor = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        if position_ids is None:
            position_ids = torch.arange(hidden.shape[1])[None] + (0 if cache is None else cache.get_seq_length())
        rotary, states = self.rotary_emb(hidden, position_ids=position_ids), [hidden]
        for layer in self.layers:
            hidden = layer.forward(hidden, position_embeddings=rotary, attention_mask=attention_mask, cache=cache)
            states.append(hidden)
        states[-1] = hidden = self.norm(hidden)
        kept = tuple(states) if output_hidden_states else None
        return BaseModelOutputWithPast(last_hidden_state=hidden, cache=cache, hidden_states=kept)


class _Attention:
    """Llama's attention with one product for queries, keys and values, and the queries of a group side by side."""

    def __init__(self, attention: LlamaAttention) -> None:
        self._qkv = PackedLinear(attention.q_proj, attention.k_proj, attention.v_proj)
        self._output = PackedLinear(attention.o_proj)
        self._layer, self._scaling = attention.layer_idx, attention.scaling
        self._group = attention.num_key_value_groups
        self.head_dim = attention.head_dim
        if isinstance(attention.k_proj, nn.Linear):  # for `inject`, which heads call; not kept of quantised copies
            self.k_proj, self.v_proj = attention.k_proj, attention.v_proj
        self._kv_heads = attention.k_proj.out_features // self.head_dim

    def __call__(
        self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor | None, cache: Any, *, added: Tensor
    ) -> Tensor:
        rows, tokens, _ = x.shape
        heads = self._qkv(x).view(rows, tokens, -1, self.head_dim).transpose(1, 2)
        turned, values = _turned(heads[:, : -self._kv_heads], *rotary), heads[:, -self._kv_heads :]
        queries, keys = turned[:, : -self._kv_heads], turned[:, -self._kv_heads :]
        if cache is not None:
            keys, values = cache.update(keys, values, self._layer)
        if mask is None and tokens > 1:
            mask = torch.ones(tokens, keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - tokens)[None, None]
        if mask is not None and self._group > 1 and tokens > 1:
            mask = _of_pass(mask, _repeated, self._group)
        grouped = queries.reshape(rows, self._kv_heads, self._group * tokens, self.head_dim)
        seen = functional.scaled_dot_product_attention(grouped, keys, values, mask, scale=self._scaling)
        joined = seen.reshape(rows, self._kv_heads * self._group, tokens, self.head_dim).transpose(1, 2)
        return self._output(joined.reshape(rows, tokens, -1), added)


class _Mlp:
    """Llama's gated layer with one product for gate and input."""

    def __init__(self, mlp: LlamaMLP) -> None:
        self._gate_up, self._down = PackedLinear(mlp.gate_proj, mlp.up_proj), PackedLinear(mlp.down_proj)
        self._act = mlp.act_fn

    def __call__(self, x: Tensor, *, added: Tensor) -> Tensor:
        gate, up = self._gate_up(x).chunk(2, dim=-1)
        return self._down(self._act(gate).mul_(up), added)


def _turned(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of heads (B, h, n, size)."""
    swapped = heads.roll(heads.shape[-1] // 2, dims=-1)
    return torch.addcmul(heads * cos[:, None], swapped, _of_pass(sin, _signed))


def _signed(sin: Tensor) -> Tensor:
    low, high = sin.chunk(2, dim=-1)
    return torch.cat((-low, high), dim=-1)[:, None]


def _repeated(mask: Tensor, group: int) -> Tensor:
    return mask.repeat(1, 1, group, 1)


_made_of: dict[Callable[..., Tensor], tuple[ref[Tensor], tuple[int, ...], Tensor]] = {}


def _of_pass(given: Tensor, make: Callable[..., Tensor], *options: int) -> Tensor:
    """What is made of a tensor that all layers of a pass are given, made once and forgotten with it."""
    held = _made_of.get(make)
    if held is None or held[0]() is not given or held[1] != options:
        forget = ref(given, lambda gone: _made_of.pop(make, None))
        held = _made_of[make] = (forget, options, make(given, *options))
    return held[2]


def _layout(linears: Sequence[Any]) -> Layout:
    kind = type(linears[0])
    if kind in _QUANTISED:
        found: Layout = kind.laid_out(linears)
        return found
    weight = torch.cat([linear.weight.detach() for linear in linears]) if len(linears) > 1 else linears[0].weight
    return laid_out(weight.detach())


_QUANTISED = (EightBitLinear, FourBitLinear)
_PACKED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    nn.Linear: PackedLinear,
    EightBitLinear: PackedLinear,
    FourBitLinear: PackedLinear,
    Output: PackedLinear,
    LlamaDecoderLayer: PackedLayer,
    LlamaModel: PackedDecoder,
    LlamaRMSNorm: PackedNorm,
}


def _is_possible(model: nn.Module) -> bool:
    kinds = {(weight.device, weight.dtype) for weight in model.parameters()}
    if len(kinds) != 1:
        return False
    device, dtype = kinds.pop()
    return can_lay_out(device, dtype) or (device.type == "cpu" and is_quantised(model))


def _is_known(module: nn.Module) -> bool:
    """Whether it is made of the parts that are copied."""
    if isinstance(module, _QUANTISED):
        return module.can_be_laid_out
    if isinstance(module, nn.Linear | Output):
        return can_lay_out(module.weight.device, module.weight.dtype)
    if isinstance(module, LlamaModel):
        layers = module.layers
        known = all(type(layer) is LlamaDecoderLayer and _is_known(layer) for layer in layers)
        return known and len(layers) <= module.config.num_hidden_layers
    if not isinstance(module, LlamaDecoderLayer):
        return True
    attention, mlp = module.self_attn, module.mlp
    parts = type(attention) is LlamaAttention and type(mlp) is LlamaMLP
    if not parts or attention.config._attn_implementation != "sdpa":
        return False
    together = ((attention.q_proj, attention.k_proj, attention.v_proj), (mlp.gate_proj, mlp.up_proj))
    return all(map(_are_alike, (*together, (attention.o_proj,), (mlp.down_proj,))))


def _are_alike(linears: Sequence[nn.Module]) -> bool:
    """Whether one layout can hold them."""
    kinds = {type(linear) for linear in linears}
    return len(kinds) == 1 and kinds <= {nn.Linear, *_QUANTISED} and all(map(_is_known, linears))


def _twin(module: nn.Module) -> nn.Module:
    """The module with its parts packed, each once, whichever models share it."""
    if module not in _known:
        _known[module] = _made(module)
    return _known[module]


def _made(module: nn.Module) -> nn.Module:
    if type(module) in _PACKED and _is_known(module):
        return _PACKED[type(module)](module)
    twin = copy.copy(module)
    twin._modules = {name: None if part is None else _twin(part) for name, part in module._modules.items()}
    twin.__dict__ |= {name: OrderedDict() for name in _HOOKS}  # transformers puts its own on each model, once
    twin.__dict__.pop(_HOOKED, None)
    return twin
