"""Draft with a copy of the target whose matrices are held in 8 or 4 bits."""

from __future__ import annotations

import copy
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
        8 for `EightBitLinear`, 4 for `FourBitLinear`; layers whose inputs are no multiple of GROUP stay as they are.

    Raises
    ------
    InputError
        Other bits.

    Notes
    -----
    Not `torch.ao.quantization.quantize_dynamic`: its inputs share one scale over a whole pass, so that a text's drafts
    depend on its neighbours, and few of them are good (123 tokens of SmolLM2-135M at temperature 1: alpha 0.39, with
    a scale a token 0.90, with 4-bit weights 0.90; these came from a file of 4 bits, though).

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> type(quantise(tiny_model()[0], bits=4).lm_head).__name__
    'FourBitLinear'
    """
    if bits not in LAYERS:
        raise InputError(f"bits must be 4 or 8, got {bits}")
    twin = copy.deepcopy(hf_model)
    _exchange(twin, LAYERS[bits])
    return twin


class EightBitLinear(nn.Module):
    """A linear layer with weights of 8 bits, one scale a row.

    Parameters
    ----------
    linear
        What it stands for.

    Notes
    -----
    On the CPU inputs are made whole numbers too, one scale a token, and multiplied as such; elsewhere the weights are
    scaled back in every pass, which saves memory but no time.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        scale, levels = _whole(linear.weight.detach().float())
        self.register_buffer("levels", levels)
        self.register_buffer("scale", scale.squeeze(1))
        self.bias = linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """As of `nn.Linear`."""
        if inputs.device.type != "cpu":
            weights = self.levels.to(inputs.dtype) * self.scale[:, None].to(inputs.dtype)
            return nn.functional.linear(inputs, weights, self.bias)
        scale, rows = _whole(inputs.reshape(-1, inputs.shape[-1]).float())
        found = torch._int_mm(rows, self.levels.t()) * (scale * self.scale)
        outputs = found.to(inputs.dtype).unflatten(0, inputs.shape[:-1])
        return outputs if self.bias is None else outputs + self.bias


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
            outputs = found.to(inputs.dtype).unflatten(0, inputs.shape[:-1])
            return outputs if self.bias is None else outputs + self.bias
        return nn.functional.linear(inputs, self._unpacked().to(inputs.dtype), self.bias)

    def _unpacked(self) -> Tensor:
        levels = torch.stack((self.packed & 15, self.packed >> 4), dim=-1).reshape(self.out_features, -1, GROUP)
        scale, least = self.scales.unsqueeze(2).unbind(-1)
        return (levels * scale + least).flatten(1)


LAYERS: dict[int, type[EightBitLinear | FourBitLinear]] = {8: EightBitLinear, 4: FourBitLinear}


def _whole(rows: Tensor) -> tuple[Tensor, Tensor]:
    """A scale for each row and its numbers as multiples of that, from -127 to 127."""
    scale = (rows.abs().amax(dim=-1, keepdim=True) / 127).clamp_min(torch.finfo(torch.float32).tiny)
    return scale, (rows / scale).round().to(torch.int8)


def _exchange(module: nn.Module, kind: type[EightBitLinear | FourBitLinear]) -> None:
    """Put layers of a kind in place of all linear ones that can be."""
    for name, part in module.named_children():
        if isinstance(part, nn.Linear) and part.in_features % GROUP == 0:
            setattr(module, name, kind(part))
        else:
            _exchange(part, kind)


def build(loaded: Loaded, *, bits: int = 8, argmax: bool = False) -> ModelProposer:
    """A copy of the target in 8 or 4 bits, token by token."""
    return ModelProposer(CachedModel(quantise(loaded.model, bits=bits)), name=f"int{bits}", argmax=argmax)
