"""Draft with the first layers of the target, in its own cache (LayerSkip)."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.errors import InputError
from validation.decoder.language_model import LanguageModel, Logits
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.early_exit import exit_layers
from validation.decoder.proposers.model import StepProposer
from validation.decoder.text import Text


class LayerSkipProposer(StepProposer):
    """The target's first layers, its final norm and its head draft; the target goes on from their states.

    Parameters
    ----------
    layers
        Layers before the exit, fewer than all.
    argmax
        As of `StepProposer`.

    Raises
    ------
    InputError
        In a decoder whose target is no `CachedModel`, or one that `SharedExit` refuses.

    Notes
    -----
    Drafts are those of an early exit with a cache of its own, up to rounding.
    """

    def __init__(self, *, layers: int, argmax: bool = False) -> None:
        super().__init__(name="layer skip", argmax=argmax)
        self._layers = layers

    def meet(self, target: LanguageModel) -> None:
        """Exit from this target from now on."""
        if not isinstance(target, CachedModel):
            raise InputError(f"proposer {self.name} must have a target with layers, got {type(target).__name__}")
        self._target, self._exit = target, target.exit_after(self._layers)

    def _room(self) -> int:
        return self._target.context_limit

    def _reconcile(self, texts: Sequence[Text], wanted: Sequence[int]) -> list[list[int]]:
        """The target has read all but the last tokens."""
        self._exit.forget()
        return [text.tokens[-1:] if gamma > 0 else [] for text, gamma in zip(texts, wanted, strict=True)]

    def _read(self, tokens: Sequence[Sequence[int]]) -> Sequence[Logits]:
        return self._exit.read(tokens)


def build(loaded: Loaded, *, layers: int | None = None, argmax: bool = False) -> LayerSkipProposer:
    """An exit after `layers` layers of the target, by default as many as of an early exit, and not all."""
    total = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    usual = max(1, min(exit_layers(total), total - 1))
    return LayerSkipProposer(layers=usual if layers is None else layers, argmax=argmax)
