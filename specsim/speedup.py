"""Is it faster, with how many drafts, and up to which batch?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.cost import drafted_pmf
from specsim.rates import rates
from specsim.scenario import Scenario


def speedup(scenario: Scenario) -> float:
    """Tokens per second with speculation over tokens per second without, at the scenario's batch [1].

    Notes
    -----
    tau * T_AR / T_round, the long-run rate of a renewal process: a ratio of expectations, not the expectation of
    ratios. With no overhead, passes of one cost and a `RatioDrafter` it is theorem 3.8 of [1].

    References
    ----------
    .. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192.

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 9), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.1, step_seconds=0.04)
    >>> scenario = Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=4)
    >>> round(speedup(scenario), 3)
    1.981
    """
    return scenario.tokens_per_round * scenario.plain_seconds / scenario.cost.seconds


def tokens_per_second(scenario: Scenario) -> float:
    """Tokens committed per second by all sequences of the batch together [tokens/s].

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 9), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.0, step_seconds=0.04)
    >>> tokens_per_second(Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(1.0), gamma=4))
    125.0
    """
    return scenario.batch * scenario.tokens_per_round / scenario.cost.seconds


def best_gamma(scenario: Scenario, *, max_gamma: int = 16) -> int:
    """The number of drafted tokens with the largest speedup in 0..max_gamma; the smallest of equals [1].

    0 means that no number of drafts beats plain decoding.

    Raises
    ------
    InputError
        max_gamma below 1, or beyond the depth that the acceptance or the target's cost knows.

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 17), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.1, step_seconds=0.04)
    >>> best_gamma(Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=1))
    4
    """
    gammas = range(checks.integer("max_gamma", max_gamma, low=1) + 1)
    return int(np.argmax([speedup(replace(scenario, gamma=gamma)) for gamma in gammas]))


def gaining_batches(scenario: Scenario, *, max_batch: int = 1024) -> tuple[tuple[int, int], ...]:
    """Ranges of batches in 1..max_batch, ends included, at which speculation is not slower than plain decoding [1].

    Raises
    ------
    InputError
        max_batch below 1, or a target whose cost is known for one batch only.

    Notes
    -----
    One range that begins at 1 for dense models: more sequences turn the pass compute-bound. Mixtures can have a gap:
    at small batches drafts wake experts that plain decoding does not read, at medium ones all are read anyway (MoESD,
    arXiv 2505.19645).

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.catalog import hardware, model
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Efficiency, Roofline
    >>> target = Roofline(
    ...     model=model("Qwen3-30B-A3B"), hardware=hardware("H100-SXM"), efficiency=Efficiency.ideal()
    ... )
    >>> drafter = RatioDrafter(c=0.05, step=target)
    >>> gaining_batches(Scenario(target=target, drafter=drafter, acceptance=Acceptance.constant(0.5), gamma=4))
    ((13, 1024),)
    """
    batches = np.arange(1, checks.integer("max_batch", max_batch, low=1) + 1)
    gains = np.concatenate([[False], speedups(scenario, batch=batches) >= 1, [False]])
    edges = np.flatnonzero(gains[1:] != gains[:-1])
    return tuple((int(first) + 1, int(last)) for first, last in edges.reshape(-1, 2))


def speedups(scenario: Scenario, *, batch: IntArray) -> FloatArray:
    """`speedup` at each of many batches, of the shape of `batch` [1]."""
    found = rates(
        scenario.target,
        scenario.drafter,
        acceptance=scenario.acceptance,
        gamma=scenario.gamma,
        batch=batch,
        context=scenario.context,
        host_seconds=scenario.host_seconds + scenario.sample_seconds,
    )
    drafted = np.arange(scenario.gamma + 1)
    judged = drafted_pmf(scenario.drafter, gamma=scenario.gamma) @ (
        np.asarray(scenario.drafter.target_tokens(drafted)) - 1
    )
    sampling = scenario.sample_per_token_seconds * float(judged)
    return np.asarray(found.E_tokens * found.plain_seconds / (found.round_seconds + sampling))


def crossover_batch(scenario: Scenario, *, max_batch: int = 1024) -> int | None:
    """The largest batch up to `max_batch` at which speculation is not slower than plain decoding [1].

    Returns
    -------
    int or None
        0 when it is slower at every batch; None when it is not slower at `max_batch`, so that the crossover, if there
        is one, lies beyond.

    Raises
    ------
    InputError
        max_batch below 1, or a target whose cost is known for one batch only.

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.catalog import hardware, model
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Efficiency, Roofline
    >>> gpu = hardware("H100-SXM")
    >>> target = Roofline(model=model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.ideal())
    >>> drafter = RatioDrafter(c=0.05, step=target)
    >>> crossover_batch(Scenario(target=target, drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=4))
    151
    """
    top = checks.integer("max_batch", max_batch, low=1)
    low = high = top
    while high:  # the largest, then halves from above: what lies below the last gain is not needed
        gains = np.flatnonzero(speedups(scenario, batch=np.arange(low, high + 1)) >= 1)
        if len(gains):
            last = low + int(gains[-1])
            return None if last == top else last
        low, high = (low - 1) // 2 + 1, low - 1
    return 0
