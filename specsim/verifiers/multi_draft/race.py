"""The probability that all candidates drawn without replacement lie in given prefixes, from sums over their tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import pdtr

from specsim.checks import FloatArray, IntArray
from specsim.verifiers.multi_draft.covered import STEP, at_most, powers, times
from specsim.verifiers.multi_draft.search import odds

HEAVY = 256
"""The most probable tokens, whose clocks are looked at one by one [1]."""
MOST = 16
"""Candidates for which that many are enough [1]."""
NEGLIGIBLE, ROUNDING = 1e-16, 1e-13
"""Probabilities: of what is not looked at, and an error that is allowed [1]."""


class Two(NamedTuple):
    """Two candidates, for which no integral is needed: the sum of `covered_without_replacement`."""

    q: FloatArray
    """(V,)"""
    light: FloatArray
    """(V,): q, but 0 for the most probable token."""
    largest: float
    """The largest q [1]."""
    others: float
    """The sum of q over the other tokens [1]."""

    @classmethod
    def of(cls, q: FloatArray) -> Two:
        """For a law of more than two tokens."""
        largest, light = q.argmax(), q.copy()
        light[largest] = 0
        return cls(q, light, float(q[largest]), float(light.sum()))

    def columns(self, tokens: IntArray | slice) -> Iterator[FloatArray]:
        """What is summed over the tokens of a prefix."""
        q, light = self.q[tokens], self.light[tokens]
        yield q
        yield light
        column = 1 - light
        yield np.divide(light, column, out=column)
        yield np.multiply(light, column, out=column)
        yield np.not_equal(light, q, out=column)

    def covered(self, sums: FloatArray, rest: FloatArray) -> FloatArray:
        """P(both candidates lie in a prefix), for n of them."""
        _, before, weight, square, has_largest = sums
        heavy = has_largest * self.largest
        return np.asarray((before + heavy) * weight - square + heavy * before / self.others)


class Race(NamedTuple):
    """The clocks of `covered_without_replacement`, for a law of many tokens.

    At the times that matter only the heavy tokens may have rung with much probability. With x the expected rings of
    each of the others, the odds that it rang, exp(x) - 1, and their powers are series in x of few terms, so that sums
    of powers of q say how many of any set of them rang.
    """

    q: FloatArray
    """(V,)"""
    light: FloatArray
    """(V,): q, but 0 for heavy tokens."""
    time: FloatArray
    """(T, 1)"""
    rang: FloatArray
    """(K, T, HEAVY + 1): P(at most j of the first m heavy tokens rang)."""
    series: FloatArray
    """(K - 1, terms): of (exp(x) - 1)^j, j = 1..K-1, from x on."""

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray, *, candidates: int) -> Race:
        """For prefixes in the order of rising p / q, more than K tokens of q being positive."""
        heavy = _largest(q)
        rates = q[heavy][np.argsort(odds(p[heavy], q[heavy]), kind="stable")]
        light = q.copy()
        light[heavy] = 0
        most, total = light.max(), light.sum()
        time = np.array(times(float(np.sort(rates)[-candidates]), candidates=candidates))[:, None]
        # Fewer than K rings are at most as likely as for a Poisson count of the same mean, if that is at least K.
        mean = -np.expm1(-rates * time).sum(axis=1)
        if total > 0:
            mean -= total / most * np.expm1(-most * time[:, 0])
        matters = pdtr(candidates - 1, np.minimum(mean, time[:, 0])) > NEGLIGIBLE
        time = time[matters]
        series = _series(most * time.max(), total * time.max(), candidates=candidates)
        return cls(q, light, time, at_most(rates * time, count=candidates), series)

    def columns(self, tokens: IntArray | slice) -> Iterator[FloatArray]:
        """What is summed over the tokens of a prefix."""
        q, light = self.q[tokens], self.light[tokens]
        yield q
        yield light
        column = light * light
        for _ in range(self.series.shape[1] - 1):
            yield column
            column *= light
        yield np.not_equal(light, q, out=column)

    def covered(self, sums: FloatArray, rest: FloatArray) -> FloatArray:
        """P(all candidates lie in a prefix), for n of them: the integral of `covered_without_replacement`."""
        inside, light, first = sums[0], sums[1:-1], np.rint(sums[-1]).astype(np.intp)
        count, powers_of_time = len(self.rang), self.time ** np.arange(1, len(light) + 1)
        powers_of_odds = [(row * powers_of_time) @ light for row in self.series]
        polynomials = [np.exp(-self.time * (light[0] + rest))]
        for j in range(1, count):  # Newton's identities
            terms = [(-1) ** (i - 1) * polynomials[j - i] * powers_of_odds[i - 1] for i in range(1, j + 1)]
            polynomials.append(np.sum(terms, axis=0) / j)
        fewer = sum(polynomials[j] * self.rang[count - 1 - j][:, first] for j in range(count))
        poisson = np.exp(-self.time) * powers(inside * self.time, count=count)
        return np.asarray(inside**count + (STEP * self.time * rest * (poisson - fewer)).sum(axis=0))


def _largest(q: FloatArray) -> IntArray:
    """The HEAVY tokens of largest q, looked for above what a sample says twice as many exceed."""
    sample = q[::16]
    rank = min(2 * HEAVY // 16, sample.size)
    some = np.flatnonzero(q >= np.partition(sample, -rank)[-rank])
    if some.size < HEAVY:
        some = np.arange(q.size)
    return np.sort(some[np.argpartition(q[some], -HEAVY)[-HEAVY:]])


def _series(most: float, total: float, *, candidates: int) -> FloatArray:
    """Of (exp(x) - 1)^j for x up to `most`, so far that what is left out, with `total` the sum of x, is rounding."""
    terms = 2
    while total * ((candidates - 1) * most) ** terms / math.factorial(terms + 1) > ROUNDING:
        terms += 1
    base = np.array([1 / math.factorial(n) for n in range(terms + 1)])
    base[0] = 0
    rows = [base]
    for _ in range(candidates - 2):
        rows.append(np.convolve(rows[-1], base)[: terms + 1])
    return np.stack(rows)[:, 1:]
