"""Draft chains with a trained head from the hidden states of its target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import sample
from specsim.errors import InputError
from validation.decoder.cache import RaggedCache
from validation.decoder.language_model import Logits, check_logits
from validation.decoder.load import Loaded
from validation.decoder.masks import layout
from validation.decoder.packed import packed
from validation.decoder.proposers.protocol import Draft, Proposer
from validation.decoder.text import Text
from validation.heads import DSpark, Head, State
from validation.heads.files import load_head
from validation.heads.parts import Where
from validation.timing import synchronize


class HeadProposer(Proposer):
    """Chains drafted by a head, all texts of the batch in one pass.

    Parameters
    ----------
    head
        Attached to the target that it drafts for.
    argmax
        Draft the most probable token at every temperature instead of a sample.
    min_confidence
        Stop before a draft that stands with less probability than this, by the head's own confidence in the chain so
        far (DSpark); 0 never stops [1].

    Raises
    ------
    InputError
        A confidence asked of a head that has none.

    Notes
    -----
    Of a reduced draft vocabulary q is 0 elsewhere. Confidence in a draft is known before it is drawn, so stopping by it
    keeps the target's law.
    """

    def __init__(self, head: Head, *, argmax: bool = False, min_confidence: float = 0.0) -> None:
        if checks.probability("min_confidence", min_confidence) and not isinstance(head, DSpark):
            raise InputError(f"min_confidence needs a head with a confidence, dspark, got {head.name}")
        self.name = head.name
        self.vocabulary_size = head.setup.sizes.vocabulary
        self.feature_layers = head.feature_layers(head.setup.sizes.layers)
        self.head = packed(head)
        self._argmax = argmax
        self._min_confidence = min_confidence
        self._ids = head.vocabulary.cpu().numpy()
        self._all = np.arange(head.setup.sizes.vocabulary)

    @property
    def depth(self) -> int | None:
        """Most tokens of a chain; None where the head can go on forever [1]."""
        return None if self.head.recurrent else self.head.setup.depth

    @torch.inference_mode()
    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.begin`."""
        layers = self.head.cache_layers
        device = self.head.vocabulary.device
        self._cache = RaggedCache(layers=layers, rows=len(texts), device=device) if layers else None
        self._read = [0] * len(texts)
        self._fresh: list[list[Tensor]] = [[] for _ in texts]
        self._last: list[Tensor | None] = [None] * len(texts)  # what `read` gave for each text's last pair
        self.absorb(texts, features)
        self._read_fresh(texts)
        synchronize()  # so that no round waits for it

    def absorb(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.absorb`; features are read with the next draft."""
        for fresh, new in zip(self._fresh, features or (), strict=False):
            if len(new):
                fresh.append(new)

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        if self._cache is not None:
            self._cache.select(rows)
        self._read = [self._read[row] for row in rows]
        self._fresh = [self._fresh[row] for row in rows]
        self._last = [self._last[row] for row in rows]

    @torch.inference_mode()
    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft gammas[b] tokens, fewer after an end of text, and none where no feature is known yet."""
        if not any(gammas):
            return [Draft() for _ in texts]
        self._read_fresh(texts)
        wanted = [
            0 if last is None else min(gamma, self.depth or gamma)
            for gamma, last in zip(gammas, self._last, strict=True)
        ]
        drafts = self._draft(texts, wanted) if any(wanted) else [Draft() for _ in texts]
        if self._cache is not None:
            self._cache.cut(self._read)
        return drafts

    def _draft(self, texts: Sequence[Text], wanted: Sequence[int]) -> list[Draft]:
        state = self._opened(texts)
        drafted: list[list[int]] = [[] for _ in texts]
        laws: list[list[FloatArray]] = [[] for _ in texts]
        sure = np.ones(len(texts))
        going = [gamma > 0 for gamma in wanted]
        for depth in range(max(wanted)):
            if self._min_confidence:
                confidence = torch.sigmoid(cast(DSpark, self.head).confidence(state))[:, 0]
                sure *= confidence.float().cpu().numpy()
                going = [goes and chance >= self._min_confidence for goes, chance in zip(going, sure, strict=True)]
            if not any(going):
                break
            rows = self._logits(state)[:, 0]
            for row, text in enumerate(texts):
                if going[row]:
                    token = self._draw(text, rows[row], drafted[row], laws[row])
                    drafted[row].append(token)
                    going[row] = depth + 1 < wanted[row] and token not in text.request.eos_ids
            if any(going):
                state = self._advanced([tokens[-1] if tokens else 0 for tokens in drafted], state)
        return [
            Draft(tokens=tuple(tokens), q=np.stack(rows) if rows else None, passes=self.head.passes(len(tokens)))
            for tokens, rows in zip(drafted, laws, strict=True)
        ]

    def _draw(self, text: Text, logits: Logits, drafted: list[int], laws: list[FloatArray]) -> int:
        """One token; its law goes to `laws` where it is a draw."""
        position = len(text.tokens) + len(drafted)
        check_logits(logits[None], whose=f"proposer {self.name}", position=position)
        alike = text.treats_tokens_alike
        rows, ids = (logits[None], self._ids) if alike else (self.everywhere(logits)[None], self._all)
        if self._argmax or text.sampling.is_greedy:
            return int(ids[text.argmax(rows, drafted=[drafted])[0]])
        law = text.laws(rows, drafted=[drafted])[0]
        laws.append(self._spread(law) if alike else law)
        if text.noise is None:
            return int(ids[sample(law, text.rng.random())])
        return int(text.noise.sample(laws[-1], position=position))

    def everywhere(self, logits: Logits) -> Logits:
        """Logits over the whole vocabulary (..., V), minus infinity where the head cannot draft."""
        full = np.full((*logits.shape[:-1], len(self._all)), -np.inf, dtype=np.float32)
        full[..., self._ids] = logits
        return full

    def _spread(self, law: FloatArray) -> FloatArray:
        """A law of the draft vocabulary over the whole one (V,)."""
        full = np.zeros(len(self._all), dtype=law.dtype)
        full[self._ids] = law
        return full

    def _read_fresh(self, texts: Sequence[Text]) -> None:
        """Read the pairs (feature, next token) that are new, of all texts in one pass."""
        counts = [sum(map(len, fresh)) for fresh in self._fresh]
        if not any(counts):
            return
        width, device = max(counts), self.head.vocabulary.device
        tokens = torch.zeros((len(texts), width), dtype=torch.int64, device=device)
        like = next(new for fresh in self._fresh for new in fresh)
        features = torch.zeros((len(texts), width, like.shape[-1]), dtype=self.head.embedding.dtype, device=device)
        for row, (text, fresh, count) in enumerate(zip(texts, self._fresh, counts, strict=True)):
            if count:
                start = self._read[row] + 1
                tokens[row, :count] = torch.tensor(text.tokens[start : start + count], device=device)
                features[row, :count] = torch.cat(fresh)
        hidden = self.head.read(tokens, features, self._where(counts))
        for row, count in enumerate(counts):
            if count:
                self._last[row] = hidden[row, count - 1]
                self._read[row] += count
                self._fresh[row] = []

    def _opened(self, texts: Sequence[Text]) -> State:
        some = next(last for last in self._last if last is not None)
        hidden = torch.stack([some if last is None else last for last in self._last])[:, None]
        tokens = torch.tensor([[text.tokens[-1]] for text in texts], device=hidden.device)
        if not self.head.block:
            return self.head.open(tokens, hidden)
        return self.head.open(
            tokens, hidden, self._where([self.head.block] * len(texts), causal=self.head.causal_block)
        )

    def _advanced(self, tokens: Sequence[int], state: State) -> State:
        chosen = torch.tensor(tokens, device=state.tokens.device)[:, None]
        where = self._where([1] * len(tokens)) if self.head.recurrent else None
        return self.head.advance(chosen, state, where)

    def _logits(self, state: State) -> Logits:
        return np.asarray(self.head.logits(state).float().cpu().numpy())

    def _where(self, counts: Sequence[int], *, causal: bool = True) -> Where:
        """The next tokens of each row, behind what the cache holds of it."""
        device = self.head.vocabulary.device
        starts = self._read
        if self._cache is not None:
            self._cache.extend(counts)
            starts = self._cache.begun
        if len(counts) == counts[0] == 1:  # sees all that is cached
            return Where(positions=torch.tensor([starts], device=device), visible=None, cache=self._cache)
        found = layout(starts, span=max(counts), device=device)
        visible = found.visible
        if not causal:
            ends = torch.tensor(starts, device=device) + max(counts)
            visible = (torch.arange(visible.shape[2], device=device) < ends[:, None])[:, None].expand_as(visible)
        return Where(positions=found.positions, visible=visible[:, None], cache=self._cache)


def build(loaded: Loaded, *, path: str | Path, argmax: bool = False, min_confidence: float = 0.0) -> HeadProposer:
    """With the file of a head that was trained for this target."""
    return HeadProposer(load_head(path, loaded.model), argmax=argmax, min_confidence=min_confidence)
