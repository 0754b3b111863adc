"""Playing a head over given texts: at every place where the text is known, as if each drafted token had been kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache

from validation.heads.head import Head, State
from validation.heads.parts import Where
from validation.train.batches import Batch


class Step(NamedTuple):
    """What the head foresees at one depth."""

    state: State
    """Of m nodes in each row."""
    places: Tensor
    """(B, m): the target's law at that place is the one to foresee; the token behind it is the one that came."""


def play(head: Head, batch: Batch, *, depth: int, starts: Tensor | None = None) -> Iterator[Step]:
    """One step per depth; the tokens of the text stand in for the drafted ones.

    Parameters
    ----------
    head
        Any head.
    batch
        Texts.
    depth
        Steps [1].
    starts
        (B, m) pairs to start from; by default all from which `depth` steps fit.

    Notes
    -----
    What starts at pair i sees the true pairs up to i and what has been drafted behind it since, as in drafting.
    Texts too short for `depth` steps give fewer.
    """
    rows, pairs = len(batch.tokens), batch.span - 1
    depth = min(depth, pairs)
    cache = DynamicCache() if head.cache_layers and (depth > 1 or head.block) else None
    here = torch.arange(pairs, device=batch.tokens.device).expand(rows, pairs)
    hidden = head.read(batch.tokens[:, 1:], batch.features[:, :-1].to(head.embedding.dtype), Where(here, None, cache))
    starts = here[:, : pairs - depth + 1] if starts is None else starts
    picked = torch.arange(rows, device=starts.device)[:, None]
    block = Where(*_block(head, starts, pairs), cache) if head.block else None
    state = head.open(batch.tokens[picked, starts + 1], hidden[picked, starts], block)
    yield Step(state, starts + 1)
    for step in range(1, depth):
        where = Where(starts + step, _behind(starts, pairs, step), cache) if head.recurrent else None
        state = head.advance(batch.tokens[picked, starts + 1 + step], state, where)
        yield Step(state, starts + 1 + step)


def drawn_starts(batch: Batch, *, count: int, depth: int, generator: torch.Generator) -> Tensor | None:
    """(B, m) pairs to start from, m at most `count`; None, which means all of them, when `count` is 0.

    Pairs behind which `depth` tokens were answered come first, then those behind which at least one was.
    """
    if count == 0:
        return None
    fits = max(1, batch.span - depth)
    first = batch.answered[:, 1 : fits + 1]
    whole = first & batch.answered[:, batch.span - fits :]
    keys = torch.rand(first.shape, generator=generator).to(first.device) + first + whole
    return keys.topk(min(count, first.shape[1]), dim=1).indices


def _known(starts: Tensor, pairs: int) -> Tensor:
    """(B, m, pairs) of bool: the true pairs that each start sees."""
    return torch.arange(pairs, device=starts.device) <= starts[..., None]


def _behind(starts: Tensor, pairs: int, step: int) -> Tensor:
    """(B, 1, m, pairs + step m): true pairs, and of what each earlier step cached the nodes of the same start."""
    own = torch.eye(starts.shape[1], dtype=torch.bool, device=starts.device).expand(len(starts), -1, -1)
    return torch.cat([_known(starts, pairs), *[own] * step], dim=-1)[:, None]


def _block(head: Head, starts: Tensor, pairs: int) -> tuple[Tensor, Tensor]:
    """Positions (B, m W) of the block of W tokens behind each start, and what they see (B, 1, m W, pairs + m W)."""
    (rows, nodes), size = starts.shape, head.block
    positions = (starts[..., None] + 1 + torch.arange(size, device=starts.device)).view(rows, nodes * size)
    inner = torch.ones(size, size, dtype=torch.bool, device=starts.device)
    own = torch.block_diag(*[inner.tril() if head.causal_block else inner] * nodes).expand(rows, -1, -1)
    known = _known(starts, pairs).repeat_interleave(size, dim=1)
    return positions, torch.cat([known, own], dim=-1)[:, None]
