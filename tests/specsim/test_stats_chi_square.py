"""Chi-square: its twin, pooling, impossible cells; and the power that is promised for it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from specsim import stats
from specsim.errors import InputError
from specsim.stats.chi_square import pool
from specsim.stats.chi_square_tail import _cumulants, pearson_tail


def test_agrees_with_scipy_when_nothing_is_pooled() -> None:
    ours = stats.goodness_of_fit([30, 20, 50], [0.3, 0.3, 0.4])
    theirs = scipy_stats.chisquare([30, 20, 50], [30, 30, 40])
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.pvalue == pytest.approx(theirs.pvalue, rel=1e-12)


@given(st.lists(st.floats(0.01, 30), min_size=2, max_size=30), st.integers(0, 2**32 - 1))
def test_pooling_loses_nothing_and_leaves_no_small_cell(expected: list[float], seed: int) -> None:
    hoped = np.array(expected)
    observed = np.random.default_rng(seed).poisson(hoped).astype(float)
    seen, merged = pool(observed, hoped, min_expected=5)
    if hoped.max() < 5 and hoped.sum() < 5:
        assert merged.size == 0
        return
    assert merged.min() >= 5
    assert merged.sum() == pytest.approx(hoped.sum())
    assert seen.sum() == observed.sum()


def test_pooling_does_not_touch_its_input() -> None:
    observed, expected = np.array([9.0, 8.0, 1.0]), np.array([10.0, 7.0, 1.0])
    pool(observed, expected, min_expected=5)
    assert observed.tolist() == [9.0, 8.0, 1.0]


def test_an_impossible_cell_rejects_whatever_the_rest_looks_like() -> None:
    outcome = stats.goodness_of_fit([500, 500, 1], [0.5, 0.5, 0.0])
    assert (outcome.pvalue, outcome.statistic) == (0.0, math.inf)
    assert "cell 2 has probability 0 and was seen 1 times" in outcome.detail
    assert stats.goodness_of_fit([500, 500, 0], [0.5, 0.5, 0.0]).pvalue == 1.0


@pytest.mark.parametrize("cells", [16, 200])
def test_the_promised_total_variation_is_caught_as_often_as_promised(cells: int) -> None:
    """The hardest alternative at that distance (p'/p takes two values), 2000 runs at power 0.9 and level 1e-3.

    Null: power in 0.87..0.93, which also allows for the chi-square approximation; two one-sided bands at 5e-7.
    """
    rng, n, runs = np.random.default_rng(4), 40 * cells, 2000
    law = np.full(cells, 1 / cells)
    distance = stats.smallest_total_variation(n=n, cells=cells, level=1e-3, power=0.9)
    bent = law * (1 + 2 * distance * np.where(np.arange(cells) % 2, 1, -1))
    assert np.abs(bent - law).sum() / 2 == pytest.approx(distance)
    caught = sum(not stats.goodness_of_fit(rng.multinomial(n, bent), law).passed(1e-3) for _ in range(runs))
    assert stats.exact_binomial(caught, runs, probability=0.87, alternative="less").pvalue > 5e-7
    assert stats.exact_binomial(caught, runs, probability=0.93, alternative="greater").pvalue > 5e-7


def tail_by_enumeration(expected: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Values of Pearson's statistic in steps of 1 / lcm, and P(X >= value), over all multinomial counts.

    Poisson cells one by one, by their sum and the sum of squares over expectations; then given the sum.
    """
    n, unit = sum(expected), math.lcm(*expected)
    top = int(unit * (n + 6 * len(expected) + 40 * math.sqrt(2 * len(expected)) + 120))
    law = np.zeros((n + 1, top + 1))
    law[0, 0] = 1
    for mean in expected:
        new = np.zeros_like(law)
        for count in range(n + 1):
            square = count**2 * unit // mean
            if square > top:
                break
            weight = scipy_stats.poisson.pmf(count, mean)
            new[count:, square:] += weight * law[: n + 1 - count, : top + 1 - square]
        law = new
    tail = law[n, ::-1].cumsum()[::-1] / scipy_stats.poisson.pmf(n, n)
    return np.arange(top + 1) / unit - n, tail


@pytest.mark.parametrize("expected", [[5, 5], [5] * 4, [5] * 8, [5] * 16, [10] * 8, [20] * 4, [5, 50], [5, 5, 5, 50]])
def test_tails_hold_down_to_1e_8_by_enumeration(expected: list[int]) -> None:
    """Exact rate of rejection at each nominal level; smaller by design far out, never idle."""
    values, tail = tail_by_enumeration(expected)
    low = int((tail > 0.2).sum())
    nominal = np.array([pearson_tail(x, [np.array(expected, dtype=float)]) for x in values[low:]])
    for level, allowed in ((1e-2, 1.1), (1e-3, 1.5), (1e-4, 1.1), (1e-5, 1.0), (1e-6, 1.0), (1e-8, 1.2)):
        assert tail[low:][nominal <= level].max(initial=0.0) <= allowed * level
    plain = scipy_stats.chi2.sf(values[low:], len(expected) - 1)
    assert (nominal >= plain).all()
    assert len(expected) != 16 or tail[low:][plain <= 1e-6].max() > 4e-6  # what the guard is for


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.3, 0.7], [1 / 3] * 3, [0.2, 0.3, 0.5]])
def test_cumulants_by_enumeration(p: list[float]) -> None:
    """All counts of n = 60: mean and variance exact, the third cumulant up to 1 / n^2."""
    n, law = 60, np.array(p)
    grids = np.stack(np.meshgrid(*[np.arange(n + 1)] * (law.size - 1), indexing="ij"), -1).reshape(-1, law.size - 1)
    grids = grids[grids.sum(axis=1) <= n]
    counts = np.column_stack([grids, n - grids.sum(axis=1)])
    weight = scipy_stats.multinomial.pmf(counts, n, law)
    x = ((counts - n * law) ** 2 / (n * law)).sum(axis=1)
    mean = weight @ x
    ours = _cumulants(n * law)
    assert ours[:2] == pytest.approx((mean, weight @ (x - mean) ** 2), rel=1e-9)
    assert ours[2] == pytest.approx(weight @ (x - mean) ** 3, abs=300 / n**2)


