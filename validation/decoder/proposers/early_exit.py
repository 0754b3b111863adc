"""Draft with the first layers of the target."""

from __future__ import annotations

from validation.decoder.layers import early_exit
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.model import ModelProposer

SHARE = 0.8
"""Of the target's layers, where nobody says how many."""


def exit_layers(total: int) -> int:
    """How many of a target's layers run where nobody says how many [1]."""
    return max(1, round(SHARE * total))


def build(loaded: Loaded, *, layers: int | None = None, argmax: bool = False) -> ModelProposer:
    """The first `layers` of the target, its final norm and its head, token by token, with a cache of their own."""
    total = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    model = early_exit(loaded.model, layers=exit_layers(total) if layers is None else layers)
    return ModelProposer(CachedModel(model, pack=True), name="early exit", argmax=argmax)
