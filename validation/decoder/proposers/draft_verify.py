"""Draft with the target itself, some of its layers left out (Draft & Verify, Zhang et al., arXiv 2309.08168)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import Sampling
from validation.decoder.layers import skip_layers
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.model import ModelProposer

SHARE = 0.2
"""Of the target's layers left out, where nobody says which."""


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
    return ModelProposer(CachedModel(model, pack=True), name="draft verify", argmax=argmax)
