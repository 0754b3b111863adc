"""Models made of some layers of another one, whose weights they share."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from torch import nn

from specsim import checks
from specsim.errors import InputError


def early_exit(hf_model: Any, *, layers: int) -> Any:
    """A model that runs the first `layers` layers, the final norm and the head of `hf_model`, sharing its weights.

    Parameters
    ----------
    hf_model
        A Hugging Face causal language model whose decoder keeps its layers in one list.
    layers
        How many of them to run, from 1 to all.

    Returns
    -------
    model
        Of the same class. No weight is copied, so moving or casting it moves or casts the target too.

    Raises
    ------
    InputError
        More layers than there are, or no list of layers to be found.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> target, _ = tiny_model()
    >>> drafter = early_exit(target, layers=1)
    >>> len(drafter.model.layers), drafter.lm_head.weight is target.lm_head.weight
    (1, True)
    """
    config = copy.deepcopy(hf_model.config)
    text = config.get_text_config(decoder=True)
    total = text.num_hidden_layers
    checks.integer("layers", layers, low=1, high=total)
    decoder = hf_model.base_model
    lists = [name for name, part in decoder.named_children() if isinstance(part, nn.ModuleList) and len(part) == total]
    if not lists:
        raise InputError(f"{type(hf_model).__name__} must keep its {total} layers in one list, found none")
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[:layers]
    text.num_hidden_layers = layers
    inner = _twin(decoder, config=text, **{lists[0]: decoder.get_submodule(lists[0])[:layers]})
    return _twin(hf_model, config=config, **{hf_model.base_model_prefix: inner})


def skip_layers(hf_model: Any, *, skip: Collection[int]) -> Any:
    """A model that leaves some layers of `hf_model` out, sharing its weights.

    Parameters
    ----------
    hf_model
        A Hugging Face causal language model whose decoder keeps its layers in one list.
    skip
        Layers to leave out, from 0; one must be left.

    Raises
    ------
    InputError
        A layer that there is not, or none left.

    Notes
    -----
    The configuration still counts all layers: those left keep their places in the cache, and the places of the others
    stay empty.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> target, _ = tiny_model()
    >>> drafter = skip_layers(target, skip=[1, 2])
    >>> [layer is target.model.layers[place] for layer, place in zip(drafter.model.layers, [0, 3])]
    [True, True]
    """
    text = hf_model.config.get_text_config(decoder=True)
    total = text.num_hidden_layers
    for layer in skip:
        checks.integer("skip", layer, high=total - 1)
    left = [layer for layer in range(total) if layer not in skip]
    if not left:
        raise InputError(f"skip must leave one of the {total} layers, got all of them")
    twin = early_exit(hf_model, layers=total)
    decoder = twin.base_model
    name = next(name for name, part in decoder.named_children() if isinstance(part, nn.ModuleList))
    setattr(decoder, name, nn.ModuleList(decoder.get_submodule(name)[place] for place in left))
    kinds = getattr(text, "layer_types", None)
    if kinds:  # models look the kind of their n-th layer up there
        twin_text = twin.config.get_text_config(decoder=True)
        twin_text.layer_types = [kinds[place] for place in (*left, *sorted(skip))]
    return twin


def _twin(module: nn.Module, *, config: Any, **children: nn.Module) -> nn.Module:
    """A module with the same parameters and hooks, some children exchanged."""
    twin = copy.copy(module)
    twin._modules = {**module._modules, **children}
    twin.config = config
    return twin
