"""The law of tokens per round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import tau
from specsim.acceptance import Acceptance
from specsim.errors import InputError
from tests.reference import golden_spine

ALPHA, GAMMA = st.floats(0, 1), st.integers(0, 12)
ALPHAS = st.lists(ALPHA, min_size=1, max_size=8)

# Leviathan et al., arXiv 2211.17192, table 1: alpha, gamma, operations, speed, with c = c_hat = 0.
TABLE_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]


def number(value: str) -> float:
    return float(Fraction(value))


# --- goldens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_spine.rows("iid_length"), ids=lambda row: row["id"])
def test_constant_alpha(row: dict) -> None:
    gamma, expected, rtol = row["case"]["gamma"], row["expected"], row["rtol"]
    acceptance = Acceptance.constant(number(row["case"]["alpha"]))
    pmf = golden_spine.numbers(expected["pmf_accepted"])
    np.testing.assert_allclose(tau.accepted_pmf(acceptance, gamma=gamma), pmf, rtol=rtol)
    assert tau.expected_tokens(acceptance, gamma=gamma) == pytest.approx(number(expected["E_tokens"]), rel=rtol)
    variance = number(expected["Var_tokens"])
    assert tau.variance_tokens(acceptance, gamma=gamma) == pytest.approx(variance, rel=rtol, abs=1e-12)


@pytest.mark.parametrize("row", golden_spine.rows("walltime_thm3.8"), ids=lambda row: row["id"])
def test_speedup_walltime(row: dict) -> None:
    case = row["case"]
    speedup = tau.speedup_walltime(number(case["alpha"]), gamma=case["gamma"], c=number(case["c"]))
    assert speedup == pytest.approx(number(row["expected"]["speedup"]), rel=row["rtol"])


@pytest.mark.parametrize("row", golden_spine.rows("optimal_gamma"), ids=lambda row: row["id"])
def test_best_gamma(row: dict) -> None:
    alpha, c = number(row["case"]["alpha"]), number(row["case"]["c"])
    best = tau.best_gamma(Acceptance.constant(alpha), c=c, max_gamma=row["case"]["max_gamma"])
    assert best == row["expected"]["gamma"]
    speedup = tau.speedup_walltime(alpha, gamma=best, c=c)
    assert speedup == pytest.approx(number(row["expected"]["speedup"]), rel=row["rtol"])


@pytest.mark.parametrize("row", golden_spine.rows("beta_binomial_mixture"), ids=lambda row: row["id"])
def test_beta_mixture(row: dict) -> None:
    case, expected = row["case"], row["expected"]
    a, b = number(case["a"]), number(case["b"])
    mixture = tau.expected_tokens(Acceptance.beta(a, b), gamma=case["gamma"])
    same_mean = tau.expected_tokens(Acceptance.constant(a / (a + b)), gamma=case["gamma"])
    assert mixture == pytest.approx(number(expected["E_tokens"]), rel=row["rtol"])
    assert same_mean == pytest.approx(number(expected["iid_same_mean_E_tokens"]), rel=row["rtol"])


@pytest.mark.parametrize("row", golden_spine.rows("position_dependent_alpha"), ids=lambda row: row["id"])
def test_accepted_over_drafted_is_no_alpha(row: dict) -> None:
    alphas, expected = golden_spine.numbers(row["case"]["alpha_k"]), row["expected"]
    acceptance, gamma = Acceptance.by_depth(alphas), len(alphas)
    pooled = tau.draft_utilisation(acceptance, gamma=gamma)
    assert pooled == pytest.approx(number(expected["accepted_over_drafted"]), rel=row["rtol"])
    assert tau.expected_tokens(acceptance, gamma=gamma) == pytest.approx(number(expected["E_tokens"]), rel=row["rtol"])
    mistaken = tau.expected_tokens(Acceptance.constant(pooled), gamma=gamma)
    assert mistaken == pytest.approx(number(expected["E_tokens_if_taken_for_alpha"]), rel=row["rtol"])


@pytest.mark.parametrize(("alpha", "gamma", "operations", "speed"), TABLE_1)
def test_table_1_of_leviathan(alpha: float, gamma: int, operations: float, speed: float) -> None:
    assert tau.operations_factor(alpha, gamma=gamma, c_hat=0.0) == pytest.approx(operations, abs=0.005)
    assert tau.speedup_walltime(alpha, gamma=gamma, c=0.0) == pytest.approx(speed, abs=0.005)


def test_numbers_that_are_often_printed_wrong() -> None:
    assert round(tau.expected_tokens(Acceptance.constant(0.7), gamma=4), 4) == 2.7731
    assert round(tau.speedup_walltime(0.7, gamma=4, c=0.1), 3) == 1.981
    assert round(tau.speedup_walltime(0.9, gamma=5, c=0.05), 3) == 3.748


# --- properties ----------------------------------------------------------------------------------------------------


@given(ALPHAS)
def test_the_law_is_a_law_and_tau_is_its_mean(alphas: list[float]) -> None:
    acceptance, gamma = Acceptance.by_depth(alphas), len(alphas)
    pmf = tau.accepted_pmf(acceptance, gamma=gamma)
    assert (pmf >= 0).all()
    assert pmf.sum() == pytest.approx(1)
    assert pmf @ np.arange(gamma + 1) == pytest.approx(tau.expected_accepted(acceptance, gamma=gamma))
    assert 1 <= tau.expected_tokens(acceptance, gamma=gamma) <= gamma + 1
    assert 0 <= tau.variance_tokens(acceptance, gamma=gamma) <= gamma**2 / 4 + 1e-9


@given(ALPHAS, st.data())
def test_tau_rises_with_the_acceptance_of_any_depth(alphas: list[float], data: st.DataObject) -> None:
    depth = data.draw(st.integers(0, len(alphas) - 1))
    better = list(alphas)
    better[depth] = data.draw(st.floats(alphas[depth], 1))
    before, after = (tau.expected_tokens(Acceptance.by_depth(values), gamma=len(alphas)) for values in (alphas, better))
    assert after >= before - 1e-12


@given(ALPHA, GAMMA)
def test_tau_rises_with_gamma(alpha: float, gamma: int) -> None:
    acceptance = Acceptance.constant(alpha)
    assert tau.expected_tokens(acceptance, gamma=gamma + 1) >= tau.expected_tokens(acceptance, gamma=gamma)


@given(st.floats(0.05, 50), st.floats(0.05, 50), GAMMA)
def test_rounds_that_differ_commit_no_less_than_their_mean(a: float, b: float, gamma: int) -> None:
    mixture = tau.expected_tokens(Acceptance.beta(a, b), gamma=gamma)
    assert mixture >= tau.expected_tokens(Acceptance.constant(a / (a + b)), gamma=gamma) - 1e-12


@given(ALPHA, GAMMA, st.floats(0, 2))
def test_operations_never_fall_and_speedup_is_at_most_tau(alpha: float, gamma: int, c: float) -> None:
    assert tau.operations_factor(alpha, gamma=gamma, c_hat=c) >= 1 - 1e-12
    tokens = tau.expected_tokens(Acceptance.constant(alpha), gamma=gamma)
    assert tau.speedup_walltime(alpha, gamma=gamma, c=c) <= tokens


@given(st.floats(0.01, 0.99), st.floats(0, 1))
def test_corollary_3_9(alpha: float, c: float) -> None:
    """Some gamma helps where alpha > c, and then gains (1 + alpha) / (1 + c) at least; otherwise none does."""
    best = tau.best_gamma(Acceptance.constant(alpha), c=c)
    speedup = tau.speedup_walltime(alpha, gamma=best, c=c)
    if tau.improvement_possible(alpha, c=c):
        assert speedup >= (1 + alpha) / (1 + c) - 1e-12
    else:
        assert best == 0
        assert speedup == 1


@given(ALPHAS, st.floats(0, 2))
def test_best_gamma_is_the_best_of_all(alphas: list[float], c: float) -> None:
    acceptance = Acceptance.by_depth(alphas)
    speedups = [tau.expected_tokens(acceptance, gamma=gamma) / (1 + gamma * c) for gamma in range(len(alphas) + 1)]
    best = tau.best_gamma(acceptance, c=c, max_gamma=len(alphas))
    assert speedups[best] == pytest.approx(max(speedups), rel=1e-14)


# --- edges ---------------------------------------------------------------------------------------------------------


def test_nothing_drafted_is_plain_decoding() -> None:
    acceptance = Acceptance.constant(0.7)
    assert tau.accepted_pmf(acceptance, gamma=0).tolist() == [1.0]
    assert tau.expected_tokens(acceptance, gamma=0) == 1
    assert tau.variance_tokens(acceptance, gamma=0) == 0
    assert tau.speedup_walltime(0.7, gamma=0, c=0.5) == 1
    assert tau.operations_factor(0.7, gamma=0, c_hat=0.5) == 1
    assert tau.best_gamma(acceptance, c=0.1, max_gamma=0) == 0


def test_certain_acceptance_and_certain_rejection() -> None:
    always, never = Acceptance.constant(1), Acceptance.constant(0)
    assert tau.expected_tokens(always, gamma=5) == 6
    assert tau.variance_tokens(always, gamma=5) == 0
    assert tau.expected_tokens(never, gamma=5) == 1
    assert tau.best_gamma(always, c=0.1, max_gamma=7) == 7
    assert tau.best_gamma(never, c=0.0) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tau.speedup_walltime(1.2, gamma=4, c=0.1), r"alpha must be in \[0, 1\], got 1.2"),
        (lambda: tau.speedup_walltime(0.7, gamma=4, c=-0.1), "c must be at least 0, got -0.1"),
        (lambda: tau.speedup_walltime(0.7, gamma=-1, c=0.1), "gamma must be at least 0, got -1"),
        (lambda: tau.operations_factor(0.7, gamma=4, c_hat=float("nan")), "c_hat"),
        (lambda: tau.draft_utilisation(Acceptance.constant(0.7), gamma=0), "gamma must be at least 1"),
        (lambda: tau.best_gamma(Acceptance.by_depth([0.7]), c=0.1), r"gamma must be in 0\.\.1"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
