"""Draft with a language model: an independent one, the first layers of the target, or a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from specsim.checks import FloatArray
from specsim.distributions import sample
from validation.decoder.language_model import LanguageModel, Logits, check_logits
from validation.decoder.proposers.protocol import Draft, Proposer
from validation.decoder.text import Text, common_prefix

if TYPE_CHECKING:
    from torch import Tensor


class StepProposer(Proposer):
    """Drafts token by token, each from the logits of a pass over the ones before.

    Parameters
    ----------
    name
        Goes into the records.
    argmax
        Draft the most probable token at every temperature (what vLLM V1 does by default) instead of a sample.

    Notes
    -----
    At temperature 0, or with `argmax`, drafts are certain given the text and no laws are handed over. Otherwise they
    are the laws that were sampled: the drafter's logits under the text's sampling, penalties counting drafts as
    history; with Gumbel coupling drafts are drawn with the text's noise.
    """

    def __init__(self, *, name: str, argmax: bool) -> None:
        self.name = name
        self._argmax = argmax

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft gammas[b] tokens, fewer after an end-of-text token or near the drafter's context limit."""
        room = self._room()
        wanted = [min(gamma, room - len(text.tokens) + 1) for text, gamma in zip(texts, gammas, strict=True)]
        drafted: list[list[int]] = [[] for _ in texts]
        laws: list[list[FloatArray]] = [[] for _ in texts]
        pending = self._reconcile(texts, wanted)
        passes = 0
        while any(pending):
            rows, passes = self._read(pending), passes + 1
            for row, text in enumerate(texts):
                if pending[row]:
                    token = self._draw(text, rows[row], drafted[row], laws[row])
                    drafted[row].append(token)
                    goes_on = len(drafted[row]) < wanted[row] and token not in text.request.eos_ids
                    pending[row] = [token] if goes_on else []
        return [
            Draft(tokens=tuple(tokens), q=np.concatenate(rows) if rows else None, passes=passes)
            for tokens, rows in zip(drafted, laws, strict=True)
        ]

    @abstractmethod
    def _room(self) -> int:
        """Most tokens of a text [token]."""

    @abstractmethod
    def _reconcile(self, texts: Sequence[Text], wanted: Sequence[int]) -> list[list[int]]:
        """Cut back to the texts; the tokens that are lacking, at least the last one, where drafts are wanted."""

    @abstractmethod
    def _read(self, tokens: Sequence[Sequence[int]]) -> Sequence[Logits]:
        """Append tokens; logits (1, V) after the last one of each row that gets some."""

    def _draw(self, text: Text, logits: Logits, drafted: list[int], laws: list[FloatArray]) -> int:
        """One token; its law goes to `laws` where it is a draw."""
        position = len(text.tokens) + len(drafted)
        check_logits(logits, whose=f"proposer {self.name}", position=position)
        if self._argmax or text.sampling.is_greedy:
            return int(text.argmax(logits, drafted=[drafted])[0])
        law = text.laws(logits, drafted=[drafted])
        laws.append(law)
        if text.noise is None:
            return int(sample(law[0], text.rng.random()))
        return int(text.noise.sample(law[0], position=position))


class ModelProposer(StepProposer):
    """Drafts token by token with any `LanguageModel`; parameters besides `model` as of `StepProposer`.

    Parameters
    ----------
    model
        The drafter; it must not be the very object that serves as target, whose cache it would share.

    Notes
    -----
    Only tokens that the drafter's cache lacks are read: after a rejection the correction, after a full acceptance the
    last draft as well.

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> from validation.decoder.text import Request
    >>> proposer = ModelProposer(TableModel([[0.0, 1.0], [1.0, 0.0]]))
    >>> text = Text(Request(prompt=[0]))
    >>> proposer.begin([text], None)
    >>> proposer.propose([text], gammas=[3])[0].tokens
    (1, 0, 1)
    """

    def __init__(self, model: LanguageModel, *, name: str = "model", argmax: bool = False) -> None:
        super().__init__(name=name, argmax=argmax)
        self.vocabulary_size = model.vocabulary_size
        self._model = model
        self._cached: list[list[int]] = []

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """Forget the last texts and read the prompts but for their last tokens, where they fit."""
        self._model.begin(len(texts))
        self._cached = [[] for _ in texts]
        prompts = [text.tokens[:-1] if len(text.tokens) <= self._model.context_limit else [] for text in texts]
        if any(prompts):
            self._read(prompts)

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        self._model.select(rows)
        self._cached = [self._cached[row] for row in rows]

    def _room(self) -> int:
        return self._model.context_limit

    def _reconcile(self, texts: Sequence[Text], wanted: Sequence[int]) -> list[list[int]]:
        """Cut caches back to what they have in common with the texts; the tokens they lack, at least the last one."""
        pending: list[list[int]] = []
        for cached, text, gamma in zip(self._cached, texts, wanted, strict=True):
            common = min(common_prefix(cached, text.tokens), len(text.tokens) - 1)
            del cached[common:]
            pending.append(text.tokens[common:] if gamma > 0 else [])
        self._model.cut([len(cached) for cached in self._cached])
        return pending

    def _read(self, tokens: Sequence[Sequence[int]]) -> Sequence[Logits]:
        for cached, new in zip(self._cached, tokens, strict=True):
            cached.extend(new)
        return self._model.read(tokens, keep=1).logits
