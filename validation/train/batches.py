"""Batches of texts of about the same length, with what the target said about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from validation.train.corpus import Shard


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B texts, filled up behind to S tokens.

    Parameters
    ----------
    tokens
        (B, S).
    features
        (B, S, F), f_i.
    final
        (B, S, d), the last hidden state, whose product with the output matrix is the logits of the next token.
    log_total
        (B, S), logarithm of the normaliser of that law.
    best
        (B, S), its most probable token.
    answered
        (B, S) of bool: the target chose the token behind, and there is one.
    sampled
        (B,) of bool: written at temperature 1.
    """

    tokens: Tensor
    features: Tensor
    final: Tensor
    log_total: Tensor
    best: Tensor
    answered: Tensor
    sampled: Tensor

    @property
    def span(self) -> int:
        """S [token]."""
        return self.tokens.shape[1]


def plan(shards: Sequence[Shard], *, tokens: int, rng: np.random.Generator) -> list[list[tuple[int, int]]]:
    """Every usable text once, in batches of at most `tokens` places, as (shard, text) pairs.

    Texts of similar length come together, so that few places stay empty; which ones, and in which order, is drawn.
    """
    texts = [(shard, text) for shard, each in enumerate(shards) for text in each.usable]
    lengths = np.array([len(shards[shard].texts[text].tokens) for shard, text in texts])
    order = np.lexsort((rng.random(len(texts)), lengths // 16))
    batches: list[list[tuple[int, int]]] = [[]]
    longest = 0
    for place in order:
        longest = max(longest, lengths[place])
        if batches[-1] and (len(batches[-1]) + 1) * longest > tokens:
            batches.append([])
            longest = lengths[place]
        batches[-1].append(texts[place])
    return [batches[place] for place in rng.permutation(len(batches))]


def take(
    shards: Sequence[Shard], picked: Sequence[tuple[int, int]], *, layers: Sequence[int], last: int, device: str
) -> Batch:
    """The batch of these texts; only their rows are read from disk."""
    rows = [_rows(shards[shard], text, layers=layers, last=last) for shard, text in picked]
    columns = {name: _filled([row[name] for row in rows], device) for name in rows[0]}
    sampled = torch.tensor([shards[shard].texts[text].sampled for shard, text in picked], device=device)
    return Batch(**columns, sampled=sampled)


def every(shards: Sequence[Shard], *, tokens: int, layers: Sequence[int], last: int, device: str) -> Iterator[Batch]:
    """All texts in a fixed order of batches."""
    for picked in plan(shards, tokens=tokens, rng=np.random.default_rng(0)):
        yield take(shards, picked, layers=layers, last=last, device=device)


def _rows(shard: Shard, text: int, *, layers: Sequence[int], last: int) -> dict[str, Tensor]:
    start = sum(len(each.tokens) for each in shard.texts[:text])
    this = shard.texts[text]
    here = slice(start, start + len(this.tokens))
    answered = torch.zeros(len(this.tokens), dtype=torch.bool)
    answered[this.prompt - 1 : -1] = True
    return {
        "tokens": torch.tensor(this.tokens),
        "features": torch.cat([shard.columns[f"layer.{layer}"][here] for layer in layers], dim=-1),
        "final": shard.columns[f"layer.{last}"][here],
        "log_total": shard.columns["log_total"][here],
        "best": shard.columns["best"][here].long(),
        "answered": answered,
    }


def _filled(rows: Sequence[Tensor], device: str) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True).to(device)
