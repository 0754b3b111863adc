"""Draft with a copy of the target whose matrices are held in 8 or 4 bits."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from specsim.errors import InputError
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.model import ModelProposer

GROUP = 32
"""Neighbouring inputs of a row that share a scale in 4 bits; one that torch's kernels know."""


def quantise(hf_model: Any, *, bits: int) -> Any:
    """A copy of a model with quantised linear layers, its head among them.

    Parameters
    ----------
    hf_model
        A Hugging Face causal language model; it stays as it is.
    bits
        8 is torch's dynamic quantisation, on the CPU alone: weights one scale a row, inputs quantised in every pass,
        the rest in float32. 4 is `FourBitLinear`; layers whose inputs are no multiple of GROUP stay as they are.

    Raises
    ------
    InputError
        Other bits, or 8 bits on another device.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> type(quantise(tiny_model()[0], bits=4).lm_head).__name__
    'FourBitLinear'
    """
    if bits not in (4, 8):
        raise InputError(f"bits must be 4 or 8, got {bits}")
    if bits == 8 and hf_model.device.type != "cpu":
        raise InputError(f"8 bits need a model on the cpu, got one on {hf_model.device.type}; use 4")
    twin = copy.deepcopy(hf_model)
    if bits == 4:
        _exchange(twin)
        return twin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that this moves to a package of its own
        rows = torch.ao.quantization.per_channel_dynamic_qconfig
        return torch.ao.quantization.quantize_dynamic(twin.float(), {nn.Linear: rows}, inplace=True)


class FourBitLinear(nn.Module):
    """A linear layer whose weights are 16 levels between the least and the largest of each group of GROUP.

    Parameters
    ----------
    linear
        What it stands for; out x in weights, `in` a multiple of GROUP.

    Notes
    -----
    Two weights a byte, and a scale and a least value a group: 0.75 byte a weight in float32 scales, 0.625 in 16 bits.
    On the CPU torch's own 4-bit kernel computes, in bfloat16, where it can; elsewhere weights are unpacked in every
    pass, which saves memory but no time.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        groups = linear.weight.detach().float().unflatten(1, (-1, GROUP))
        least = groups.amin(dim=-1)
        scale = ((groups.amax(dim=-1) - least) / 15).clamp_min(torch.finfo(torch.float32).tiny)
        levels = ((groups - least[..., None]) / scale[..., None]).round().clamp(0, 15).flatten(1).to(torch.int32)
        self.has_kernel = linear.weight.device.type == "cpu" and self.out_features % 16 == 0
        if self.has_kernel:
            packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels, 1)
            both = torch.stack((scale, least + 8 * scale), dim=-1).transpose(0, 1)
            self.register_buffer("scales", both.to(torch.bfloat16).contiguous())
        else:
            packed = (levels[:, ::2] | levels[:, 1::2] << 4).to(torch.uint8)
            self.register_buffer("scales", torch.stack((scale, least), dim=-1).to(linear.weight.dtype))
        self.register_buffer("packed", packed)
        self.bias = linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """As of `nn.Linear`."""
        if self.has_kernel:
            rows = inputs.reshape(-1, self.in_features).to(torch.bfloat16)
            found = torch.ops.aten._weight_int4pack_mm_for_cpu(rows, self.packed, GROUP, self.scales)
            outputs = found.to(inputs.dtype).reshape(*inputs.shape[:-1], self.out_features)
            return outputs if self.bias is None else outputs + self.bias
        return nn.functional.linear(inputs, self._unpacked().to(inputs.dtype), self.bias)

    def _unpacked(self) -> Tensor:
        levels = torch.stack((self.packed & 15, self.packed >> 4), dim=-1).reshape(self.out_features, -1, GROUP)
        scale, least = self.scales.unsqueeze(2).unbind(-1)
        return (levels * scale + least).flatten(1)


def _exchange(module: nn.Module) -> None:
    """Put four-bit layers in place of all linear ones that can be."""
    for name, part in module.named_children():
        if isinstance(part, nn.Linear) and part.in_features % GROUP == 0:
            setattr(module, name, FourBitLinear(part))
        else:
            _exchange(part)


def build(loaded: Loaded, *, bits: int = 8, argmax: bool = False) -> ModelProposer:
    """A copy of the target in 8 or 4 bits, token by token."""
    return ModelProposer(CachedModel(quantise(loaded.model, bits=bits)), name=f"int{bits}", argmax=argmax)
