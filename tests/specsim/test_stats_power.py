"""Power of scores, bets and tests of uniformity: promises kept in simulation, limits, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from specsim import stats
from specsim.errors import InputError
from specsim.stats.anderson_darling_law import limit_tail
from specsim.stats.uniform_power import _exceeds


def shifted(rng: np.random.Generator, n: int, distance: float) -> np.ndarray:
    """Uniform values of which `distance` moved from the lower half to the upper one."""
    return (rng.random(n) + (rng.random(n) < 0.5 + distance)) / 2


@pytest.mark.parametrize(
    ("test", "size", "low", "high"),
    [
        (stats.anderson_darling, stats.anderson_darling_tv, 0.87, 0.93),
        (stats.kolmogorov_smirnov, stats.kolmogorov_smirnov_tv, 0.85, 0.97),
    ],
)
def test_the_promised_shift_is_caught_as_often_as_promised(test, size, low: float, high: float) -> None:  # type: ignore[no-untyped-def]
    """1000 values, 800 runs at power 0.9 and level 1e-3; two bands at 5e-7."""
    rng, n, runs = np.random.default_rng(0), 1000, 800
    distance = size(n=n, level=1e-3, power=0.9)
    caught = sum(not test(shifted(rng, n, distance)).passed(1e-3) for _ in range(runs))
    assert stats.exact_binomial(caught, runs, probability=low, alternative="less").pvalue > 5e-7
    assert stats.exact_binomial(caught, runs, probability=high, alternative="greater").pvalue > 5e-7


@pytest.mark.parametrize("statistic", [0.8, 2.5, 6.0])
def test_without_a_shift_the_tail_is_that_of_the_limit_law(statistic: float) -> None:
    assert _exceeds(statistic, 0.0) == pytest.approx(limit_tail(statistic), abs=2e-4)


def test_results_carry_their_sizes() -> None:
    u = np.random.default_rng(1).random(400)
    assert stats.anderson_darling(u).smallest_tv == stats.anderson_darling_tv(n=400)
    assert stats.kolmogorov_smirnov(u).smallest_tv == stats.kolmogorov_smirnov_tv(n=400)
    assert stats.uniformity(u).smallest_tv == stats.smallest_total_variation(n=400, cells=16, level=1e-6)
    fair = stats.exact_binomial(50, 100, probability=0.5).smallest_tv
    assert fair == pytest.approx((scipy_stats.norm.isf(5e-7) + scipy_stats.norm.isf(0.01)) * 0.5 / 10)


def test_support_shows_its_smallest_mass_with_the_promised_probability() -> None:
    """1 - (1 - m)^n = 0.99, exactly."""
    mass = stats.support(np.full(300, 0.5)).smallest_tv
    assert mass is not None
    assert 1 - (1 - mass) ** 300 == pytest.approx(0.99)
    assert stats.support([]).smallest_tv == 1.0


@pytest.mark.parametrize("size", [stats.score_tv, lambda **sums: stats.betting_tv(bets=54, **sums)])
def test_sizes_fall_as_one_over_the_root_of_n_and_observations_invert_them(size) -> None:  # type: ignore[no-untyped-def]
    small = size(spread=500.0, variance=250.0, n=1000)
    large = size(spread=50_000.0, variance=25_000.0, n=100_000)
    assert large == pytest.approx(small / 10)
    assert stats.observations(n=1000, smallest_tv=small, total_variation=large) == 100_000
    assert size(spread=0.0, variance=0.0, n=10) == 1.0
    assert size(spread=5.0, variance=2.5, n=10) == 1.0


def test_a_bet_costs_more_than_a_score_and_less_than_twice_its_tokens() -> None:
    """Of the same tilt, 54 bets at 1e-6: the price of stopping at any time."""
    sums = {"spread": 500.0, "variance": 250.0, "n": 1000}
    assert 1 < (stats.betting_tv(bets=54, **sums) / stats.score_tv(**sums)) ** 2 < 2  # type: ignore[arg-type]
    one = stats.betting_tv(bets=1, level=1e-6, power=0.5, **sums)  # type: ignore[arg-type]
    assert one == pytest.approx(math.sqrt(2 * math.log(1e6)) * 500 / (2 * math.sqrt(250) * 1000))


def test_the_power_of_bets_is_that_of_their_size_and_one_half_where_their_drift_reaches_the_goal() -> None:
    smallest = stats.betting_tv(spread=500.0, variance=250.0, n=1000, bets=54)
    assert stats.betting_power(smallest, smallest_tv=smallest, bets=54) == pytest.approx(0.99)
    goal, slack = math.log(1e6), 2.3263478740408408  # the 0.99 point of a normal law
    half = math.sqrt(2 * goal) / (slack + math.sqrt(slack**2 + 2 * goal))
    assert stats.betting_power(0.1 * half, smallest_tv=0.1, bets=1) == pytest.approx(0.5)
    powers = [stats.betting_power(size, smallest_tv=0.1, bets=54) for size in (0.0, 0.02, 0.05, 0.1, 0.3)]
    assert powers == sorted(powers)
    assert powers[0] == 0.0
    assert powers[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stats.anderson_darling_tv(n=0), "n must be at least 1"),
        (lambda: stats.kolmogorov_smirnov_tv(n=10, level=0.0), "level must be in"),
        (lambda: stats.score_tv(spread=1.0, variance=1.0, n=10, level=0.5, power=0.2), "power must be above level"),
        (lambda: stats.betting_tv(spread=1.0, variance=1.0, n=10, bets=0), "bets must be at least 1"),
        (lambda: stats.betting_power(0.1, smallest_tv=0.0, bets=2), "smallest_tv must be in"),
        (lambda: stats.betting_power(1.1, smallest_tv=0.1, bets=2), "total_variation must be in"),
        (lambda: stats.observations(n=10, smallest_tv=0.1, total_variation=0.0), "total_variation must be in"),
    ],
)
def test_bad_input_gives_one_clear_line(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        call()
