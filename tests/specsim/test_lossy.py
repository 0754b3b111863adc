"""Lossy rules: goldens, guarantees, and the distance of what they write from the target."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.verifiers import VERIFIERS, GreedyLenience, Lenience, Rejection, Threshold, Typical, law
from tests.reference import golden_rules, golden_spine

P_A, Q_A = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


def one_step(rule: Any, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The law of the first token after one draft."""
    return law.text_law(rule, [p, p], [q]).sum(axis=1)


@pytest.mark.parametrize("row", golden_rules.rows("lenience"), ids=lambda row: row["id"])
def test_lenience_golden(row: dict) -> None:
    case, expected = row["case"], row["expected"]
    p, q = (np.array(golden_spine.numbers(case[side])) for side in "pq")
    factor = float(Fraction(case["l"]))
    for residual in ("unscaled", "scaled"):
        rule = Lenience(factor=factor, residual_of=residual)
        assert rule.accepted_pmf([p, p], [q])[1] == pytest.approx(float(Fraction(expected["alpha"])), rel=1e-12)
        output = one_step(rule, p, q)
        np.testing.assert_allclose(output, golden_spine.numbers(expected[f"output_residual_{residual}_q"]), atol=1e-12)
        distance = law.text_total_variation(rule, [p, p], [q])
        assert distance == pytest.approx(float(Fraction(expected[f"TV_{residual}"])), abs=1e-12)
        assert (output <= p / factor + 1e-12).all() == expected[f"guarantee_out_le_p_over_l_{residual}"]
        assert rule.is_lossless is (factor == 1)


@pytest.mark.parametrize("row", golden_rules.rows("typical_acceptance"), ids=lambda row: row["id"])
def test_typical_golden(row: dict) -> None:
    case = row["case"]
    p = golden_spine.numbers(case["p"])
    rule = Typical(epsilon=case["epsilon"], delta=case["delta"])
    assert float(rule.threshold(p)) == pytest.approx(row["expected"]["threshold"], rel=1e-12)
    stands = rule.accept_probability(p, p)[case["draft_token"]]
    assert bool(stands) is row["expected"]["accepted"]
    verdict = rule.verify([p, p], [case["draft_token"]], q=None, rng=np.random.default_rng(0))
    assert int(verdict.accepted) == int(row["expected"]["accepted"])


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(0.05, 1), st.sampled_from(["scaled", "unscaled"]))
def test_lenience_never_gives_a_token_more_than_its_share(seed: int, size: int, factor: float, residual: str) -> None:
    """The guarantee of the paper, and alpha rises as the factor falls."""
    p, q = np.random.default_rng(seed).dirichlet(np.ones(size), size=2)
    rule = Lenience(factor=factor, residual_of=residual)
    assert (one_step(rule, p, q) <= p / factor + 1e-9).all()
    alpha = rule.accepted_pmf([p, p], [q])[1]
    assert alpha == pytest.approx(np.minimum(p / factor, q).sum(), abs=1e-12)
    assert alpha >= Rejection().accepted_pmf([p, p], [q])[1] - 1e-12


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(0.05, 1), st.floats(0.05, 1))
def test_thresholds_of_one_are_lossless_and_lower_ones_accept_more(
    seed: int, size: int, single: float, accumulated: float
) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(size), size=2)
    whole, rule = Threshold(single=1, accumulated=1), Threshold(single=single, accumulated=accumulated)
    assert law.text_total_variation(whole, [p, p, p], [q, q]) < 1e-12
    assert whole.accepted_pmf([p, p], [q])[1] == pytest.approx(p @ q, abs=1e-12)
    assert rule.accepted_pmf([p, p], [q])[1] >= p @ q - 1e-12
    assert rule.is_lossless is (single == accumulated == 1)


def test_the_law_that_a_draft_was_drawn_from_is_not_read() -> None:
    """Typical and threshold acceptance judge a draft the same with any q, or none."""
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=3)
    for rule in (Typical(), Threshold(), GreedyLenience()):
        found = [rule.outcomes(p, [1, 2], q=q) for q in (None, np.eye(4)[[1, 2]], np.full((2, 4), 0.25))]
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


def test_greedy_lenience_on_laws_of_a_temperature() -> None:
    p = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]]
    rng = np.random.default_rng(0)
    for factor, draft, expected in [
        (0.5, [1, 2], (2, 0)),
        (0.7, [1, 2], (0, 0)),
        (0.5, [0, 0], (1, 2)),
        (1.0, [0, 2], (2, 0)),
        (0.6, [1, 2], (2, 0)),  # 0.3 is 0.6 * 0.5: at the bound it stands
    ]:
        verdict = GreedyLenience(factor=factor).verify(p, draft, q=None, rng=rng)
        assert (int(verdict.accepted), int(verdict.token)) == expected, (factor, draft)


def test_typical_tokens() -> None:
    """A flat law has a low bar, a sharp one a high one; something is always left to emit."""
    flat, sharp = np.full(8, 1 / 8), np.array([0.9, 0.05, 0.03, 0.02])
    assert Typical().accept_probability(flat, flat).all()
    assert Typical().accept_probability(sharp, sharp).tolist() == [1, 0, 0, 0]
    assert float(Typical().threshold([1.0, 0.0])) == pytest.approx(0.09)
    assert float(Typical(delta=1).threshold([1.0, 0.0])) == pytest.approx(0.3)  # epsilon caps it
    all_even = Typical(epsilon=1, delta=1)  # p = exp(-H) is not above it
    assert not all_even.accept_probability(flat, flat).any()
    np.testing.assert_array_equal(all_even.residual(flat, flat), np.eye(8)[0])
    np.testing.assert_array_equal(Typical(emits="greedy").residual(sharp, sharp), np.eye(4)[0])
    np.testing.assert_allclose(Typical(epsilon=0.1, delta=1).residual(P_A, Q_A), P_A)


def test_one_token_can_be_right_while_the_text_is_not() -> None:
    """Why distance is taken over gamma + 1 tokens: here drafts that always stand hide a wrong second token."""
    p = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5])]
    q = [np.array([0.5, 0.5]), np.array([0.5, 0.5])]
    rule = Lenience(factor=0.2)
    text, target = law.text_law(rule, p, q), law.target_law(p, q)
    np.testing.assert_allclose(text.sum(axis=(1, 2)), target.sum(axis=(1, 2)), atol=1e-12)
    assert np.abs(text - target).sum() / 2 > 0.1


def test_lossy_rules_are_labelled() -> None:
    assert {name for name, rule in VERIFIERS.items() if not rule.is_lossless} == {
        "typical",
        "lenience",
        "greedy_lenience",
        "threshold",
    }
