"""CachedModel: a Hugging Face causal language model with a key-value cache that can be cut back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from specsim import checks
from specsim.errors import InputError
from validation.decoder.sequence import Logits, SequenceModel

__all__ = ["CachedModel", "SequenceModel"]

_CROPPABLE = {"full_attention", "sliding_attention", "chunked_attention"}


class CachedModel:
    """One text in one Hugging Face model; meets `SequenceModel`.

    Parameters
    ----------
    hf_model
        Any `AutoModelForCausalLM` with attention layers; it is put in evaluation mode. Several CachedModels may
        share one, each with its own cache.
    context_limit
        Most tokens that can be cached; by default what the model's configuration says.

    Raises
    ------
    InputError
        A model with recurrent layers (their state cannot be cut back), or without a known context limit.

    Notes
    -----
    Logits come back to the CPU as float32. That copy waits for the device, so a clock read after `score` has seen
    all of its work. Every layer caches the whole text, also one that attends to a sliding window, because a window
    that has moved on could not be cut back.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> model = CachedModel(tiny_model()[0])
    >>> model.score([104, 105]).shape, model.length
    ((2, 257), 2)
    >>> model.truncate(1)
    >>> model.length
    1
    """

    def __init__(self, hf_model: Any, *, context_limit: int | None = None) -> None:
        config = hf_model.config.get_text_config(decoder=True)
        recurrent = sorted(set(getattr(config, "layer_types", None) or ()) - _CROPPABLE)
        if recurrent:
            raise InputError(f"model must have attention layers only, got {', '.join(recurrent)}")
        limit = context_limit if context_limit is not None else getattr(config, "max_position_embeddings", None)
        self._model = hf_model.eval()
        self._cache = DynamicCache()
        self.vocabulary_size = int(config.vocab_size)
        self.context_limit = checks.integer("context_limit", limit, low=1)
        self.length = 0

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self._model.parameters()).device

    def score(self, tokens: Sequence[int], *, keep: int | None = None) -> Logits:
        """Append `tokens`; logits (n, V) after each of them, or after the last `keep` only."""
        checks.integer("number of tokens", len(tokens), low=1)
        checks.integer("context", self.length + len(tokens), high=self.context_limit)
        with torch.inference_mode():
            ids = torch.tensor([tokens], device=self.device)
            output = self._model(ids, cache=self._cache, use_cache=True, logits_to_keep=keep or len(tokens))
            rows: Logits = output.logits[0].float().cpu().numpy()
        self.length += len(tokens)
        return rows

    def truncate(self, length: int) -> None:
        """Keep the first `length` cached tokens; what was cut off leaves no trace."""
        checks.integer("length", length, high=self.length)
        if length == 0:
            self._cache = DynamicCache()
        elif length < self.length:
            self._cache.crop(length - self.length)
        self.length = length
