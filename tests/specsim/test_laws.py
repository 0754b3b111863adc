"""Laws of the accepted length against exact enumeration, golden rows and each other."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from specsim import tau
from specsim.acceptance import FAMILIES, Acceptance
from specsim.acceptance.markov import FAMILY as MARKOV
from specsim.errors import InputError
from specsim.simulate import simulate_accepted
from specsim.stats.chi_square import goodness_of_fit
from tests.reference import exact_laws, golden_laws

LEVEL = 1e-7  # false-alarm rate of each random test here
SHARE = st.floats(0.0, 1.0)
POSITIVE = st.floats(0.05, 50.0)


def share(draw: random.Random) -> Fraction:
    return Fraction(draw.randint(0, 12), 12)


def states(draw: random.Random) -> dict[str, Fraction]:
    names = ("start_good", "stay_good", "stay_bad", "alpha_good", "alpha_bad")
    return {name: share(draw) for name in names}


def markov(values: dict[str, Fraction]) -> Acceptance:
    return Acceptance.markov(**{name: float(value) for name, value in values.items()})


def close(found: object, exact: list[Fraction]) -> bool:
    return bool(np.allclose(found, [float(value) for value in exact], rtol=1e-12, atol=1e-15))


# --- against enumeration and golden rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_laws.rows("markov_modulated"), ids=lambda row: row["id"])
def test_two_states_give_the_golden_row(row: dict) -> None:
    case = {name: Fraction(value) for name, value in row["case"].items() if name != "gamma"}
    acceptance, gamma = markov(case), row["case"]["gamma"]
    tokens = float(Fraction(row["expected"]["E_tokens"]))
    assert tau.expected_tokens(acceptance, gamma=gamma) == pytest.approx(tokens, rel=row["rtol"])
    assert close(acceptance.survival(gamma), [Fraction(value) for value in row["expected"]["survival"]])


@pytest.mark.parametrize("row", golden_laws.rows("position_dependent_alpha"), ids=lambda row: row["id"])
def test_sensitivity_gives_the_golden_row(row: dict) -> None:
    alphas = [Fraction(value) for value in row["case"]["alpha_k"]]
    acceptance = Acceptance.by_depth([float(alpha) for alpha in alphas])
    exact = [Fraction(value) for value in row["expected"]["sensitivity"]]
    assert close(tau.token_sensitivity(acceptance, gamma=len(alphas)), exact)
    assert np.mean(acceptance.conditional(7)) == pytest.approx(float(Fraction(row["expected"]["mean_conditional"])))


@pytest.mark.parametrize("seed", range(8))
def test_two_states_are_the_sum_over_all_paths(seed: int) -> None:
    values = states(random.Random(seed))
    assert close(markov(values).survival(7), exact_laws.markov(**values, gamma=7))


def test_a_chain_that_moves_before_it_judges_is_another_law() -> None:
    """Planted fault: the state changes before the first draft is judged."""
    values = {"start_good": 1.0, "stay_good": 0.5, "stay_bad": 1.0, "alpha_good": 0.9, "alpha_bad": 0.1}
    exact = exact_laws.markov(**{name: Fraction(str(value)) for name, value in values.items()}, gamma=3)
    moved = Acceptance.markov(**(values | {"start_good": 0.5}))
    assert close(Acceptance.markov(**values).survival(3), exact)
    assert not close(moved.survival(3), exact)


@pytest.mark.parametrize("seed", range(4))
def test_decay_and_depths_are_running_products(seed: int) -> None:
    draw = random.Random(seed)
    a, b, alphas = share(draw), share(draw), [share(draw) for _ in range(6)]
    assert close(Acceptance.decay(float(a), float(b)).survival(6), exact_laws.decay(a, b, gamma=6))
    deep = Acceptance.by_depth([float(alpha) for alpha in alphas])
    assert close(deep.survival(6), exact_laws.by_depth(alphas))
    assert close(tau.token_sensitivity(deep, gamma=6), exact_laws.sensitivity(alphas))


@pytest.mark.parametrize(("a", "b"), [(7, 3), (1, 1), (2, 9)])
def test_the_beta_mixture_is_its_integral(a: int, b: int) -> None:
    assert close(Acceptance.beta(a, b).survival(7), exact_laws.beta(a, b, gamma=7))


def test_sympy_derives_the_beta_mixture() -> None:
    """E[alpha^k] is a ratio of Beta integrals; for symbolic a and b it is the product of (a + j) / (a + b + j)."""
    a, b = sp.symbols("a b", positive=True)
    for k in (1, 2, 3, 6):
        moment = (sp.beta(a + k, b) / sp.beta(a, b)).rewrite(sp.gamma)
        product = sp.prod([(a + j) / (a + b + j) for j in range(k)])
        assert sp.simplify(sp.gammasimp(moment) - product) == 0


# --- properties ----------------------------------------------------------------------------------------------------


@given(SHARE, SHARE, SHARE, SHARE, SHARE, st.integers(0, 12))
def test_two_states_stay_a_law(start: float, good: float, bad: float, high: float, low: float, gamma: int) -> None:
    acceptance = Acceptance.markov(start_good=start, stay_good=good, stay_bad=bad, alpha_good=high, alpha_bad=low)
    alphas = acceptance.conditional(gamma)
    assert ((alphas >= 0) & (alphas <= 1)).all()
    assert 1 <= tau.expected_tokens(acceptance, gamma=gamma) <= gamma + 1 + 1e-9
    assert tau.accepted_pmf(acceptance, gamma=gamma).sum() == pytest.approx(1)


@given(SHARE, SHARE, SHARE, SHARE)
def test_one_acceptance_in_both_states_is_constant(start: float, good: float, bad: float, alpha: float) -> None:
    acceptance = Acceptance.markov(start_good=start, stay_good=good, stay_bad=bad, alpha_good=alpha, alpha_bad=alpha)
    np.testing.assert_allclose(acceptance.conditional(6), alpha if alpha > 1e-50 else acceptance.conditional(6))


@given(SHARE, SHARE, SHARE)
def test_states_that_forget_are_the_mean(start: float, high: float, low: float) -> None:
    """A state drawn anew for every draft gives (E alpha)^k."""
    acceptance = Acceptance.markov(
        start_good=start, stay_good=start, stay_bad=1 - start, alpha_good=high, alpha_bad=low
    )
    mean = start * high + (1 - start) * low
    np.testing.assert_allclose(acceptance.survival(5), mean ** np.arange(1, 6), rtol=1e-9, atol=1e-12)


@given(SHARE, SHARE, SHARE)
def test_states_that_never_change_are_a_mixture_that_beats_its_mean(start: float, high: float, low: float) -> None:
    acceptance = Acceptance.markov(start_good=start, stay_good=1, stay_bad=1, alpha_good=high, alpha_bad=low)
    depth = np.arange(1, 7)
    np.testing.assert_allclose(acceptance.survival(6), start * high**depth + (1 - start) * low**depth, atol=1e-12)
    mean = Acceptance.constant(min(1, start * high + (1 - start) * low))
    assert tau.expected_tokens(acceptance, gamma=6) >= tau.expected_tokens(mean, gamma=6) - 1e-9  # Jensen


@given(SHARE, st.floats(0, 1), st.integers(1, 20))
def test_decay_is_below_the_constant_it_starts_from(a: float, b: float, gamma: int) -> None:
    decayed = tau.expected_tokens(Acceptance.decay(a, b), gamma=gamma)
    assert decayed <= tau.expected_tokens(Acceptance.constant(a), gamma=gamma) + 1e-12


@given(POSITIVE, POSITIVE, st.integers(0, 12))
def test_sensitivity_is_the_tail_over_alpha(a: float, b: float, gamma: int) -> None:
    acceptance = Acceptance.beta(a, b)
    tails = np.cumsum(acceptance.survival(gamma)[::-1])[::-1]
    found = tau.token_sensitivity(acceptance, gamma=gamma)
    np.testing.assert_allclose(found, tails / acceptance.conditional(gamma))


# --- fitted forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_every_chain_of_two_states_has_the_fitted_form(seed: int) -> None:
    """Five numbers give three that lengths can tell: the fitted form has the survival of any chain without a rhythm."""
    rng = np.random.default_rng(seed)
    start, high, low, good = rng.random(4)
    bad = 1 - good + good * rng.random()  # stay_good + stay_bad >= 1: no alternation, both eigenvalues at least 0
    chain = Acceptance.markov(start_good=start, stay_good=good, stay_bad=bad, alpha_good=high, alpha_bad=low)
    matrix = np.diag([high, low]) @ [[good, 1 - good], [1 - bad, bad]]
    y, x = sorted(np.linalg.eigvals(matrix).real)
    weight = (chain.survival(1)[0] - y) / (x - y)
    point = np.array([weight * (x - y) / (1 - y), x, y])
    assert ((point >= -1e-12) & (point <= 1 + 1e-12)).all()
    np.testing.assert_allclose(MARKOV.law(point.clip(0, 1)).survival(9), chain.survival(9), rtol=1e-9, atol=1e-13)


@given(st.lists(SHARE, min_size=5, max_size=5), st.integers(0, 9))
def test_families_and_their_laws_say_the_same(values: list[float], gamma: int) -> None:
    for make in FAMILIES.values():
        family = make((1, 2, 4))
        point = np.array(values[: len(family.parameters)])
        law = family.law(point)
        fast = np.cumprod(family.conditional(point, gamma))
        np.testing.assert_allclose(fast, law.survival(gamma), rtol=1e-6, atol=1e-7)


# --- simulation, bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "acceptance",
    [
        Acceptance.decay(0.9, 0.8),
        Acceptance.markov(start_good=0.5, stay_good=0.9, stay_bad=0.9, alpha_good=0.9, alpha_bad=0.5),
    ],
    ids=lambda acceptance: acceptance.name,
)
def test_simulated_rounds_follow_the_law(acceptance: Acceptance) -> None:
    """Null: accepted lengths follow the exact pmf; n = 1e6; false-alarm rate 1e-7. Power: the constant of one mean."""
    counts = simulate_accepted(acceptance, gamma=5, rounds=1_000_000, seed=3)
    assert goodness_of_fit(counts, tau.accepted_pmf(acceptance, gamma=5), min_expected=20).passed(LEVEL)
    constant = Acceptance.constant(float(acceptance.conditional(1)[0]))
    assert not goodness_of_fit(counts, tau.accepted_pmf(constant, gamma=5), min_expected=20).passed(LEVEL)


def test_a_round_that_surely_ends_has_no_deeper_acceptance() -> None:
    never = Acceptance.markov(start_good=1, stay_good=1, stay_bad=1, alpha_good=0, alpha_bad=1)
    assert never.conditional(3).tolist() == [0, 0, 0]
    assert Acceptance.decay(0.5, 0).conditional(3).tolist() == [0.5, 0, 0]
    assert Acceptance.decay(1, 1).survival(0).size == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Acceptance.decay(1.1, 0.5), r"a must be in \[0, 1\], got 1.1"),
        (lambda: Acceptance.decay(0.5, float("nan")), r"b must be in \[0, 1\], got nan"),
        (lambda: Acceptance.beta(0, 1), "a must be above 0"),
        (
            lambda: markov({**states(random.Random(1)), "stay_bad": Fraction(-1)}),
            r"stay_bad must be in \[0, 1\], got -1",
        ),
        (lambda: Acceptance.decay(0.5, 0.5).conditional(-1), "gamma must be at least 0"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
