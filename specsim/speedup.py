"""Is it faster, with how many drafts, and up to which batch?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specsim import checks
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
    if speedup(replace(scenario, batch=top)) >= 1:
        return None
    return next((batch for batch in range(top - 1, 0, -1) if speedup(replace(scenario, batch=batch)) >= 1), 0)
