"""Draft with the target itself, some of its layers left out (Draft & Verify)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from torch import nn

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import Sampling
from specsim.errors import InputError
from validation.decoder.early_exit import early_exit
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.model import ModelProposer

SHARE = 0.2
"""Of the target's layers left out, where nobody says which."""


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
    Zhang et al. (arXiv 2309.08168). The configuration still counts all layers: those left keep their places in the
    cache, and the places of the others stay empty.

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


def evenly(total: int, *, share: float = SHARE) -> list[int]:
    """Layers to leave out, evenly spread between the first and the last, which stay.

    Examples
    --------
    >>> evenly(12, share=0.25)
    [3, 6, 8]
    """
    count = min(round(share * total), max(0, total - 2))
    return [round((place + 1) * (total - 1) / (count + 1)) for place in range(count)]


def search(hf_model: Any, tokens: Sequence[int], *, count: int) -> list[int]:
    """Layers to leave out, one after the other the one without which acceptance stays highest.

    Parameters
    ----------
    hf_model
        The target.
    tokens
        A text to measure on, such as the target would write; read once for every layer that is tried.
    count
        Layers to leave out [1].

    Returns
    -------
    list of int
        In the order in which they were chosen, so that the first ones are an answer to a smaller `count`.

    Notes
    -----
    Acceptance is the mean of sum min(p, q) over the text at temperature 1. Zhang et al. search by Bayesian
    optimisation; this greedy search takes `count` times the number of layers passes. Six of the 30 layers of
    SmolLM2-135M, searched on 64 tokens, leave 0.52 on 91 others, six evenly spread ones 0.31.
    """
    total = hf_model.config.get_text_config(decoder=True).num_hidden_layers
    checks.integer("count", count, high=total - 1)
    target = _laws(hf_model, tokens)

    def acceptance(skip: Collection[int]) -> float:
        return float(np.minimum(target, _laws(skip_layers(hf_model, skip=skip), tokens)).sum(axis=-1).mean())

    chosen: list[int] = []
    for _ in range(count):
        left = [layer for layer in range(total) if layer not in chosen]
        chosen.append(max(left, key=lambda layer: acceptance([*chosen, layer])))
    return chosen


def _laws(hf_model: Any, tokens: Sequence[int]) -> FloatArray:
    return Sampling().probabilities(CachedModel(hf_model).score(tokens))


def build(loaded: Loaded, *, skip: Collection[int] | None = None, argmax: bool = False) -> ModelProposer:
    """The target without the layers `skip`, by default a fifth of them evenly spread; token by token."""
    total = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    model = skip_layers(loaded.model, skip=evenly(total) if skip is None else skip)
    return ModelProposer(CachedModel(model, pack=True), name="layer skip", argmax=argmax)
