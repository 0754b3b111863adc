"""SharedExit: the target's first layers draft into its own cache, and verifying goes on from what they computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from specsim import checks
from specsim.errors import InputError
from validation.decoder.language_model import Logits
from validation.decoder.layers import early_exit, skip_layers
from validation.decoder.packed import packed
from validation.decoder.text import common_prefix

if TYPE_CHECKING:
    from validation.decoder.model import CachedModel


_BANNED = 1e30
"""Logits beyond it stand for tokens that never come."""


class SharedExit:
    """An early exit of a target that shares its cache (LayerSkip).

    What it reads goes into the target's cache behind the text, in the first layers alone. Where the target then reads
    the same tokens, it goes on from their states behind those layers. Whatever else the target does makes it forget
    what was read ahead.

    Parameters
    ----------
    target
        Whose cache it shares; `CachedModel.exit_after` makes one.
    hf_model
        The target's model, as it was given.
    layers
        Layers before the exit, fewer than all.
    pack
        Lay out weights anew; those of the target's own packed copy are shared.

    Attributes
    ----------
    rest
        The model behind the exit: it takes states in place of embeddings.

    Raises
    ------
    InputError
        No such layers, or a model whose layers do not simply follow one another from embedding to norm, as where states
        are scaled on their way in.

    Notes
    -----
    Elhoushi et al. (arXiv 2404.16710). The last draft of a round has not been through the exit: the first layers read
    it when the target judges. With one text, where reading weights is what takes time, that pass reads all of them
    once, as any other would.

    Examples
    --------
    >>> from validation.decoder.model import CachedModel
    >>> from validation.decoder.tiny import tiny_model
    >>> model = CachedModel(tiny_model()[0])
    >>> _ = model.score([104, 105])
    >>> first = model.exit_after(2)
    >>> drafted = int(first.read([[106]])[0].argmax())
    >>> first.ahead, model.lengths
    ([1], [2])
    >>> model.score([106, drafted]).shape, first.ahead, model.lengths
    ((2, 257), [0], [4])
    """

    def __init__(self, target: CachedModel, hf_model: Any, *, layers: int, pack: bool) -> None:
        config = hf_model.config.get_text_config(decoder=True)
        checks.integer("layers of the target", config.num_hidden_layers, low=2)
        self.layers = checks.integer("layers", layers, low=1, high=config.num_hidden_layers - 1)
        self._target = target
        self._none = torch.empty((0, config.hidden_size), dtype=hf_model.dtype, device=hf_model.device)
        first, rest = early_exit(hf_model, layers=layers), skip_layers(hf_model, skip=range(layers))
        name = type(hf_model).__name__
        if not isinstance(getattr(first.base_model, "norm", None), nn.Module):
            raise InputError(f"{name} must end its layers in a module named norm to share an exit, found none")
        first.base_model.norm = _KeepsInput(first.base_model.norm)
        whole, self._first, self.rest = (packed(part) if pack else part for part in (hf_model, first, rest))
        if not self._goes_on_as(whole):
            raise InputError(f"{name} must pass states from layer to layer as they are to share an exit")
        self.begin()

    @property
    def ahead(self) -> list[int]:
        """Tokens of each row that it has read and the whole target has not [token]."""
        return [len(row) for row in self._tokens]

    def begin(self) -> None:
        """Nothing is read ahead of the target, whose rows may be others than before."""
        rows = len(self._target.cache.lengths)
        self._tokens: list[list[int]] = [[] for _ in range(rows)]
        self._states = [self._none] * rows

    def forget(self) -> None:
        """Back to what the whole target has read."""
        if any(self.ahead):
            self._target.cache.cut(self._target.lengths)
            self.begin()

    def read(self, tokens: Sequence[Sequence[int]]) -> Sequence[Logits]:
        """Append tokens to every row, ahead of the target; logits (1, V) after the last one of each that gets some."""
        found = self._target.run(self._first, tokens, keep=1)
        self._remember(tokens)
        return found.logits

    def states(self, tokens: Sequence[Sequence[int]]) -> list[Tensor]:
        """States (n_b, d) of tokens behind the exit; of those that were not read ahead they are computed now."""
        own = self._target.lengths
        known = [common_prefix(ahead, row) for ahead, row in zip(self._tokens, tokens, strict=True)]
        self._tokens = [ahead[:count] for ahead, count in zip(self._tokens, known, strict=True)]
        self._states = [states[:count] for states, count in zip(self._states, known, strict=True)]
        self._target.cache.cut([length + count for length, count in zip(own, known, strict=True)])
        lacking = [row[count:] for row, count in zip(tokens, known, strict=True)]
        if any(lacking):
            self._target.run(self._first.base_model, lacking, has_head=False)
            self._remember(lacking)
        return self._states

    def _remember(self, tokens: Sequence[Sequence[int]]) -> None:
        states = self._first.base_model.norm.states
        for row, new in enumerate(tokens):
            self._tokens[row].extend(new)
            self._states[row] = torch.cat((self._states[row], states[row, : len(new)]))

    def _goes_on_as(self, whole: nn.Module) -> bool:
        """Whether both parts, one after the other, are the whole model, on three tokens."""
        ids = torch.arange(3, device=self._target.device)[None] % self._target.vocabulary_size
        with torch.inference_mode():
            expected = whole(ids).logits
            try:
                self._first(ids)
                found = self.rest(inputs_embeds=self._first.base_model.norm.states).logits
            except (RuntimeError, TypeError, ValueError):  # such as layers that are told which of all they are
                return False
        usual = expected[expected.abs() < _BANNED]  # what is not finite, or bans a token, says nothing of the others
        scale = usual.abs().max().item() if len(usual) else 0.0
        return torch.allclose(found, expected, rtol=0, atol=1e-3 * scale, equal_nan=True)


class _KeepsInput(nn.Module):
    """The norm at the exit, which keeps the states that it was given last."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm, self.states = norm, torch.empty(0)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """The norm's own."""
        self.states = hidden_states
        return self.norm(hidden_states)
