"""Monte Carlo of rounds played with tokens: drafts drawn, judged by a rule, and the text carried on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import one_hot, sample
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.simulate.source import TokenSource
from specsim.verifiers import VERIFIERS, Verifier, at_position

BLOCK_NUMBERS = 1 << 20
"""Probabilities that a block of texts holds at once; part of what a seed means [1]."""
DRAFTS = ("sampled", "argmax")


def simulate_source(
    source: TokenSource,
    *,
    gamma: int,
    requests: int,
    rounds_per_request: int,
    seed: int,
    verifier: str = "rejection",
    draft: str = "sampled",
    executor: Executor | None = None,
) -> IntArray:
    """How many rounds accepted 0..gamma drafts, over many texts of several rounds each.

    Parameters
    ----------
    source : TokenSource
        `MarkovSource` or `DepthSource`.
    gamma : int
        Drafted tokens per round [1].
    requests, rounds_per_request : int
        Texts, and rounds of each; a text goes on from what its last round committed [1].
    seed : int
        The counts depend on this, not on `executor`.
    verifier : str
        A key of `VERIFIERS`.
    draft : str
        "sampled" draws drafts from q; "argmax" takes its first largest token, judged as no draw.
    executor : concurrent.futures.Executor or None
        Where to play blocks of texts, in any order; None plays them here.

    Returns
    -------
    array of int64, shape (G + 1,)
        Counts that sum to requests * rounds_per_request [1].

    Raises
    ------
    InputError
        A count below its least, a gamma beyond the source's laws, an unknown rule or kind of draft.

    Notes
    -----
    Texts are played in blocks with a stream of random numbers each. How many texts make a block follows from V and
    gamma alone (2^20 probabilities at once), so the memory does not grow with the rounds.

    Examples
    --------
    >>> from specsim.simulate import MarkovSource
    >>> same = MarkovSource(p=[0.5, 0.5], q=[0.5, 0.5])
    >>> simulate_source(same, gamma=2, requests=10, rounds_per_request=5, seed=0)
    array([ 0,  0, 50])
    """
    plan = _plan(source, gamma=gamma, rounds=rounds_per_request, seed=seed, verifier=verifier, draft=draft)
    sizes = list(_sizes(checks.integer("requests", requests), plan.texts))
    counts = np.zeros(plan.gamma + 1, dtype=np.int64)
    for found in (map if executor is None else executor.map)(partial(_counted, plan), range(len(sizes)), sizes):
        counts += found
    return counts


def simulate_source_records(
    source: TokenSource,
    *,
    gamma: int,
    requests: int,
    rounds_per_request: int,
    seed: int,
    verifier: str = "rejection",
    draft: str = "sampled",
) -> list[RoundRecord]:
    """The rounds of `simulate_source`, the very same for the same seed, as rows without times, text by text."""
    plan = _plan(source, gamma=gamma, rounds=rounds_per_request, seed=seed, verifier=verifier, draft=draft)
    records = []
    first = 0
    for block, size in enumerate(_sizes(checks.integer("requests", requests), plan.texts)):
        lengths = np.asarray(list(_rounds(plan, block, size)), dtype=np.int64).reshape(plan.rounds, size)
        context = len(source.start) + np.cumsum(lengths + 1, axis=0) - lengths - 1
        records += [
            RoundRecord(
                request=str(first + text),
                round=turn,
                proposer=draft if plan.gamma else "none",
                verifier=verifier,
                gamma=plan.gamma,
                drafted=plan.gamma,
                accepted=int(lengths[turn, text]),
                committed=int(lengths[turn, text]) + 1,
                context_tokens=int(context[turn, text]),
                draft_passes=plan.gamma,
            )
            for text in range(size)
            for turn in range(plan.rounds)
        ]
        first += size
    return records


def first_round_pmf(
    source: TokenSource, *, gamma: int, verifier: str = "rejection", draft: str = "sampled"
) -> FloatArray:
    """Exact law of the accepted drafts of a text's first round, of any round where laws look back at nothing.

    Returns
    -------
    array, shape (G + 1,)
        P(accepted = 0..G) [1].

    Examples
    --------
    >>> from specsim.simulate import MarkovSource
    >>> first_round_pmf(MarkovSource(p=[0.5, 0.3, 0.2], q=[0.2, 0.3, 0.5]), gamma=2).round(2)
    array([0.3 , 0.21, 0.49])
    """
    plan = _plan(source, gamma=gamma, rounds=1, seed=0, verifier=verifier, draft=draft)
    p_tables, q_tables = source.tables(plan.gamma)
    if not plan.samples:
        q_tables = [one_hot(table.argmax(axis=-1), vocabulary=source.vocabulary) for table in q_tables]
    return plan.rule.accepted_pmf(p_tables, q_tables)


class _Plan(NamedTuple):
    source: TokenSource
    gamma: int
    rounds: int
    seed: int
    rule: Verifier
    samples: bool
    texts: int
    """In a block."""


def _plan(source: TokenSource, *, gamma: int, rounds: int, seed: int, verifier: str, draft: str) -> _Plan:
    drafts = checks.integer("gamma", gamma)
    if source.most_drafts is not None and drafts > source.most_drafts:
        raise InputError(f"gamma must be in 0..{source.most_drafts}, the depths of the source, got {drafts}")
    return _Plan(
        source=source,
        gamma=drafts,
        rounds=checks.integer("rounds_per_request", rounds),
        seed=checks.integer("seed", seed),
        rule=VERIFIERS[checks.one_of("verifier", verifier, VERIFIERS)],
        samples=checks.one_of("draft", draft, DRAFTS) == "sampled",
        texts=max(1, BLOCK_NUMBERS // ((2 * drafts + 1) * source.vocabulary)),
    )


def _counted(plan: _Plan, block: int, size: int) -> IntArray:
    counts = np.zeros(plan.gamma + 1, dtype=np.int64)
    for accepted in _rounds(plan, block, size):
        counts += np.bincount(accepted, minlength=plan.gamma + 1)
    return counts


def _rounds(plan: _Plan, block: int, size: int) -> Iterator[IntArray]:
    """Accepted drafts of each text of a block, round by round."""
    source, back = plan.source, len(plan.source.start)
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(plan.seed, spawn_key=(block,))))
    text = np.tile(np.asarray([*source.start, *(0,) * (plan.gamma + 1)], dtype=np.intp), (size, 1))
    position = np.full(size, back)
    for _ in range(plan.rounds):
        p, q = [source.target_rows(text[:, :back], depth=0)], []
        for depth in range(plan.gamma):
            q.append(source.draft_rows(text[:, depth : depth + back], depth=depth))
            text[:, back + depth] = sample(q[-1], rng.random(size)) if plan.samples else q[-1].argmax(axis=-1)
            p.append(source.target_rows(text[:, depth + 1 : depth + 1 + back], depth=depth + 1))
        turn = at_position(plan.rule, position).verify(
            np.stack(p, axis=1),
            text[:, back : back + plan.gamma],
            q=np.stack(q, axis=1) if plan.samples and q else None,
            rng=rng,
        )
        accepted = np.asarray(turn.accepted, dtype=np.int64)
        text[np.arange(size), back + accepted] = turn.token
        text[:, :back] = np.take_along_axis(text, accepted[:, None] + 1 + np.arange(back), axis=1)
        position += accepted + 1
        yield accepted


def _sizes(total: int, size: int) -> Iterator[int]:
    return (min(size, total - start) for start in range(0, total, size))
