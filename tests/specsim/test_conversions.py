"""Between the five quantities that are all called acceptance rate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import acceptance as rates
from specsim import tau
from specsim.acceptance import Acceptance
from specsim.errors import InputError
from tests.reference import golden_spine

ALPHAS = st.lists(st.floats(0.01, 1), min_size=1, max_size=12)


@given(ALPHAS)
def test_conditional_and_survival_say_the_same(alphas: list[float]) -> None:
    survival = rates.survival_from_conditional(alphas)
    np.testing.assert_allclose(rates.conditional_from_survival(survival), alphas, rtol=1e-9)
    np.testing.assert_allclose(survival, Acceptance.by_depth(alphas).survival(len(alphas)))


@given(ALPHAS)
def test_utilisation_and_tokens_say_the_same_at_one_gamma(alphas: list[float]) -> None:
    gamma, acceptance = len(alphas), Acceptance.by_depth(alphas)
    tokens = tau.expected_tokens(acceptance, gamma=gamma)
    utilisation = tau.draft_utilisation(acceptance, gamma=gamma)
    assert rates.tokens_from_survival(acceptance.survival(gamma)) == pytest.approx(tokens)
    assert rates.utilisation_from_tokens(tokens, gamma=gamma) == pytest.approx(utilisation)
    assert rates.tokens_from_utilisation(utilisation, gamma=gamma) == pytest.approx(tokens)
    assert tau.expected_accepted(acceptance, gamma=gamma) == pytest.approx(tokens - 1)


@given(st.floats(0, 1), st.integers(1, 40))
def test_the_constant_comes_back_from_its_tokens(alpha: float, gamma: int) -> None:
    tokens = tau.expected_tokens(Acceptance.constant(alpha), gamma=gamma)
    assert rates.constant_alpha_from_tokens(min(tokens, gamma + 1), gamma=gamma) == pytest.approx(alpha, abs=1e-9)


@given(ALPHAS)
def test_utilisation_is_never_above_the_constant_alpha(alphas: list[float]) -> None:
    """Accepted over drafted is what a drafter is used for, not how often it is right."""
    gamma = len(alphas)
    tokens = tau.expected_tokens(Acceptance.by_depth(alphas), gamma=gamma)
    constant = rates.constant_alpha_from_tokens(tokens, gamma=gamma)
    assert rates.utilisation_from_tokens(tokens, gamma=gamma) <= constant + 1e-9


@pytest.mark.parametrize("row", golden_spine.rows("position_dependent_alpha"), ids=lambda row: row["id"])
def test_the_common_error_is_as_large_as_the_golden_row_says(row: dict) -> None:
    """Utilisation put in for alpha gives 2.08 tokens per round where 4.65 are committed."""
    alphas = golden_spine.numbers(row["case"]["alpha_k"])
    expected = {name: float(Fraction(row["expected"][name])) for name in ("E_tokens", "accepted_over_drafted")}
    tokens = rates.tokens_from_survival(rates.survival_from_conditional(alphas))
    utilisation = rates.utilisation_from_tokens(tokens, gamma=len(alphas))
    assert tokens == pytest.approx(expected["E_tokens"], rel=row["rtol"])
    assert utilisation == pytest.approx(expected["accepted_over_drafted"], rel=row["rtol"])
    wrong = tau.expected_tokens(Acceptance.constant(utilisation), gamma=len(alphas))
    assert wrong == pytest.approx(float(Fraction(row["expected"]["E_tokens_if_taken_for_alpha"])), rel=row["rtol"])
    assert wrong < 0.5 * tokens


def test_analytic_alpha_is_the_mean_overlap() -> None:
    p = [[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]]
    q = [[0.5, 0.5], [0.2, 0.8], [0.4, 0.6]]
    assert rates.analytic_alpha(p, q) == pytest.approx((1 + 0.2 + 0.8) / 3)
    assert rates.analytic_alpha(p, q, weights=[2, 1, 1]) == pytest.approx((2 + 0.2 + 0.8) / 4)
    assert rates.analytic_alpha(p[0], q[0]) == pytest.approx(1)


def test_analytic_alpha_is_no_conditional_where_contexts_differ() -> None:
    """Half of the contexts share all, half nothing: the second draft is judged in good contexts only."""
    alpha = rates.analytic_alpha([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    mixture = Acceptance.markov(start_good=0.5, stay_good=1, stay_bad=1, alpha_good=1, alpha_bad=0)
    assert alpha == 0.5
    assert mixture.conditional(2).tolist() == [0.5, 1.0]
    assert tau.expected_tokens(mixture, gamma=4) > tau.expected_tokens(Acceptance.constant(alpha), gamma=4) + 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rates.conditional_from_survival([0.5, 0.6]),
            r"survival\[1\] must not be above the one before, got 0.6",
        ),
        (lambda: rates.conditional_from_survival([1.5]), r"survival\[0\] must be in \[0, 1\]"),
        (lambda: rates.survival_from_conditional([[0.5]]), "conditional must have 1 axes"),
        (lambda: rates.utilisation_from_tokens(6, gamma=4), r"E_tokens must be in \[1, 5\], got 6"),
        (lambda: rates.utilisation_from_tokens(0.9, gamma=4), r"E_tokens must be in \[1, 5\], got 0.9"),
        (lambda: rates.tokens_from_utilisation(0.5, gamma=0), "gamma must be at least 1"),
        (lambda: rates.constant_alpha_from_tokens(float("nan"), gamma=2), "E_tokens must be"),
        (lambda: rates.analytic_alpha([[0.5, 0.5]], [[0.5, 0.5]], weights=[0]), "weights must be"),
        (lambda: rates.analytic_alpha([[0.5, 0.6]], [[0.5, 0.5]]), "p.* must sum to 1"),
        (lambda: rates.analytic_alpha([[0.5, 0.5]], [[1.0]]), "one vocabulary"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]
