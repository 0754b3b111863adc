"""Acceptance by depth on texts that no step has seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from validation.heads.head import Head
from validation.train.batches import Batch
from validation.train.losses import overlap
from validation.train.objective import Laws, nodes
from validation.train.rollout import Step, drawn_starts, play


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOut:
    """What a chain of drafts comes to.

    Parameters
    ----------
    alphas
        (K,), probability that draft k is accepted when all before it were, at temperature 1 with sampled drafts [1].
    agreements
        (K,), the same at temperature 0: the most probable tokens agree [1].
    places, greedy_places
        How many starts that is measured from at temperature 1 and at 0 [1].
    """

    alphas: tuple[float, ...]
    agreements: tuple[float, ...]
    places: int
    greedy_places: int

    @property
    def tau(self) -> float:
        """Expected tokens of a round at temperature 1, the bonus token included [1]."""
        return _tau(self.alphas)

    @property
    def tau_greedy(self) -> float:
        """Expected tokens of a round at temperature 0 [1]."""
        return _tau(self.agreements)


@torch.no_grad()
def measure(head: Head, batches: Iterable[Batch], *, depth: int, starts: int = 0) -> HeldOut:
    """Play a head over batches and weigh each place by how likely its drafts would have come so far.

    Parameters
    ----------
    head
        Any head.
    batches
        Texts of the target at temperature 1 (for `alphas`) and at 0 (for `agreements`).
    depth
        Drafts of a chain [1].
    starts
        Most chains of a text, drawn from a fixed seed; 0 starts everywhere [1].

    Notes
    -----
    A text of the target at temperature 1 passes through x with probability p(x), an accepted draft with min(p, q)(x).
    So the mean of alpha over texts, each weighed by the product of min(1, q/p) over the tokens since the start, is the
    acceptance at this depth given that all drafts before were accepted, without decoding a single token.
    """
    sums = torch.zeros(4, depth, dtype=torch.float64)  # weighed alpha, weights, weighed agreement, weights
    counts = torch.zeros(2, dtype=torch.int64)
    generator = torch.Generator().manual_seed(0)
    head.eval()
    for batch in batches:
        laws = Laws(batch, head.output.weight)
        drawn = drawn_starts(batch, count=starts, depth=depth, generator=generator)
        alive: Tensor | None = None
        for k, step in enumerate(play(head, batch, depth=depth, starts=drawn)):
            here = _compare(head, batch, laws, step)
            if alive is None:
                alive = torch.ones_like(here.alpha)
                counts += torch.stack(
                    [(here.wanted & sampled).sum().cpu() for sampled in (here.sampled, ~here.sampled)]
                )
            random, greedy = (alive * (here.wanted & kind) for kind in (here.sampled, ~here.sampled))
            sums[:, k] += torch.stack(
                [(random * here.alpha).sum(), random.sum(), (greedy * here.agrees).sum(), greedy.sum()]
            ).cpu()
            alive = alive * torch.where(here.sampled, here.ratio, here.agrees)
    alphas, agreements = sums[0] / sums[1].clamp_min(1e-12), sums[2] / sums[3].clamp_min(1e-12)
    return HeldOut(
        alphas=tuple(alphas.tolist()),
        agreements=tuple(agreements.tolist()),
        places=int(counts[0]),
        greedy_places=int(counts[1]),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    """Per node (B, m): whether it counts, whether its text was sampled, alpha, min(1, q/p) of the token that came, and
    whether the most probable tokens agree.
    """

    wanted: Tensor
    sampled: Tensor
    alpha: Tensor
    ratio: Tensor
    agrees: Tensor


def _compare(head: Head, batch: Batch, laws: Laws, step: Step) -> _Compared:
    wanted = laws.wanted(step.places)
    target = laws.at(step.places, wanted)
    logits = head.logits(nodes(step.state, wanted))[0].float()
    behind = (step.places + 1).clamp_max(batch.span - 1)  # of places that count, there is a token behind each
    came = head.draft_index[batch.tokens.gather(1, behind)[wanted]]
    known, column = came < len(head.vocabulary), came.clamp_max(len(head.vocabulary) - 1)[:, None]
    q, p = (law.gather(1, column)[:, 0] for law in (torch.softmax(logits, dim=-1), target))
    ratio = torch.where(known, (q / p.clamp_min(1e-30)).clamp_max(1), 0)
    agrees = head.vocabulary[logits.argmax(-1)] == batch.best.gather(1, step.places)[wanted]
    spread = torch.zeros(3, *wanted.shape, dtype=torch.float64, device=wanted.device)
    spread[:, wanted] = torch.stack([overlap(logits, target), ratio, agrees.float()]).double()
    alpha, ratio, agrees = spread
    return _Compared(
        wanted=wanted, sampled=batch.sampled[:, None].expand_as(wanted), alpha=alpha, ratio=ratio, agrees=agrees
    )


def _tau(rates: Iterable[float]) -> float:
    survival, total = 1.0, 1.0
    for rate in rates:
        survival *= rate
        total += survival
    return total
