"""Batches of rows that accept different lengths, drafting ahead, waking experts: golden rows and enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import tau
from specsim.acceptance import Acceptance
from specsim.batching import padding_efficiency, tokens_of_fastest, tokens_of_slowest
from specsim.catalog import hardware
from specsim.errors import InputError
from specsim.overlap import overlapped_cycle_seconds, overlapped_speedup
from specsim.roofline import expected_distinct_experts, ridge_tokens, weight_read_seconds
from tests.reference import exact_laws, golden_laws

ALPHAS = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def numbers(row: dict) -> dict[str, float]:
    return {name: float(Fraction(value)) for name, value in row["expected"].items()}


def case(row: dict) -> dict[str, float]:
    return {name: float(Fraction(value)) for name, value in row["case"].items()}


# --- batches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_laws.rows("synchronous_batch"), ids=lambda row: row["id"])
def test_batches_give_the_golden_row(row: dict) -> None:
    acceptance = Acceptance.constant(float(Fraction(row["case"]["alpha"])))
    shape = {"gamma": row["case"]["gamma"], "batch": row["case"]["batch"]}
    found = {
        "E_tokens_ragged": tau.expected_tokens(acceptance, gamma=shape["gamma"]),
        "E_tokens_slowest": tokens_of_slowest(acceptance, **shape),
        "E_tokens_fastest": tokens_of_fastest(acceptance, **shape),
        "padding_efficiency": padding_efficiency(acceptance, **shape),
    }
    assert found == pytest.approx(numbers(row), rel=row["rtol"])


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_batches_are_the_extremes_of_their_rows(batch: int) -> None:
    """By enumeration, for acceptance that differs by depth."""
    alphas = [Fraction(9, 10), Fraction(1, 2), Fraction(3, 4)]
    acceptance, law = Acceptance.by_depth([0.9, 0.5, 0.75]), exact_laws.lengths(exact_laws.by_depth(alphas))
    for found, of in ((tokens_of_slowest, min), (tokens_of_fastest, max)):
        exact = 1 + exact_laws.mean(exact_laws.extreme(law, batch=batch, of=of))
        assert found(acceptance, gamma=3, batch=batch) == pytest.approx(float(exact), rel=1e-12)


@given(ALPHAS, st.integers(1, 64))
def test_the_mean_lies_between_the_extremes(alphas: list[float], batch: int) -> None:
    acceptance, gamma = Acceptance.by_depth(alphas), len(alphas)
    slowest, fastest = (found(acceptance, gamma=gamma, batch=batch) for found in (tokens_of_slowest, tokens_of_fastest))
    assert 1 <= slowest <= tau.expected_tokens(acceptance, gamma=gamma) + 1e-12
    assert tau.expected_tokens(acceptance, gamma=gamma) <= fastest + 1e-12 <= gamma + 1 + 2e-12
    assert tokens_of_slowest(acceptance, gamma=gamma, batch=batch + 1) <= slowest + 1e-12


def test_a_batch_has_a_row() -> None:
    with pytest.raises(InputError, match="batch must be at least 1, got 0"):
        tokens_of_slowest(Acceptance.constant(0.5), gamma=2, batch=0)
    assert tokens_of_fastest(Acceptance.constant(0.5), gamma=0, batch=3) == 1


# --- drafting ahead ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_laws.rows("parallel_drafting_cycle"), ids=lambda row: row["id"])
def test_drafting_ahead_gives_the_golden_row(row: dict) -> None:
    given, expected = case(row), numbers(row)
    times = {"draft_seconds": given["draft"], "verify_seconds": given["verify"], "hit_rate": given["hit_rate"]}
    assert overlapped_cycle_seconds(**times) == pytest.approx(expected["cycle"], rel=row["rtol"])
    speedup = overlapped_speedup(E_tokens=given["E_tokens"], plain_seconds=1.0, **times)
    assert speedup == pytest.approx(expected["speedup"], rel=row["rtol"])


@given(st.floats(0, 10), st.floats(0.01, 10), st.floats(0, 1))
def test_a_cycle_is_between_the_longer_part_and_both(draft: float, verify: float, hit: float) -> None:
    cycle = overlapped_cycle_seconds(draft_seconds=draft, verify_seconds=verify, hit_rate=hit)
    assert max(draft, verify) - 1e-9 <= cycle <= draft + verify + 1e-9


def test_a_speedup_per_accelerator_counts_the_drafters_own() -> None:
    ahead = {"E_tokens": 3.0, "draft_seconds": 1.0, "verify_seconds": 1.0, "hit_rate": 1.0, "plain_seconds": 1.0}
    assert overlapped_speedup(**ahead) == 3
    assert overlapped_speedup(**ahead, hardware_share=0.5) == 1.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hit_rate": 1.1}, r"hit_rate must be in \[0, 1\]"),
        ({"draft_seconds": -1.0}, "draft_seconds must be at least 0"),
        ({"verify_seconds": 0.0}, "verify_seconds must be above 0"),
        ({"E_tokens": 0.5}, "E_tokens must be at least 1"),
        ({"plain_seconds": float("nan")}, "plain_seconds must be"),
        ({"hardware_share": 0.0}, r"hardware_share must be in \(0, 1\]"),
    ],
)
def test_bad_cycles_are_named(changes: dict, message: str) -> None:
    right = {"E_tokens": 3.0, "draft_seconds": 1.0, "verify_seconds": 1.0, "hit_rate": 1.0, "plain_seconds": 1.0}
    with pytest.raises(InputError, match=message):
        overlapped_speedup(**(right | changes))


# --- experts and the roofline --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_laws.rows("moe_expert_activation"), ids=lambda row: row["id"])
def test_experts_give_the_golden_row(row: dict) -> None:
    found = expected_distinct_experts(**row["case"])
    assert found == pytest.approx(numbers(row)["E_distinct_experts"], rel=row["rtol"])


@given(st.integers(1, 64), st.integers(1, 64), st.integers(0, 200))
def test_experts_awake_are_between_those_of_a_token_and_all(experts: int, active: int, tokens: int) -> None:
    awake = expected_distinct_experts(experts=experts, active=min(active, experts), tokens=tokens)
    assert min(active, experts, active * tokens) - 1e-9 <= awake <= experts
    one_more = expected_distinct_experts(experts=experts, active=min(active, experts), tokens=tokens + 1)
    assert awake <= one_more


def test_experts_of_many_counts_at_once() -> None:
    awake = expected_distinct_experts(experts=8, active=2, tokens=np.array([0, 1, 5]))
    np.testing.assert_allclose(awake, [0, 2, 781 / 128])
    assert expected_distinct_experts(experts=4, active=4, tokens=3) == 4
    with pytest.raises(InputError, match=r"active must be in 1..8, got 9"):
        expected_distinct_experts(experts=8, active=9, tokens=1)
    with pytest.raises(InputError, match="tokens"):
        expected_distinct_experts(experts=8, active=2, tokens=-1)


@pytest.mark.parametrize("row", golden_laws.rows("roofline"), ids=lambda row: row["id"])
def test_the_roofline_gives_the_golden_row(row: dict) -> None:
    given, expected, gpu = case(row), numbers(row), hardware("H100-SXM")
    assert gpu.bandwidth_bytes_per_second == given["bandwidth"]
    assert gpu.peak("bfloat16") == given["flop_per_second"]
    read, ridge = weight_read_seconds(gpu, weight_bytes=given["weight_bytes"]), ridge_tokens(gpu)
    found = {"read_seconds": read, "tokens_per_second": 1 / read, "token_seconds": read / ridge, "ridge_tokens": ridge}
    assert found == pytest.approx(expected, rel=row["rtol"])


# --- what was published --------------------------------------------------------------------------------------------

PUBLISHED = golden_laws.rows("published_formula_check")


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["id"])
def test_the_formulas_give_the_golden_row(row: dict) -> None:
    given, expected = case(row), numbers(row)
    arguments = {"gamma": row["case"]["gamma"]}
    speedup = tau.speedup_walltime(given["alpha"], c=given["c"], **arguments)
    assert speedup == pytest.approx(expected["speedup"], rel=row["rtol"])
    if "c_hat" in given:
        operations = tau.operations_factor(given["alpha"], c_hat=given["c_hat"], **arguments)
        assert operations == pytest.approx(expected["operations"], rel=row["rtol"])


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["id"])
def test_what_the_paper_prints_is_the_formula_rounded(row: dict) -> None:
    """Table 1 rounds the value; the expected column of table 4 follows from alpha and c before they were rounded."""
    given, gamma = case(row), row["case"]["gamma"]
    if "paper_speed" in given:
        assert tau.speedup_walltime(given["alpha"], gamma=gamma, c=0.0) == pytest.approx(
            given["paper_speed"], abs=0.0051
        )
        assert tau.operations_factor(given["alpha"], gamma=gamma, c_hat=0.0) == pytest.approx(
            given["paper_ops"], abs=0.0051
        )
    else:
        least, most = (
            tau.speedup_walltime(given["alpha"] + sign * 0.005, gamma=gamma, c=given["c"] - sign * 0.005)
            for sign in (-1, 1)
        )
        assert least - 0.051 <= given["paper_expected"] <= most + 0.051
