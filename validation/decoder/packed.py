"""A twin of a model for passes over few tokens on a CPU: weights laid out as oneDNN reads them, fewer steps."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaMLP, LlamaRMSNorm

from validation.heads.parts import Output

_TOKENS = 8  # of the passes that the layout is chosen for
_DTYPES = (torch.float32, torch.bfloat16)
_HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
_HOOKED = "_output_capturing_hooks_installed"
_known: WeakKeyDictionary[nn.Module, nn.Module] = WeakKeyDictionary()


def packed(hf_model: Any) -> Any:
    """A twin of the model that reads packed copies of the weights; itself where that cannot be had.

    Parameters
    ----------
    hf_model
        A Hugging Face model, or a part of one, whose weights do not change any more. It needs its own size in memory
        once more.

    Returns
    -------
    model
        Of the same class, sharing everything but the packed copies and the model's forward hooks; the same twin for the
        same model, however its weights have changed since.

    Notes
    -----
    torch multiplies a few rows by a plain weight at a third to a half of the memory's speed. In Llama's layers the
    products that read the same input become one, attention runs over grouped heads without copying keys and values for
    each, and norms are single steps. Sums round in another order than in the model.

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
    """The product with one weight, or with several at once, from a packed copy."""

    def __init__(self, *linears: nn.Linear | Output) -> None:
        super().__init__()
        weight = torch.cat([linear.weight.detach() for linear in linears]) if len(linears) > 1 else linears[0].weight
        biases = [linear.bias for linear in linears if linear.bias is not None]
        self.bias = torch.cat([bias.detach() for bias in biases]) if biases else None
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _TOKENS)

    def forward(self, input: Tensor) -> Tensor:
        """(..., n) of all weights, one behind the other."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(input, self.packed, self.bias, "none", [], "")
        return product


class PackedMlp(nn.Module):
    """Llama's gated layer with one product for gate and input."""

    def __init__(self, mlp: LlamaMLP) -> None:
        super().__init__()
        self.gate_up = PackedLinear(mlp.gate_proj, mlp.up_proj)
        self.down = PackedLinear(mlp.down_proj)
        self.act = mlp.act_fn

    def forward(self, x: Tensor) -> Tensor:
        """As `LlamaMLP`."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        product: Tensor = self.down(self.act(gate) * up)
        return product


class PackedAttention(nn.Module):
    """Llama's attention with one product for queries, keys and values, and the queries of a group side by side."""

    def __init__(self, attention: LlamaAttention) -> None:
        super().__init__()
        self.qkv = PackedLinear(attention.q_proj, attention.k_proj, attention.v_proj)
        self.output = PackedLinear(attention.o_proj)
        self.layer_idx, self.size, self.scaling = attention.layer_idx, attention.head_dim, attention.scaling
        self.group = attention.num_key_value_groups
        self.kv_heads = attention.k_proj.out_features // self.size
        self.k_proj, self.v_proj, self.head_dim = attention.k_proj, attention.v_proj, self.size  # for `Stack.inject`

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
        cache: Any = None,
        **others: Any,
    ) -> tuple[Tensor, None]:
        """As `LlamaAttention`; without a mask each token sees those before it."""
        rows, tokens, _ = hidden_states.shape
        heads = self.qkv(hidden_states).view(rows, tokens, -1, self.size).transpose(1, 2)
        turned = _turned(heads[:, : -self.kv_heads], *position_embeddings)
        queries, keys, values = turned[:, : -self.kv_heads], turned[:, -self.kv_heads :], heads[:, -self.kv_heads :]
        if cache is not None:
            keys, values = cache.update(keys, values, self.layer_idx)
        if attention_mask is None and tokens > 1:
            attention_mask = torch.ones(tokens, keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - tokens)[
                None, None
            ]
        if attention_mask is not None and self.group > 1 and tokens > 1:
            attention_mask = _repeated(attention_mask, self.group)
        grouped = queries.reshape(rows, self.kv_heads, self.group * tokens, self.size)
        seen = functional.scaled_dot_product_attention(grouped, keys, values, attention_mask, scale=self.scaling)
        joined = seen.reshape(rows, self.kv_heads * self.group, tokens, self.size).transpose(1, 2)
        return self.output(joined.reshape(rows, tokens, -1)), None


class PackedNorm(nn.Module):
    """Llama's norm as one step."""

    def __init__(self, norm: LlamaRMSNorm) -> None:
        super().__init__()
        self.weight, self.epsilon = norm.weight, norm.variance_epsilon

    def forward(self, hidden_states: Tensor) -> Tensor:
        """As `LlamaRMSNorm`."""
        return functional.rms_norm(hidden_states, self.weight.shape, self.weight, self.epsilon)


_last: tuple[Tensor, int, Tensor] | None = None


def _repeated(mask: Tensor, group: int) -> Tensor:
    """The mask for `group` queries of each token; all layers of a pass ask for the same."""
    global _last
    held = _last
    if held is None or held[0] is not mask or held[1] != group:
        held = _last = (mask, group, mask.repeat(1, 1, group, 1))
    return held[2]


def _turned(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of heads (B, h, n, size)."""
    low, high = heads.chunk(2, dim=-1)
    return heads * cos[:, None] + torch.cat((-high, low), dim=-1) * sin[:, None]


_PACKED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    nn.Linear: PackedLinear,
    Output: PackedLinear,
    LlamaAttention: PackedAttention,
    LlamaMLP: PackedMlp,
    LlamaRMSNorm: PackedNorm,
}


def _is_possible(model: nn.Module) -> bool:
    weights = {(weight.device.type, weight.dtype) for weight in model.parameters()}
    fits = len(weights) == 1 and next(iter(weights))[0] == "cpu" and next(iter(weights))[1] in _DTYPES
    return fits and torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _is_plain(module: nn.Module) -> bool:
    """Whether its products are with plain weights (not quantised ones), and its attention the one that is copied."""
    products = [part for name, part in module.named_children() if name.endswith("_proj")]
    attends = getattr(getattr(module, "config", None), "_attn_implementation", "sdpa") == "sdpa"
    return attends and all(type(part) is nn.Linear for part in products)


def _twin(module: nn.Module) -> nn.Module:
    """The module with its parts packed, each once, whichever models share it."""
    if module not in _known:
        _known[module] = _made(module)
    return _known[module]


def _made(module: nn.Module) -> nn.Module:
    if type(module) in _PACKED and _is_plain(module):
        return _PACKED[type(module)](module)
    twin = copy.copy(module)
    twin._modules = {name: None if part is None else _twin(part) for name, part in module._modules.items()}
    twin.__dict__ |= {name: OrderedDict() for name in _HOOKS}  # transformers puts its own on each model, once
    twin.__dict__.pop(_HOOKED, None)
    return twin
