"""Copies of a model whose matrices are held in 8 or 4 bits."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from specsim.errors import InputError
from validation.decoder.products import EightBits, FourBits, Layout

GROUP = FourBits.GROUP
"""Neighbouring inputs of a row that share a scale in 4 bits."""
_TINY = torch.finfo(torch.float32).tiny


class EightBitLinear(nn.Module):
    """A linear layer with weights of 8 bits, one scale a row.

    Parameters
    ----------
    linear
        What it stands for.

    Notes
    -----
    Weights are scaled back in every pass, which saves memory but no time; once `packed`, they are multiplied as they
    are, in bfloat16.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        self.out_features, self.in_features = weight.shape
        scale = (weight.abs().amax(dim=-1) / 127).clamp_min(_TINY)
        self.register_buffer("levels", (weight / scale[:, None]).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """As of `nn.Linear`."""
        weights = (self.levels * self.scale[:, None]).to(inputs.dtype)
        return nn.functional.linear(inputs, weights, self.bias)

    @property
    def can_be_laid_out(self) -> bool:
        """Whether there is a layout for it."""
        return True

    @staticmethod
    def laid_out(layers: Sequence[EightBitLinear]) -> Layout:
        """Several of the same inputs as one."""
        return EightBits(torch.cat([layer.levels for layer in layers]), torch.cat([layer.scale for layer in layers]))


class FourBitLinear(nn.Module):
    """A linear layer whose weights are 16 levels between the least and the largest of each group of GROUP.

    Parameters
    ----------
    linear
        What it stands for; out x in weights, `in` a multiple of GROUP.

    Notes
    -----
    Two weights a byte, and a scale and a least value a group: 0.75 byte a weight. Weights are unpacked in every pass,
    which saves memory but no time; once `packed`, they are multiplied as they are, in bfloat16.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.out_features, self.in_features = linear.weight.shape
        groups = linear.weight.detach().float().unflatten(1, (-1, GROUP))
        least = groups.amin(dim=-1)
        scale = ((groups.amax(dim=-1) - least) / 15).clamp_min(_TINY)
        levels = ((groups - least[..., None]) / scale[..., None]).round().clamp(0, 15).flatten(1).to(torch.uint8)
        self.register_buffer("pairs", levels[:, ::2] | levels[:, 1::2] << 4)
        self.register_buffer("scale", scale)
        self.register_buffer("least", least)
        self.bias = linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """As of `nn.Linear`."""
        levels = self._levels().unflatten(1, (-1, GROUP))
        weights = (levels * self.scale[..., None] + self.least[..., None]).flatten(1)
        return nn.functional.linear(inputs, weights.to(inputs.dtype), self.bias)

    @property
    def can_be_laid_out(self) -> bool:
        """Whether there is a layout for it."""
        return self.out_features % FourBits.ROWS == 0

    @staticmethod
    def laid_out(layers: Sequence[FourBitLinear]) -> Layout:
        """Several of the same inputs as one."""
        levels = torch.cat([layer._levels() for layer in layers])
        scale, least = (torch.cat([getattr(layer, name) for layer in layers]) for name in ("scale", "least"))
        return FourBits(levels, scale, least)

    def _levels(self) -> Tensor:
        return torch.stack((self.pairs & 15, self.pairs >> 4), dim=-1).flatten(1)


LAYERS: dict[int, type[EightBitLinear | FourBitLinear]] = {8: EightBitLinear, 4: FourBitLinear}


def quantise(hf_model: Any, *, bits: int) -> Any:
    """A copy of a model with quantised linear layers, its head among them.

    Parameters
    ----------
    hf_model
        A Hugging Face causal language model; it stays as it is.
    bits
        8 for `EightBitLinear`, 4 for `FourBitLinear`; layers whose inputs are no multiple of GROUP stay linear.

    Raises
    ------
    InputError
        Other bits.

    Notes
    -----
    Not `torch.ao.quantization.quantize_dynamic`: its inputs share one scale over a whole pass, so that a text's drafts
    depend on its neighbours, and few of them are good (123 tokens of SmolLM2-135M at temperature 1: alpha 0.39).

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


def is_quantised(model: nn.Module) -> bool:
    """Whether some of its layers are."""
    return any(isinstance(part, tuple(LAYERS.values())) for part in model.modules())


def _exchange(module: nn.Module, kind: type[EightBitLinear | FourBitLinear]) -> None:
    """Put layers of a kind in place of all linear ones that can be."""
    for name, part in module.named_children():
        if isinstance(part, nn.Linear) and part.in_features % GROUP == 0:
            setattr(module, name, kind(part))
        else:
            _exchange(part, kind)
