"""Draft with an independent model of the same vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from validation.decoder.proposers.model import ModelProposer

if TYPE_CHECKING:  # so that trees over table models work without torch
    from validation.decoder.load import Loaded
    from validation.decoder.model import CachedModel

Drafter: TypeAlias = "Loaded | str | Path"


def drafter_model(loaded: Loaded, drafter: Drafter) -> CachedModel:
    """A drafter that reads texts: one that was loaded, or a folder, GGUF file or hub name, loaded like the target."""
    from validation.decoder.load import Loaded, load
    from validation.decoder.model import CachedModel

    if isinstance(drafter, Loaded):
        return CachedModel(drafter.model, pack=True)
    target = loaded.model
    found = load(drafter, dtype=str(target.dtype).removeprefix("torch."), device=target.device.type)
    return CachedModel(found.model, pack=True)


def build(loaded: Loaded, *, drafter: Drafter, argmax: bool = False) -> ModelProposer:
    """With a drafter (see `drafter_model`), token by token."""
    return ModelProposer(drafter_model(loaded, drafter), name="independent", argmax=argmax)
