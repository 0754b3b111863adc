"""Acceptance by depth, and where it comes from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from specsim.acceptance import Acceptance
from specsim.errors import InputError
from tests.reference import golden_spine

ALPHAS = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def every_kind() -> list[Acceptance]:
    p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    return [
        Acceptance.constant(0.7),
        Acceptance.by_depth([0.9, 0.5], beyond="hold"),
        Acceptance.beta(7, 3),
        Acceptance.from_tables([p] * 7, [q] * 6),
        Acceptance.from_counts([100, 80, 40], [80, 40, 10]),
    ]


@pytest.mark.parametrize("acceptance", every_kind(), ids=lambda acceptance: acceptance.name)
@pytest.mark.parametrize("gamma", [0, 1, 6])
def test_survival_is_the_running_product_of_conditional(acceptance: Acceptance, gamma: int) -> None:
    alphas, survival = acceptance.conditional(gamma), acceptance.survival(gamma)
    assert alphas.shape == survival.shape == (gamma,)
    np.testing.assert_allclose(survival, np.cumprod(alphas), rtol=1e-15)
    assert ((alphas >= 0) & (alphas <= 1)).all()
    assert acceptance.name
    with pytest.raises(InputError, match="gamma must be at least 0"):
        acceptance.survival(-1)


def test_acceptance_itself_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Acceptance()  # type: ignore[abstract]


@pytest.mark.parametrize("row", golden_spine.rows("position_dependent_alpha"), ids=lambda row: row["id"])
def test_by_depth_golden(row: dict) -> None:
    alphas = golden_spine.numbers(row["case"]["alpha_k"])
    survival = Acceptance.by_depth(alphas).survival(len(alphas))
    np.testing.assert_allclose(survival, golden_spine.numbers(row["expected"]["survival"]), rtol=row["rtol"])


@pytest.mark.parametrize("row", golden_spine.rows("beta_binomial_mixture"), ids=lambda row: row["id"])
def test_beta_golden(row: dict) -> None:
    case = row["case"]
    alphas = Acceptance.beta(float(case["a"]), float(case["b"])).conditional(case["gamma"])
    np.testing.assert_allclose(alphas, golden_spine.numbers(row["expected"]["position_alpha"]), rtol=row["rtol"])


@given(st.floats(0.1, 50), st.floats(0.1, 50))
def test_beta_survival_is_the_moment_of_the_beta_law(a: float, b: float) -> None:
    moments = [stats.beta.moment(k, a, b) for k in range(1, 5)]
    np.testing.assert_allclose(Acceptance.beta(a, b).survival(4), moments, rtol=1e-9)


def test_beyond_the_last_depth() -> None:
    assert Acceptance.by_depth([0.9, 0.5], beyond="hold").conditional(4).tolist() == [0.9, 0.5, 0.5, 0.5]
    with pytest.raises(InputError, match=r"gamma must be in 0\.\.2.*got 3"):
        Acceptance.by_depth([0.9, 0.5]).survival(3)
    with pytest.raises(InputError, match="did you mean hold"):
        Acceptance.by_depth([0.9], beyond="holds")
    with pytest.raises(InputError, match="one depth at least"):
        Acceptance.by_depth([], beyond="hold")
    assert Acceptance.by_depth([]).survival(0).size == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Acceptance.constant(1.07), r"alpha must be in \[0, 1\], got 1.07"),
        (lambda: Acceptance.constant(float("nan")), "alpha"),
        (lambda: Acceptance.by_depth([0.5, 0.5, 1.07]), r"alphas\[2\] must be in \[0, 1\], got 1.07"),
        (lambda: Acceptance.by_depth([0.5, float("nan")]), r"alphas\[1\]"),
        (lambda: Acceptance.beta(0, 1), "a must be above 0"),
        (lambda: Acceptance.beta(1, -2), "b must be above 0"),
        (lambda: Acceptance.from_tables([[1.0]], [], verifier="rejectoin"), "did you mean rejection"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


# --- from tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_spine.rows("chain_verification"), ids=lambda row: row["id"])
def test_from_tables_gives_back_the_exact_survival(row: dict) -> None:
    gamma = row["case"]["gamma"]
    p_tables, q_tables = golden_spine.arrays(row["case"])
    survival = Acceptance.from_tables(p_tables, q_tables).survival(gamma)
    pmf = [Fraction(value) for value in row["expected"]["pmf_accepted"]]
    np.testing.assert_allclose(survival, [float(sum(pmf[k:])) for k in range(1, gamma + 1)], rtol=row["rtol"])


def test_from_tables_where_nothing_can_be_accepted() -> None:
    acceptance = Acceptance.from_tables([[1.0, 0.0]] * 3, [[0.0, 1.0]] * 2)
    assert acceptance.conditional(2).tolist() == [0.0, 0.0]


def test_from_tables_with_the_greedy_rule() -> None:
    acceptance = Acceptance.from_tables([[0.4, 0.6]] * 3, [[0.7, 0.3]] * 2, verifier="greedy")
    np.testing.assert_allclose(acceptance.conditional(2), [0.3, 0.3], rtol=1e-12)
    assert "greedy" in acceptance.source


# --- from counts ---------------------------------------------------------------------------------------------------


def test_depths_that_were_never_reached_are_left_out() -> None:
    counted = Acceptance.from_counts([10, 4, 0, 0], [4, 0, 0, 0])
    assert counted.depths == 2
    assert counted.conditional(4).tolist() == [0.4, 0.0, 0.0, 0.0]
    assert [ends.shape for ends in counted.interval(0.9)] == [(2,), (2,)]


@pytest.mark.parametrize(
    ("reached", "accepted", "message"),
    [
        ([10], [11], r"accepted\[0\] must be in 0\.\.10, got 11"),
        ([10, 9], [8, 1], r"reached\[1\] must be in 0\.\.8, got 9"),
        ([0], [0], r"reached\[0\]"),
        ([5, 5], [5], "accepted must have 2 depths"),
        ([5.0], [1], r"reached\[0\] must be a whole number"),
        ([], [], "one depth at least"),
    ],
    ids=str,
)
def test_counts_that_contradict_one_another(reached: list[int], accepted: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Acceptance.from_counts(reached, accepted)


@pytest.mark.parametrize("alpha", [0.02, 0.5, 0.7, 0.97])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_covers_at_least_at_its_level(alpha: float, level: float) -> None:
    """Exact: summed over every count that 30 rounds can give."""
    covered = 0.0
    for accepted in range(31):
        low, high = Acceptance.from_counts([30], [accepted]).interval(level)
        if low[0] <= alpha <= high[0]:
            covered += float(stats.binom.pmf(accepted, 30, alpha))
    assert covered >= level


@given(ALPHAS)
def test_counts_in_exact_proportion_give_the_acceptance_back(alphas: list[float]) -> None:
    reached, accepted = [], []
    standing = 10**9
    for alpha in alphas:
        reached.append(standing)
        standing = round(standing * alpha)
        accepted.append(standing)
    counted = Acceptance.from_counts(reached, accepted)
    np.testing.assert_allclose(
        counted.survival(len(alphas)), Acceptance.by_depth(alphas).survival(len(alphas)), atol=1e-8
    )
