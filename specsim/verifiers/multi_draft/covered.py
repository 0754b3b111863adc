"""The probability that all candidates drawn without replacement lie among the first m tokens, for every m."""

from __future__ import annotations

import math

import numpy as np

from specsim.checks import FloatArray
from specsim.verifiers.multi_draft.sorted_rows import running_sum

STEP = 0.25
"""Of the trapezoidal rule in the logarithm of time; the error falls as exp(-2 pi 1.3 / STEP), here below 1e-12 [1]."""
CERTAIN = 40.0
"""Expected rings of a clock that has rung for certain: exp(-40) is below rounding [1]."""
HOPELESS = 600.0
"""Expected rings of many clocks beyond which fewer than K rings are out of the question [1]."""


def covered_without_replacement(q: FloatArray, *, candidates: int) -> FloatArray:
    """P(all candidates lie in the first m tokens), m = 0..V.

    Parameters
    ----------
    q : array, shape (N, V)
        Draft laws, their tokens in the order in which prefixes are taken [1].
    candidates : int
        K; where a law has fewer tokens, all of them are drawn [1].

    Returns
    -------
    array, shape (N, V + 1)
        Exact for one and two candidates, to about 1e-12 for more [1].

    Examples
    --------
    >>> covered_without_replacement(np.array([[0.5, 0.25, 0.25]]), candidates=2).round(4)
    array([[0.    , 0.    , 0.4167, 1.    ]])
    """
    covered = np.zeros((len(q), q.shape[-1] + 1))
    support = np.count_nonzero(q, axis=-1)
    for drawn in np.unique(np.minimum(support, candidates)):
        rows = np.minimum(support, candidates) == drawn
        covered[rows] = _covered(q[rows], candidates=int(drawn))
    whole = running_sum((q > 0).astype(np.float64)) == support[:, None]
    return np.where(whole, 1.0, np.where((support <= candidates)[:, None], 0.0, covered))


def _covered(q: FloatArray, *, candidates: int) -> FloatArray:
    if candidates == 1:
        return running_sum(q)
    return _two(q) if candidates == 2 else _many(q, candidates=candidates)


def _two(q: FloatArray) -> FloatArray:
    """Sum over the first draw x in the prefix of q(x) (s - q(x)) / (1 - q(x)), the largest q apart for precision."""
    rows = np.arange(len(q))
    largest = q.argmax(axis=-1)
    light = q.copy()
    light[rows, largest] = 0
    before, weight = running_sum(light), light / (1 - light)
    heavy = np.where(np.arange(q.shape[-1] + 1) > largest[:, None], q[rows, largest][:, None], 0.0)
    first_light = (before + heavy) * running_sum(weight) - running_sum(weight * light)
    return np.asarray(first_light + heavy * before / before[:, -1:])


def _many(q: FloatArray, *, candidates: int) -> FloatArray:
    """By exponential clocks of rates q: all candidates lie inside if K clocks inside ring before the first outside.

    With r the rate of all clocks outside and s that inside, the probability of the opposite is the integral of
    r exp(-r t) F(t) dt, where F is the probability that fewer than K inside rang by t. For a Poisson process of rate s
    in place of the clocks inside that is 1 - s^K; F differs from its by O(t^K) early and by nothing late, so the
    difference is what is integrated.
    """
    inside, outside = running_sum(q), running_sum(q[:, ::-1])[:, ::-1]
    covered = inside**candidates
    rarest = np.partition(q, -candidates, axis=-1)[:, -candidates].min()  # of the K most probable tokens
    limit = min(HOPELESS, CERTAIN / q.max())
    for time in times(float(rarest), candidates=candidates):
        poisson = math.exp(-time) * powers(inside * time, count=candidates)
        if time <= limit:
            fewer = math.exp(-time) * _symmetric(np.expm1(q * time), count=candidates)[-1]
        else:
            fewer = np.exp(-outside * time) * at_most(q * time, count=candidates)[-1]
        covered += (STEP * time) * outside * (poisson - fewer)
    return covered


def times(rarest: float, *, candidates: int) -> list[float]:
    """Where the integral is sampled, until the K-th clock in order of rates, the rarest, has rung for certain."""
    return [math.exp(x) for x in np.arange(-36.0 / (candidates + 1), math.log(CERTAIN / rarest) + STEP, STEP)]


def at_most(rates: FloatArray, *, count: int) -> FloatArray:
    """P(at most j of the first m clocks rang), j < count, for all m, given the expected rings of each, (N, V).

    That is exp(-total rate) times the sum of the first j + 1 elementary symmetric polynomials of the odds
    exp(rate) - 1. Clocks that rang for certain are counted apart, since their odds are beyond all floats.
    """
    certain = rates > CERTAIN
    totals = running_sum(np.where(certain, 0, rates))
    hopeless = totals > HOPELESS
    odds = np.expm1(np.where(certain | hopeless[:, 1:], 0, rates))
    sums = np.stack(_symmetric(odds, count=count))
    short = np.where(hopeless, 0, np.exp(-np.minimum(totals, HOPELESS)))
    if not certain.any():
        return np.asarray(short * sums)
    left = np.arange(count)[:, None, None] - running_sum(certain.astype(np.float64)).astype(np.intp)
    return np.where(left < 0, 0, short * np.take_along_axis(sums, np.maximum(left, 0), axis=0))


def _symmetric(odds: FloatArray, *, count: int) -> list[FloatArray]:
    """Sums of the first 1, ..., count elementary symmetric polynomials of the first m odds, for all m."""
    polynomial = np.ones((len(odds), odds.shape[-1] + 1))
    sums = [polynomial]
    for _ in range(count - 1):
        polynomial = running_sum(odds * polynomial[:, :-1])
        sums.append(sums[-1] + polynomial)
    return sums


def powers(x: FloatArray, *, count: int) -> FloatArray:
    """The first `count` terms of the series of exp(x), summed."""
    total = np.ones_like(x)
    for n in range(count - 1, 0, -1):
        total *= x / n
        total += 1
    return total
