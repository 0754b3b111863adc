"""What the busiest device of a mixture layer gets: rows to compute and experts to read."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from specsim.checks import FloatArray
from specsim.errors import InputError

DEALS = 8
HOTTEST = 0.8


def busiest_load(
    *, tokens: int, experts: int, active: int, expert_parallel: int = 1, skew: float | None = None
) -> tuple[float, float]:
    """Rows and awake experts of the busiest of `expert_parallel` devices, for one mixture layer.

    Parameters
    ----------
    tokens, experts, active : int
        Tokens of the pass, experts of the layer, experts per token [1].
    expert_parallel : int
        Devices that the experts are dealt to [1].
    skew : float, optional
        Exponent of the power law of an expert's tokens; None is balanced routing [1].

    Returns
    -------
    rows, awake : float
        Pairs of a token and an expert, and experts with at least one, on that device [1].

    Raises
    ------
    InputError
        Devices that do not divide the experts.

    Notes
    -----
    Balanced: every expert gets its share, and as many are awake as have a row. Skewed: an expert's tokens follow a
    density proportional to x^-skew between 1 and 0.8 `tokens`, at its quantiles, scaled to all rows and cut at `tokens`
    per expert; experts are dealt to devices at random, and the busiest device's load is averaged over 8 deals.

    Examples
    --------
    >>> busiest_load(tokens=4, experts=128, active=8)
    (32.0, 32.0)
    >>> rows, awake = busiest_load(tokens=4, experts=128, active=8, skew=1.2)
    >>> round(rows), round(awake, 1)
    (32, 32.0)
    >>> [round(float(load), 1) for load in busiest_load(tokens=64, experts=128, active=8, expert_parallel=8, skew=1.2)]
    [91.9, 14.7]
    """
    if experts % expert_parallel:
        raise InputError(f"experts must be a multiple of expert_parallel {expert_parallel}, got {experts}")
    if skew is None:
        rows = max(1.0, tokens * active / expert_parallel)
        return rows, min(experts / expert_parallel, rows)
    return _skewed(tokens, experts, active, expert_parallel, skew)


@lru_cache(maxsize=65536)
def _skewed(tokens: int, experts: int, active: int, devices: int, skew: float) -> tuple[float, float]:
    counts = skewed_counts(tokens=tokens, experts=experts, active=active, skew=skew)
    if devices == 1:
        return float(counts.sum()), float(np.minimum(1.0, counts).sum())
    generator = np.random.default_rng(0)
    loads = []
    for _ in range(DEALS):
        held = generator.permutation(counts).reshape(devices, -1)
        busiest = held[held.sum(axis=1).argmax()]
        loads.append((busiest.sum(), np.minimum(1.0, busiest).sum()))
    rows, awake = np.mean(loads, axis=0)
    return float(rows), float(awake)


def skewed_counts(*, tokens: int, experts: int, active: int, skew: float) -> FloatArray:
    """Expected tokens of each expert, fewest first, summing to tokens * active, shape (experts,) [1].

    Examples
    --------
    >>> skewed_counts(tokens=8, experts=4, active=2, skew=1.2).round(1)
    array([1.8, 2.7, 4.3, 7.2])
    """
    quantile = (np.arange(experts) + 0.5) / experts
    most = max(HOTTEST * tokens, 1.001)
    power = 1 - skew
    drawn = ((most**power - 1) * quantile + 1) ** (1 / power) if abs(power) > 1e-9 else most**quantile
    counts = drawn / drawn.sum() * tokens * active
    while counts.max() > tokens * (1 + 1e-9):  # what is cut goes to the others in proportion
        over = np.maximum(counts - tokens, 0).sum()
        free = counts < tokens
        counts = np.where(free, counts * (1 + over / counts[free].sum()), float(tokens))
    return np.asarray(counts)