def test_half_that_distance_is_not_caught_as_often() -> None:
    distance = stats.smallest_total_variation(n=5000, cells=50, level=1e-3, power=0.9)
    power = stats.chi_square_power(n=5000, cells=50, level=1e-3, total_variation=distance / 2)
    assert power < 0.2


@pytest.mark.parametrize("n", [100, 10_000])
def test_power_and_distance_invert_each_other(n: int) -> None:
    distance = stats.smallest_total_variation(n=n, cells=16, level=1e-6, power=0.99)
    assert stats.chi_square_power(n=n, cells=16, level=1e-6, total_variation=distance) == pytest.approx(0.99, abs=1e-6)
    assert stats.chi_square_power(n=n, cells=16, level=1e-6, total_variation=0.0) == pytest.approx(1e-6)
    assert stats.smallest_total_variation(n=4 * n, cells=16, level=1e-6) == pytest.approx(distance / 2, rel=1e-6)


def test_too_few_observations_promise_nothing() -> None:
    assert stats.smallest_total_variation(n=1, cells=16, level=1e-6) == 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"power": 1.0}, "power must be in"),
        ({"level": 0.0}, "level must be in"),
        ({"level": 0.995}, "power must be above level"),
        ({"cells": 1}, "cells must be at least 2"),
        ({"n": 0}, "n must be at least 1"),
    ],
)
def test_power_refuses_bad_input(changes: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        stats.smallest_total_variation(**{"n": 10, "cells": 4, "level": 0.01, **changes})  # type: ignore[arg-type]
