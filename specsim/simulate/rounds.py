"""Monte Carlo of rounds: accepted lengths by the billion, and records as a decoder would write them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from functools import partial

import numpy as np

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray, IntArray
from specsim.cost import verify_seconds
from specsim.drafters import Drafter
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.scenario import Scenario

STREAM_ROUNDS = 1 << 20
"""Rounds that share one stream of random numbers; part of what a seed means [1]."""

CELLS = 1 << 12
"""Parts of [0, 1) that rounds are counted in before any is looked at more closely [1]."""


def simulate_accepted(
    acceptance: Acceptance,
    *,
    gamma: int,
    rounds: int,
    seed: int,
    drafter: Drafter | None = None,
    chunk: int = 1 << 17,
    executor: Executor | None = None,
) -> IntArray:
    """How many of `rounds` independent rounds accepted 0..gamma drafts, by one inverse-CDF draw a round.

    Parameters
    ----------
    acceptance : Acceptance
        By depth.
    gamma : int
        Drafted tokens asked for [1].
    rounds : int
        Rounds to draw [1].
    seed : int
        The counts depend on this, not on `chunk` or `executor`.
    drafter : Drafter or None
        Where it may propose fewer than `gamma`, draft k stands with P(drafted >= k) s_k.
    chunk : int
        Rounds in memory at once, about [1].
    executor : concurrent.futures.Executor or None
        Where to draw the streams of 2^20 rounds each, in any order; None draws them here.

    Returns
    -------
    array of int64, shape (G + 1,)
        Counts that sum to `rounds` [1].

    Raises
    ------
    InputError
        A count below its least, acceptance that is not known down to `gamma`, or a drafter more likely to propose
        more tokens than fewer.

    Notes
    -----
    Exact up to the 2^-53 grid of the uniforms. A round is a uniform u, and accepts the number of s_k above u; of u's
    bits only those are drawn that decide it, so the time does not depend on `gamma`.

    Examples
    --------
    >>> simulate_accepted(Acceptance.constant(1.0), gamma=2, rounds=1000, seed=0)
    array([   0,    0, 1000])
    """
    survival = acceptance.survival(gamma)
    if drafter is not None:
        survival = survival * drafter.proposed_survival(gamma)
    if (np.diff(survival) > 0).any():
        raise InputError("the drafter's proposed_survival must never rise with depth")
    total = checks.integer("rounds", rounds)
    draw = partial(
        _reaching, survival=survival, seed=checks.integer("seed", seed), chunk=checks.integer("chunk", chunk, low=1)
    )
    streams, sizes = range(-(-total // STREAM_ROUNDS)), _sizes(total, STREAM_ROUNDS)
    reaching = np.zeros(survival.size + 2, dtype=np.int64)
    for counts in (map if executor is None else executor.map)(draw, streams, sizes):
        reaching[1:-1] += counts
    reaching[0] = total
    return -np.diff(reaching)


def simulate_records(
    scenario: Scenario,
    *,
    requests: int,
    rounds_per_request: int,
    seed: int,
    noise: float = 0.05,
    verifier: str = "rejection",
) -> list[RoundRecord]:
    """Records of rounds that follow a scenario exactly but for noise in their times.

    Parameters
    ----------
    scenario : Scenario
        Its `context` is that of every round; gamma 0 gives plain decoding.
    requests, rounds_per_request : int
        Size [1].
    seed : int
        The records depend on this alone.
    noise : float
        Standard deviation of the logarithm of the factor on each part of each round's time; its mean is 1 [1].
    verifier : str
        The name that the records carry.

    Returns
    -------
    list of RoundRecord
        Request by request. `draft_passes` is 0, since a scenario does not say how a drafter works.
    """
    shape = (checks.integer("requests", requests), checks.integer("rounds_per_request", rounds_per_request))
    rng = np.random.default_rng(checks.integer("seed", seed))
    gamma, batch, context = scenario.gamma, scenario.batch, scenario.context
    drafted = _standing(scenario.drafter.proposed_survival(gamma), rng.random(shape))
    accepted = np.minimum(drafted, _standing(scenario.acceptance.survival(gamma), rng.random(shape)))
    judged = np.asarray(scenario.drafter.target_tokens(drafted)) - 1
    spread = checks.non_negative("noise", noise)
    draft, verify, sample, host = (
        np.broadcast_to(seconds, shape) * rng.lognormal(-(spread**2) / 2, spread, shape)
        for seconds in (
            scenario.drafter.draft_seconds(drafted, batch=batch, context=context) if gamma else 0.0,
            verify_seconds(scenario.target, scenario.drafter, drafted, batch=batch, context=context),
            scenario.sample_seconds + scenario.sample_per_token_seconds * judged,
            scenario.host_seconds,
        )
    )
    return [
        RoundRecord(
            request=str(request),
            round=turn,
            proposer=scenario.drafter.name if gamma else "none",
            verifier=verifier,
            gamma=gamma,
            drafted=int(drafted[request, turn]),
            accepted=int(accepted[request, turn]),
            committed=int(accepted[request, turn]) + 1,
            batch=batch,
            context_tokens=context,
            draft_seconds=float(draft[request, turn]),
            verify_seconds=float(verify[request, turn]),
            sample_seconds=float(sample[request, turn]),
            host_seconds=float(host[request, turn]),
        )
        for request, turn in np.ndindex(shape)
    ]


def _standing(survival: FloatArray, uniforms: FloatArray) -> IntArray:
    return np.asarray((uniforms[..., None] < survival).sum(axis=-1))


def _sizes(total: int, size: int) -> Iterator[int]:
    return (min(size, total - start) for start in range(0, total, size))


def _reaching(stream: int, rounds: int, *, survival: FloatArray, seed: int, chunk: int) -> IntArray:
    """How many rounds of a stream accepted 1..G drafts at least, shape (G,).

    The first 12 bits of each round's uniform put it into one of 2^12 cells. All rounds of a cell that no threshold cuts
    accept alike, so they need no further bits; the others get 53 more.
    """
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(stream,))))
    cells = np.zeros(CELLS, dtype=np.int64)
    for size in _sizes(rounds, max(4, chunk - chunk % 4)):  # whole words, so that chunks cut no word in two
        words = rng.integers(0, 2**64, -(-size // 4), dtype=np.uint64).astype("<u8", copy=False)
        cells += np.bincount(words.view("<u2")[:size] >> 4, minlength=CELLS)
    before = np.concatenate(([0], np.cumsum(cells)))
    thresholds = survival * CELLS
    starts = thresholds.astype(np.intp)
    cut = np.unique(starts[thresholds > starts])
    uniforms = np.sort(np.repeat(cut, cells[cut]) + rng.random(int(cells[cut].sum())))
    return np.asarray(before[starts] + np.searchsorted(uniforms, thresholds) - np.searchsorted(uniforms, starts))
