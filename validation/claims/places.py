"""Laws at the places of texts that the target wrote alone, and the rounds that a drafter would play over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from specsim.checks import FloatArray
from specsim.distributions import Sampling, argmax_overlap, overlap
from validation.claims.drafting import Chains, Drafting, Texts
from validation.decoder.loop import stream

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.model import CachedModel

RANKS = 8
"""Most probable tokens of the drafter that are looked at [1]."""


class Places(NamedTuple):
    """What target and drafter say at every place of a text with speculation off, shape (N,) each.

    `sampled` and `argmax` are the chances of the two kinds of draft; `ratio` and `agrees` are the chances that such a
    draft stood, given the token that came; `peak` is the drafter's largest probability; `ranks` (N, R) the target's
    probability of the drafter's most probable tokens [1].
    """

    sampled: FloatArray
    argmax: FloatArray
    ratio: FloatArray
    agrees: FloatArray
    peak: FloatArray
    ranks: FloatArray


Laws = tuple[float, float]
"""Temperatures of the target's law and of the drafter's [1]."""


@lru_cache(maxsize=32)
def reading(pair: Drafting, texts: Texts, *, laws: tuple[Laws, ...] = ((1.0, 1.0),)) -> dict[Laws, list[Places]]:
    """Let the target write texts alone, read each by one pass of either model, and compare their laws, text by text."""
    found: dict[Laws, list[Places]] = {each: [] for each in laws}
    requests = texts.requests(pair.loaded)
    for request, tokens in zip(requests, _written(pair, texts), strict=True):
        target, draft = (_logits(model, request.prompt, tokens) for model in (pair.target, pair.draft))
        for of_target, of_draft in laws:
            p = Sampling(temperature=of_target).probabilities(target)
            q = Sampling(temperature=of_draft).probabilities(draft)
            found[of_target, of_draft].append(_compared(p, q, tokens))
    return found


@lru_cache(maxsize=32)
def _written(pair: Drafting, texts: Texts) -> list[list[int]]:
    written: list[list[int]] = [[] for _ in range(texts.count)]
    for step in stream(pair.target, None, texts.requests(pair.loaded), gamma=0, batch=pair.batch):
        written[step.place] += step.tokens
    return written


def _logits(model: CachedModel, prompt: Sequence[int], tokens: Sequence[int]) -> FloatArray:
    model.truncate(0)
    return np.asarray(model.score([*prompt, *tokens[:-1]], keep=len(tokens)))


def _compared(p: FloatArray, q: FloatArray, tokens: Sequence[int]) -> Places:
    came = np.asarray(tokens)[:, None]
    of_p, of_q = (np.take_along_axis(law, came, axis=-1)[:, 0].astype(np.float64) for law in (p, q))
    best = np.argpartition(-q, RANKS, axis=-1)[:, :RANKS]
    best = np.take_along_axis(best, np.argsort(-np.take_along_axis(q, best, axis=-1), axis=-1), axis=-1)
    return Places(
        sampled=overlap(p, q),
        argmax=argmax_overlap(p, q),
        ratio=np.minimum(1.0, of_q / np.maximum(of_p, 1e-300)),
        agrees=(q.argmax(axis=-1) == came[:, 0]).astype(np.float64),
        peak=q.max(axis=-1),
        ranks=np.take_along_axis(p, best, axis=-1),
    )


def foreseen(texts: Sequence[Places], *, gamma: int, argmax: bool = False) -> Chains:
    """The rounds that chains of gamma drafts would play over texts that the target wrote alone, without a coin.

    Notes
    -----
    Exact in expectation for token verification. Given the text, a draft at a place stood with probability
    min(1, q(x) / p(x)) for the token x that came (for an argmax draft: if it is that token), whatever happened before;
    so the chance that a round begins at a place, or has come to depth k there, follows place by place. Rounds begin
    where drafts fell: where hard places come in runs, plain averages over a text are too high.
    """
    rounds, survived = [], []
    for places in texts:
        stands, chances = (places.agrees, places.argmax) if argmax else (places.ratio, places.sampled)
        judged = judged_places(stands, gamma=gamma)
        rounds.append(judged[:, 0].sum())
        survived.append(chances @ judged)
    return Chains(rounds=np.array(rounds), survived=np.array(survived))


def judged_places(stands: FloatArray, *, gamma: int) -> FloatArray:
    """P(a draft of depth k is judged at a place), in rounds with room for gamma drafts, shape (N, gamma) [1].

    Examples
    --------
    >>> judged_places(np.array([0.5, 1.0, 0.0, 0.0]), gamma=1).ravel()
    array([1. , 0.5, 0.5, 0. ])
    """
    size = len(stands)
    judged = np.zeros((size + 2, gamma))
    judged[0, 0] = 1.0
    for place, chance in enumerate(stands):
        if place + gamma >= size:
            judged[place, 0] = 0.0
        here = judged[place]
        judged[place + 1, 1:] += here[:-1] * chance
        judged[place + 1, 0] += here.sum() * (1 - chance)
        judged[place + 2, 0] += here[-1] * chance
    return judged[:size]
