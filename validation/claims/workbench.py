"""What the claims about a real model share: the model, its drafters, prompts, and passes with speculation off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specsim.checks import FloatArray
from specsim.distributions import Sampling
from specsim.errors import InputError
from validation.claims.protocol import Settings
from validation.decoder.language_model import LanguageModel
from validation.decoder.layers import early_exit
from validation.decoder.load import Loaded, load
from validation.decoder.model import CachedModel
from validation.decoder.proposers import ModelProposer, NgramProposer, Proposer
from validation.decoder.proposers.layer_skip import LayerSkipProposer

PROMPTS = (
    "Write the first lines of a story about a lighthouse keeper who finds a letter.",
    "List ten things that one can see in a harbour, and say what each is for. Then list them again.",
    "Write a Python function that counts the words of each line in a file, and explain it line by line.",
    "Invent a short conversation between a baker and a customer who cannot decide between two kinds of bread.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Workbench:
    """A float32 model, its first layers as a drafter, and tokenised prompts.

    Parameters
    ----------
    loaded : Loaded
        The model as it was loaded.
    target, draft : LanguageModel
        For decoding.
    reference, draft_reference : LanguageModel
        The same weights with caches of their own, for passes with speculation off.
    sharing : LayerSkipProposer or None
        The same drafter in the target's cache; None where the model cannot share it.
    prompts : tuple of tuple of int
        Token ids.
    """

    loaded: Loaded
    target: LanguageModel
    draft: LanguageModel
    reference: LanguageModel
    draft_reference: LanguageModel
    sharing: LayerSkipProposer | None
    prompts: tuple[tuple[int, ...], ...]

    @property
    def eos_ids(self) -> frozenset[int]:
        """Tokens that end a text."""
        return self.loaded.eos_ids

    def proposers(self) -> tuple[Proposer, ...]:
        """Two that sample from a law of their own, the same law, and one whose drafts are certain given the text."""
        own = ModelProposer(self.draft, name="early exit")
        return (own, NgramProposer()) if self.sharing is None else (own, NgramProposer(), self.sharing)


def open_workbench(settings: Settings, *, draft_layers: int | None = None) -> Workbench:
    """Load the model (unless `settings.loaded` has it) and set up what the claims need.

    Parameters
    ----------
    settings
        Where the model comes from.
    draft_layers
        Layers of the early-exit drafter; nine in ten of the model's by default [1].

    Raises
    ------
    InputError
        No such model, or more layers than it has.

    Notes
    -----
    A drafter of few untrained layers agrees with hardly any token of a sampled text (SmolLM2-135M, overlap of the two
    laws at temperature 1: 0.08 with 10 of 30 layers, 0.35 with 27), and a decoder that only ever rejects proves little.
    These claims are about correctness, so they take a slow drafter that gets drafts accepted.
    """
    loaded = settings.loaded or load(
        settings.model, dtype="float32", device=settings.device, cache_dir=settings.cache_dir
    )
    total = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    layers = draft_layers or max(1, 9 * total // 10)
    shallow, target = early_exit(loaded.model, layers=layers), CachedModel(loaded.model)
    return Workbench(
        loaded=loaded,
        target=target,
        draft=CachedModel(shallow),
        reference=CachedModel(loaded.model),
        draft_reference=CachedModel(shallow),
        sharing=_sharing(target, layers=layers),
        prompts=tuple(tuple(loaded.prompt_tokens(text)) for text in PROMPTS),
    )


def _sharing(target: CachedModel, *, layers: int) -> LayerSkipProposer | None:
    try:
        target.exit_after(layers)
    except InputError:  # all layers, or a model that does more than to run one after the other
        return None
    return LayerSkipProposer(layers=layers)


def teacher_forced(
    model: LanguageModel, prompt: Sequence[int], tokens: Sequence[int], *, sampling: Sampling | None = None
) -> FloatArray:
    """Laws of `tokens` after `prompt` by one pass over the whole text, shape (N, V), no speculation involved [1]."""
    model.truncate(0)
    logits = model.score([*prompt, *tokens[:-1]], keep=len(tokens))
    return np.asarray((sampling or Sampling()).probabilities(logits))
