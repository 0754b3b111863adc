"""Anderson-Darling: statistic and p-values against published points, a quadrature twin and importance sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from specsim import stats
from specsim.stats.anderson_darling import anderson_darling_tail, limit_tail

PUBLISHED = [(1.933, 0.10), (2.492, 0.05), (3.857, 0.01)]
"""Anderson and Darling's asymptotic points (1952, 1954), the last of them good to 2.4 % of its tail."""


def _weighted_samples(n: int, *, runs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A squared of samples tilted towards an end, and their weights: a mixture of exponential tilts of every value."""
    tilts = np.sqrt(24 / n) * np.array([0.0, 1.2, -1.2, 1.75, -1.75, 2.2, -2.2, 2.6, -2.6])
    tilt = rng.choice(tilts, size=runs)[:, None]
    v = rng.random((runs, n))
    u = np.where(tilt == 0, v, np.log1p(v * np.expm1(tilt)) / np.where(tilt == 0, 1, tilt))
    scale = np.array([0.0 if t == 0 else np.log(np.expm1(t) / t) for t in tilts])
    weights = 1 / np.exp(np.outer(u.sum(axis=1), tilts) - n * scale).mean(axis=1)
    ordered = np.clip(np.sort(u, axis=1), 1e-16, 1 - 1e-16)
    odd = 2 * np.arange(1, n + 1) - 1
    return -n - (odd * (np.log(ordered) + np.log1p(-ordered[:, ::-1]))).mean(axis=1), weights


@pytest.mark.parametrize(("statistic", "tail"), PUBLISHED)
def test_limit_law_has_the_published_points(statistic: float, tail: float) -> None:
    assert limit_tail(statistic) == pytest.approx(tail, rel=0.025)
    assert limit_tail(3.878) == pytest.approx(0.01, rel=2e-3)


@pytest.mark.parametrize("n", [16, 64, 400])
def test_small_p_values_are_right_down_to_1e_5(n: int) -> None:
    """Null: relative error at most 1.1 / n + 0.5 %. 60,000 weighted samples, seven points, each at 5.5 sigma."""
    runs = 60_000
    statistic, weights = _weighted_samples(n, runs=runs, rng=np.random.default_rng(n))
    for point in (1.933, 2.492, 3.857, 5.5, 7.0, 8.5, 10.3):
        hits = weights * (statistic > point)
        measured, error = hits.mean(), hits.std() / np.sqrt(runs)
        claimed = anderson_darling_tail(point, n=n)
        assert error < 0.05 * measured  # the check has teeth
        assert abs(claimed - measured) <= (1.1 / n + 0.005) * measured + 5.5 * error, point
    assert anderson_darling_tail(10.3, n=n) < 1.2e-5


def test_that_check_sees_an_error_of_absolute_size_1e_5() -> None:
    """A p-value good to 1e-5 absolutely, as from a table or a polynomial, is off by its own size at 1e-5."""
    statistic, weights = _weighted_samples(64, runs=60_000, rng=np.random.default_rng(9))
    hits = weights * (statistic > 10.3)
    wrong = anderson_darling_tail(10.3, n=64) + 1e-5
    assert abs(wrong - hits.mean()) > (1.1 / 64 + 0.005) * hits.mean() + 5.5 * hits.std() / np.sqrt(60_000)


@pytest.mark.parametrize("statistic", [0.15, 0.5, 2.0])
def test_limit_law_inverts_its_characteristic_function(statistic: float) -> None:
    """Gil-Pelaez on the product of (1 - 2 i t / (j (j + 1)))^(-1/2), taken to 4000 factors."""
    j = np.arange(1, 4001)
    weights = 1 / (j * (j + 1.0))
    rest = 1 - weights.sum()  # the mean of the factors left out

    def integrand(t: float) -> float:
        log_size = -0.25 * np.log1p((2 * t * weights) ** 2).sum()
        phase = 0.5 * np.arctan(2 * t * weights).sum() + t * rest
        return float(np.exp(log_size) * np.sin(phase - t * statistic) / t)

    area, _ = integrate.quad(integrand, 1e-12, 400, limit=500)
    assert limit_tail(statistic) == pytest.approx(0.5 + area / np.pi, abs=1e-6)


def test_p_values_fall_and_stay_in_range() -> None:
    tails = [anderson_darling_tail(x, n=8) for x in np.linspace(0.01, 60, 3000)]
    assert all(0 <= tail <= 1 for tail in tails)
    assert (np.diff(tails) <= 1e-12).all()


def test_values_at_the_very_ends_are_allowed_and_too_many_of_them_rejected() -> None:
    u = np.random.default_rng(5).random(100)
    assert stats.anderson_darling([*u, 0.0]).pvalue > 1e-6
    assert stats.anderson_darling([*u, *[0.0] * 10]).pvalue < 1e-6


def test_order_and_reflection_change_nothing() -> None:
    u = np.random.default_rng(6).random(50)
    first = stats.anderson_darling(u).statistic
    assert stats.anderson_darling(u[::-1]).statistic == first
    assert stats.anderson_darling(1 - u).statistic == pytest.approx(first, rel=1e-12)
