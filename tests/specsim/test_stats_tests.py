"""Every statistical test keeps its size and sees what it should; a newcomer is covered by adding one line to CASES."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from specsim import stats
from specsim.stats import STATISTICAL_TESTS, TestResult, exact_binomial

Draw = Callable[[np.random.Generator], TestResult]

LEVELS = (1e-1, 1e-2, 1e-3)
REPLICATES = 4000
LAW = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
BENT = np.array([0.36, 0.19, 0.2, 0.15, 0.1])


_NO_TESTS = {"combine", "judged", "likeliest_cause"}
"""They return a TestResult, of results or statistics that others computed."""


@dataclass(frozen=True)
class Case:
    """A true null, an alternative that must be seen, and whether p-values are continuous (else only conservative)."""

    null: Draw
    alternative: Draw
    continuous: bool
    level: float = 1e-6


ROWS = np.random.default_rng(11).dirichlet(np.ones(6), size=200)
DRAFTS = 0.5 * ROWS + 0.5 * np.random.default_rng(12).dirichlet(np.ones(6), size=200)


def _observed(rows: np.ndarray, rng: np.random.Generator) -> stats.Observed:
    """200 tokens from `rows`, where ROWS is the target's law."""
    tokens = (rows.cumsum(axis=1) > rng.random(len(rows))[:, None]).argmax(axis=1)
    return stats.observe(tokens, log_p=np.log(ROWS), log_q=np.log(DRAFTS))


def _texts(rng: np.random.Generator, n: int, high: int) -> list[np.ndarray]:
    return [rng.integers(high, size=(n, 3)) for _ in range(2)]


def _bent(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.beta(1.3, 1.0, size=n)


CASES = {
    "anderson_darling": Case(
        lambda rng: stats.anderson_darling(rng.random(64)), lambda rng: stats.anderson_darling(_bent(rng, 1500)), True
    ),
    "accepted_drafts": Case(
        lambda rng: stats.accepted_drafts(rng.random(800) < np.repeat(LAW, 160), np.repeat(LAW, 160)),
        lambda rng: stats.accepted_drafts(rng.random(4000) < np.repeat(LAW, 800) + 0.08, np.repeat(LAW, 800)),
        False,
    ),
    "accepted_lengths": Case(
        lambda rng: stats.accepted_lengths(rng.choice(5, p=LAW, size=3000), LAW),
        lambda rng: stats.accepted_lengths(rng.choice(5, p=BENT, size=3000), LAW),
        True,
    ),
    "betting": Case(
        lambda rng: stats.betting(_observed(ROWS, rng)), lambda rng: stats.betting(_observed(ROWS[::-1], rng)), False
    ),
    "directional_score": Case(
        lambda rng: stats.directional_score(_observed(ROWS, rng), direction="q"),
        lambda rng: stats.directional_score(_observed(ROWS**3 / (ROWS**3).sum(1)[:, None], rng), direction="log_p"),
        False,
    ),
    "fixed_prompt": Case(
        lambda rng: stats.fixed_prompt([rng.choice(5, p=LAW, size=1000)] * 1, [LAW]),
        lambda rng: stats.fixed_prompt([rng.choice(5, p=BENT, size=3000)], [LAW]),
        True,
    ),
    "homogeneity": Case(
        lambda rng: stats.homogeneity([rng.choice(5, p=LAW, size=300)], [rng.choice(5, p=LAW, size=200)]),
        lambda rng: stats.homogeneity([rng.choice(5, p=LAW, size=6000)], [rng.choice(5, p=BENT, size=6000)]),
        True,
    ),
    "mmd": Case(
        lambda rng: stats.mmd(_texts(rng, 6, 3), _texts(rng, 6, 3), rng=rng, permutations=99),
        lambda rng: stats.mmd(_texts(rng, 80, 3), _texts(rng, 80, 2), rng=rng, permutations=1999),
        False,
        level=1e-3,  # p-values stop at 1 / (permutations + 1)
    ),
    "pairs": Case(
        lambda rng: stats.pairs(*stats.within(rng.random(500), np.zeros(500), lag=1)),
        lambda rng: stats.pairs(*stats.within(np.repeat(rng.random(100), 2), np.zeros(200), lag=1)),
        True,
    ),
    "chi_square": Case(
        lambda rng: stats.goodness_of_fit(rng.multinomial(3000, LAW), LAW),
        lambda rng: stats.goodness_of_fit(rng.multinomial(3000, BENT), LAW),
        True,
    ),
    "exact_binomial": Case(
        lambda rng: exact_binomial(int(rng.binomial(2000, 0.3)), 2000, probability=0.3),
        lambda rng: exact_binomial(int(rng.binomial(2000, 0.4)), 2000, probability=0.3),
        False,
    ),
    "kolmogorov_smirnov": Case(
        lambda rng: stats.kolmogorov_smirnov(rng.random(64)),
        lambda rng: stats.kolmogorov_smirnov(_bent(rng, 1500)),
        True,
    ),
    "support": Case(
        lambda rng: stats.support(1 - rng.random(20)),
        lambda rng: stats.support(np.append(rng.random(20), 0.0)),
        False,
    ),
    "uniformity": Case(
        lambda rng: stats.uniformity(rng.random(2000)), lambda rng: stats.uniformity(_bent(rng, 3000)), True
    ),
}


def test_every_test_is_registered_and_covered() -> None:
    modules = [importlib.import_module(f"specsim.stats.{info.name}") for info in pkgutil.iter_modules(stats.__path__)]
    found = {
        value
        for module in modules
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
        if getattr(value, "__annotations__", {}).get("return") == "TestResult" and name not in _NO_TESTS
    }
    assert found == set(STATISTICAL_TESTS.values())
    assert set(CASES) == set(STATISTICAL_TESTS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_p_values_keep_their_size(name: str) -> None:
    """Null: the test's own. 4000 replicates, three levels, exact binomial band at 3e-7 each: false alarm <= 1e-6."""
    case, rng = CASES[name], np.random.default_rng(1)
    pvalues = np.array([case.null(rng).pvalue for _ in range(REPLICATES)])
    for level in LEVELS:
        rejected = int((pvalues <= level).sum())
        side = "two-sided" if case.continuous else "greater"
        assert exact_binomial(rejected, REPLICATES, probability=level, alternative=side).pvalue > 3e-7, level


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_planted_departure_is_caught(name: str) -> None:
    """Every one of 20 alternatives is rejected at its level (expected misses far below 1e-6 by the sizes chosen)."""
    rng = np.random.default_rng(2)
    assert all(not CASES[name].alternative(rng).passed(CASES[name].level) for _ in range(20))


def test_a_broken_p_value_would_not_keep_its_size() -> None:
    """Halving the p-values doubles the false alarms at 0.1, and the band above sees that."""
    rng = np.random.default_rng(3)
    rejected = sum(stats.kolmogorov_smirnov(rng.random(64)).pvalue / 2 <= 0.1 for _ in range(REPLICATES))
    assert exact_binomial(rejected, REPLICATES, probability=0.1).pvalue < 3e-7
