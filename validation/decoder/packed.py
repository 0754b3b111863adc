"""Linear layers whose weights are laid out as oneDNN reads them fastest: passes over few tokens on a CPU."""

from __future__ import annotations

import copy
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

_TOKENS = 8  # of the passes that the layout is chosen for
_DTYPES = (torch.float32, torch.bfloat16)
_known: WeakKeyDictionary[nn.Module, nn.Module] = WeakKeyDictionary()


def packed(hf_model: Any) -> Any:
    """A twin of the model whose linear layers read packed copies of the weights; itself where that cannot be had.

    Parameters
    ----------
    hf_model
        A Hugging Face model whose weights do not change any more. It needs its own size in memory once more.

    Returns
    -------
    model
        Of the same class, sharing everything but the packed copies; the same twin for the same model.

    Notes
    -----
    torch multiplies a few rows by a plain weight at a third of the memory's speed: on two cores SmolLM2's products take
    48 ms in float32 for one row and 78 ms for two, packed 29 and 30 ms. Products round in another order than with
    plain weights.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> model, _ = tiny_model()
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> bool(torch.allclose(packed(model)(ids).logits, model(ids).logits, atol=1e-4))
    True
    """
    if not _is_possible(hf_model):
        return hf_model
    if hf_model not in _known:
        _known[hf_model] = _twin(hf_model)
    return _known[hf_model]


class PackedLinear(nn.Linear):
    """A linear layer with a packed copy of its weight."""

    @classmethod
    def of(cls, linear: nn.Linear) -> PackedLinear:
        """The packed form of a layer, which it leaves as it is."""
        made = copy.copy(linear)
        made.__class__ = cls
        made.__dict__["packed"] = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _TOKENS)
        return made  # type: ignore[return-value]

    def forward(self, input: Tensor) -> Tensor:
        """The product, with the packed weight."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(input, self.packed, self.bias, "none", [], "")
        return product


def _is_possible(model: nn.Module) -> bool:
    weights = {(weight.device.type, weight.dtype) for weight in model.parameters()}
    fits = len(weights) == 1 and next(iter(weights))[0] == "cpu" and next(iter(weights))[1] in _DTYPES
    return fits and torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _twin(module: nn.Module) -> nn.Module:
    """The module with its linear layers packed; layers that occur twice stay one."""
    if type(module) is nn.Linear:
        return PackedLinear.of(module)
    twin = copy.copy(module)
    twin._modules = {name: None if part is None else _twin(part) for name, part in module._modules.items()}
    return twin
