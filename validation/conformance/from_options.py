"""What `specsim conform --hf` builds."""

from __future__ import annotations

from typing import Any

import torch

from specsim.errors import InputError
from validation.conformance.hf import TeacherForcing, TransformersDecoder
from validation.decoder.pretrained import read_pretrained


def transformers_source(
    model: str, *, assistant: str | None = None, lookup: int | None = None, early_exit: int | None = None
) -> dict[str, Any]:
    """Decoder, oracle, vocabulary and end of text of a model of transformers.

    Parameters
    ----------
    model, assistant : str
        Folder, GGUF file, or name on the hub.
    lookup : int or None
        Tokens that prompt lookup drafts [1].
    early_exit : int or None
        Layers of the model that draft [1].

    Raises
    ------
    InputError
        More than one of the ways to draft, or a model that cannot be read.
    """
    ways = [way for way in (assistant, lookup, early_exit) if way is not None]
    if len(ways) > 1:
        raise InputError(f"assistant, lookup and early_exit exclude each other, got {len(ways)} of them")
    target, tokenizer = read_pretrained(model, dtype=torch.float32)
    draft = None if assistant is None else read_pretrained(assistant, dtype=torch.float32)[0]
    options = {"prompt_lookup_num_tokens": lookup, "assistant_early_exit": early_exit}
    decoder = TransformersDecoder(
        target, assistant=draft, options={name: value for name, value in options.items() if value is not None}
    )
    return {
        "decoder": decoder,
        "oracle": TeacherForcing(target, assistant=draft),
        "vocabulary": target.config.vocab_size,
        "eos_id": tokenizer.eos_token_id,
        "is_seeded": True,
    }
