"""Draft with the first layers of the target."""

from __future__ import annotations

from validation.decoder.early_exit import early_exit
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.model import ModelProposer

SHARE = 0.8
"""Of the target's layers, where nobody says how many."""


def build(loaded: Loaded, *, layers: int | None = None, argmax: bool = False) -> ModelProposer:
    """The first `layers` of the target, its final norm and its head, token by token."""
    total = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    model = early_exit(loaded.model, layers=max(1, round(SHARE * total)) if layers is None else layers)
    return ModelProposer(CachedModel(model, pack=True), name="early exit", argmax=argmax)
