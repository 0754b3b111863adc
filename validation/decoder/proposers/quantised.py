"""Draft with a copy of the target whose matrices are held in 8 or 4 bits."""

from __future__ import annotations

from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.model import ModelProposer
from validation.decoder.quantised import quantise


def build(loaded: Loaded, *, bits: int = 4, argmax: bool = False) -> ModelProposer:
    """A copy of the target in 4 or 8 bits, token by token."""
    return ModelProposer(CachedModel(quantise(loaded.model, bits=bits), pack=True), name=f"int{bits}", argmax=argmax)
