"""What a training step lowers: the losses at every depth, weighted, at the places where the target answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from specsim import checks
from validation.heads.head import Head, State
from validation.train.batches import Batch
from validation.train.losses import DEPTH_WEIGHTS, LOSSES, depth_weights, overlap
from validation.train.rollout import drawn_starts, play

OTHER_TERMS = ("confidence", "feature")
CHUNK = {"cpu": 512, "cuda": 8192}  # nodes whose laws are held at once: what fits a cache, or keeps a GPU busy


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """What is lowered.

    Parameters
    ----------
    terms
        Factor of each loss: those of `LOSSES`; "feature", the smooth L1 distance of what the head foresees from the
        target's last hidden state; "confidence", the cross-entropy of a head's confidence against alpha [1].
    depth
        Steps played [1].
    weights, decay
        Of the depths, see `depth_weights`.
    starts
        Most pairs of a text to start from, drawn anew in every step; 0 starts from all [1].
    retain
        Share of the starts of one depth that the next one is scored at [1].
    """

    terms: Mapping[str, float]
    depth: int = 1
    weights: str = "equal"
    decay: float = 4.0
    starts: int = 0
    retain: float = 1.0

    def __post_init__(self) -> None:
        for name, factor in self.terms.items():
            checks.one_of("loss", name, {*LOSSES, *OTHER_TERMS})
            checks.positive(f"loss {name}", factor)
        checks.integer("depth", self.depth, low=1)
        checks.one_of("weights", self.weights, DEPTH_WEIGHTS)
        checks.positive("decay", self.decay)
        checks.integer("starts", self.starts)
        checks.number("retain", self.retain, low=0, high=1, open_low=True)


class Scored(NamedTuple):
    """What a batch came to."""

    loss: float
    """Weighted mean of the terms."""
    alphas: Tensor
    """(K,), mean overlap of the first nodes at each depth; the given ones where nothing was played."""


def lower(head: Head, batch: Batch, objective: Objective, *, alphas: Tensor, generator: torch.Generator) -> Scored:
    """Add the gradients of the objective over a batch to those of the head's weights.

    Parameters
    ----------
    head, batch, objective
        What is compared with what, and how.
    alphas
        (K,), acceptance by depth so far, for the weights of the depths.
    generator
        Draws where to start, when not everywhere.

    Notes
    -----
    Laws are compared `CHUNK` nodes at a time and followed back to the nodes' hidden states at once, so that no more
    than a chunk of them is ever held; the hidden states of all depths are then followed back together.
    """
    laws = Laws(batch, head.output.weight)
    starts = drawn_starts(batch, count=objective.starts, depth=objective.depth, generator=generator)
    weights = depth_weights(objective.weights, alphas, decay=objective.decay)[: min(objective.depth, batch.span - 1)]
    weights = weights / weights.sum()
    total, found = torch.zeros((), device=head.vocabulary.device), alphas.clone()
    chunk = CHUNK[head.vocabulary.device.type]
    ends, gradients = [], []
    for depth, step in enumerate(play(head, batch, depth=objective.depth, starts=starts)):
        wanted = laws.wanted(step.places)
        if objective.retain < 1:
            wanted &= torch.rand(wanted.shape, generator=generator).to(wanted.device) < objective.retain**depth
        if not wanted.any():
            continue
        state = nodes(step.state, wanted)
        cut = replace(state, hidden=state.hidden.detach().requires_grad_())
        final = batch.final.gather(1, step.places[..., None].expand(-1, -1, batch.final.shape[-1]))[wanted]
        factor = float(weights[depth]) / len(final)
        for start in range(0, len(final), chunk):
            here = slice(start, start + chunk)
            target = laws.at(step.places, wanted, here)
            part = replace(cut, hidden=cut.hidden[:, here], tokens=cut.tokens[:, here])
            logits = head.logits(part)[0].float()
            loss = factor * _terms(head, part, logits, target, final[here], objective.terms)
            loss.backward()
            total += loss.detach()
            if start == 0:
                found[depth] = overlap(logits.detach(), target).mean()
        if state.hidden.requires_grad:  # the first state of some heads is the target's own
            ends.append(state.hidden)
            gradients.append(cut.hidden.grad)
    if ends:
        torch.autograd.backward(ends, gradients)
    return Scored(float(total), found)


class Laws:
    """The target's probabilities of the draft vocabulary at every answered place of a batch, computed once."""

    def __init__(self, batch: Batch, output: Tensor) -> None:
        self._answered = batch.answered
        self._row = (batch.answered.flatten().cumsum(0) - 1).view_as(batch.answered)
        with torch.no_grad(), torch.autocast(output.device.type, enabled=False):
            state = batch.final[batch.answered].float()
            self._laws = torch.exp(state @ output.float().T - batch.log_total[batch.answered][:, None])

    def wanted(self, places: Tensor) -> Tensor:
        """(B, m) of bool: which places were answered."""
        return self._answered.gather(1, places)

    def at(self, places: Tensor, wanted: Tensor, part: slice = slice(None)) -> Tensor:
        """(N, D), the laws at the wanted ones of `places`, or at a part of those."""
        return self._laws[self._row.gather(1, places)[wanted][part]]


def nodes(state: State, wanted: Tensor) -> State:
    """The wanted nodes of all rows, as one row."""
    return replace(state, hidden=state.hidden[wanted][None], tokens=state.tokens[wanted][None])


def _terms(
    head: Head, state: State, logits: Tensor, target: Tensor, final: Tensor, terms: Mapping[str, float]
) -> Tensor:
    """All terms with their factors, summed over N nodes: logits and target (N, D), the target's states (N, d)."""
    loss = torch.zeros((), device=logits.device)
    for name, factor in terms.items():
        if name == "confidence":
            known = head.confidence(state)[0].float()
            each = functional.binary_cross_entropy_with_logits(
                known, overlap(logits.detach(), target).clamp(0, 1), reduction="sum"
            )
        elif name == "feature":
            each = functional.smooth_l1_loss(head.foreseen(state)[0].float(), final.float(), reduction="none")
            each = each.mean(-1).sum()
        else:
            each = LOSSES[name](logits, target).sum()
        loss = loss + factor * each
    return loss
