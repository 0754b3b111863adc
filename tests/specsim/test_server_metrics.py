"""What serving engines report, put into named quantities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import tau
from specsim.acceptance import Acceptance, ServerMetrics, from_llama_cpp, from_sglang, from_vllm, from_vllm_metrics
from specsim.errors import InputError
from specsim.simulate import simulate_accepted

# Shaped as vLLM's page: two engines, creation times beside the counters, other metrics around them.
PAGE = """# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 60.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 40.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.75e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 120.0
vllm:spec_decode_num_draft_tokens_total{engine="1",model_name="m"} 80.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 70.0
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 50.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 45.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 25.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 35.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="1"} 15.0
vllm:spec_decode_num_accepted_tokens_per_pos_created{engine="1",model_name="m",position="1"} 1.75e+09
vllm:num_requests_running{engine="0"} 3.0
"""


def counted(lengths: np.ndarray) -> list[int]:
    """Rounds that accepted 1, 2, ... drafts at least."""
    return np.cumsum(lengths[::-1])[::-1][1:].tolist()


# --- vLLM ----------------------------------------------------------------------------------------------------------


def test_the_metrics_page_gives_the_counters_of_all_engines() -> None:
    metrics = from_vllm_metrics(PAGE)
    direct = from_vllm(
        num_drafts=100, num_draft_tokens=200, num_accepted_tokens=120, num_accepted_tokens_per_pos=[80, 40]
    )
    assert metrics == direct
    assert metrics.E_tokens == 2.2  # 1 + accepted over drafts: "mean acceptance length"
    assert metrics.draft_utilisation == 0.6  # "acceptance rate"
    np.testing.assert_allclose(metrics.acceptance().survival(2), [0.8, 0.4])  # "per-position acceptance rate"
    np.testing.assert_allclose(metrics.acceptance().conditional(2), [0.8, 0.5])


@given(st.lists(st.integers(0, 50), min_size=2, max_size=7).filter(any))
def test_counters_of_rounds_give_their_mean_length(lengths: list[int]) -> None:
    """Counters as vLLM keeps them, from a histogram of accepted drafts."""
    rounds, gamma = np.array(lengths), len(lengths) - 1
    total = int(rounds @ np.arange(gamma + 1))
    metrics = from_vllm(
        num_drafts=int(rounds.sum()),
        num_draft_tokens=int(rounds.sum()) * gamma,
        num_accepted_tokens=total,
        num_accepted_tokens_per_pos=counted(rounds),
    )
    assert metrics.E_tokens == pytest.approx(1 + total / rounds.sum())
    assert tau.expected_tokens(metrics.acceptance(), gamma=gamma) == pytest.approx(metrics.E_tokens)
    assert metrics.draft_utilisation == pytest.approx((metrics.E_tokens - 1) / gamma)


def test_without_positions_the_constant_with_the_reported_mean_is_taken() -> None:
    metrics = from_vllm(num_drafts=10_000, num_draft_tokens=40_000, num_accepted_tokens=17_731)
    acceptance = metrics.acceptance()
    assert acceptance.conditional(1)[0] == pytest.approx(0.7, abs=1e-9)
    assert "assumption" in acceptance.source
    assert tau.expected_tokens(acceptance, gamma=4) == pytest.approx(metrics.E_tokens)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_drafts": 0}, "num_drafts must be at least 1, got 0"),
        ({"num_accepted_tokens": 201}, r"num_accepted_tokens must be in 0..200, got 201"),
        ({"num_accepted_tokens": 119}, "must sum to num_accepted_tokens 119, got 120"),
        ({"num_draft_tokens": 201}, r"num_draft_tokens must be in 120..200, got 201"),
        ({"num_accepted_tokens_per_pos": [40, 80]}, r"reached\[1\]|accepted\[1\]"),
        ({"num_accepted_tokens_per_pos": [105, 15]}, r"accepted\[0\] must be in 0..100, got 105"),
        ({"num_accepted_tokens_per_pos": [80.0, 40.0]}, "must be whole numbers"),
        ({"num_draft_tokens": 2.5}, "num_draft_tokens must be a whole number"),
    ],
)
def test_counters_that_contradict_are_named(changes: dict, message: str) -> None:
    right = {
        "num_drafts": 100,
        "num_draft_tokens": 200,
        "num_accepted_tokens": 120,
        "num_accepted_tokens_per_pos": [80, 40],
    }
    with pytest.raises(InputError, match=message):
        from_vllm(**(right | changes))


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("", "must hold vllm:spec_decode_num_drafts; is speculation on"),
        (PAGE.replace("num_draft_tokens", "other"), "num_draft_tokens; is speculation on"),
        (PAGE.replace(" 60.0", " NaN"), "num_drafts must be a count, got 'NaN'"),
        (PAGE.replace(" 60.0", " 60.5"), "num_drafts must be a count, got '60.5'"),
        (PAGE.replace(" 60.0", " many"), "num_drafts must be a count, got 'many'"),
    ],
)
def test_pages_that_say_nothing_are_refused(page: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_vllm_metrics(page)


def test_a_page_without_positions_is_enough() -> None:
    page = "\n".join(line for line in PAGE.splitlines() if "per_pos" not in line)
    assert from_vllm_metrics(page).counts is None
    assert from_vllm_metrics(page).E_tokens == 2.2


# --- SGLang --------------------------------------------------------------------------------------------------------


def test_accept_length_counts_the_bonus() -> None:
    metrics = from_sglang(2.7731, gamma=4)
    assert metrics.E_tokens == 2.7731
    assert metrics.draft_utilisation == pytest.approx(0.443275)
    assert metrics.acceptance().conditional(1)[0] == pytest.approx(0.7, abs=1e-9)


def test_a_histogram_gives_counts_by_depth() -> None:
    lengths = simulate_accepted(Acceptance.by_depth([0.9, 0.5, 0.2]), gamma=3, rounds=10_000, seed=1)
    mean = 1 + float(lengths @ np.arange(4)) / 10_000
    acceptance = from_sglang(mean, gamma=3, histogram=lengths.tolist()).acceptance()
    assert acceptance == Acceptance.from_counts(
        [10_000, *counted(lengths)[:-1]], counted(lengths), source="SGLang, histogram of accepted drafts"
    )
    short = from_sglang(1.5, gamma=3, histogram=[50, 50]).acceptance()
    assert short.conditional(2).tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("length", "changes", "message"),
    [
        (0.5, {}, r"accept_length must be in \[1, 4\], got 0.5"),
        (4.5, {}, r"accept_length must be in \[1, 4\], got 4.5"),
        (2.0, {"gamma": 0}, "gamma must be at least 1"),
        (2.0, {"histogram": [1, 2, 3, 4, 5]}, r"accepted 0..3 drafts"),
        (2.0, {"histogram": []}, r"accepted 0..3 drafts"),
        (2.0, {"histogram": [5, -1]}, r"histogram\[1\] must be at least 0"),
        (2.0, {"histogram": [0, 0, 10]}, "mean near accept_length - 1 = 1, got 2"),  # counted with the bonus
    ],
)
def test_bad_accept_lengths_are_named(length: float, changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_sglang(length, **({"gamma": 3} | changes))


# --- llama.cpp -----------------------------------------------------------------------------------------------------


def test_rounds_come_from_what_was_not_drafted() -> None:
    """16 tokens, 9 of them drafted: 7 passes of the target."""
    metrics = from_llama_cpp(draft_n=12, draft_n_accepted=9, predicted_n=16)
    assert metrics.draft_utilisation == 0.75
    assert metrics.E_tokens == pytest.approx(16 / 7)
    assert metrics.drafted_per_round == pytest.approx(12 / 7)


def test_equal_lengths_give_the_constant_back() -> None:
    """1000 rounds of 4 drafts at 0.7."""
    accepted = round(1000 * 1.7731)
    metrics = from_llama_cpp(draft_n=4000, draft_n_accepted=accepted, predicted_n=accepted + 1000)
    assert metrics.acceptance().conditional(1)[0] == pytest.approx(0.7, abs=1e-4)


def test_unequal_lengths_give_a_constant_below_the_truth() -> None:
    """Half of the rounds draft 2, half 8, at 0.7 each: the mean length explains as many tokens with less."""
    per_round = [tau.expected_accepted(Acceptance.constant(0.7), gamma=gamma) for gamma in (2, 8)]
    metrics = ServerMetrics(
        server="x",
        draft_utilisation=sum(per_round) / 10,
        drafted_per_round=5.0,
        accepted_per_round=sum(per_round) / 2,
    )
    assert 0.6 < metrics.acceptance().conditional(1)[0] < 0.7


def test_utilisation_alone_is_no_acceptance() -> None:
    metrics = from_llama_cpp(draft_n=12, draft_n_accepted=9)
    assert metrics.draft_utilisation == 0.75
    for ask in (metrics.acceptance, lambda: metrics.E_tokens):
        with pytest.raises(InputError, match=r"llama.cpp metrics must come with the number of rounds"):
            ask()


@pytest.mark.parametrize(("accepted", "constant"), [(0, 0.0), (12, 1.0)])
def test_none_and_all_accepted(accepted: int, constant: float) -> None:
    metrics = from_llama_cpp(draft_n=12, draft_n_accepted=accepted, predicted_n=accepted + 4)
    assert metrics.acceptance().conditional(1)[0] == pytest.approx(constant, abs=1e-8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draft_n": 0}, "draft_n must be at least 1"),
        ({"draft_n_accepted": 13}, "draft_n_accepted must be in 0..12, got 13"),
        ({"predicted_n": 9}, "predicted_n must be at least 10, got 9"),
    ],
)
def test_bad_timings_are_named(changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_llama_cpp(**({"draft_n": 12, "draft_n_accepted": 9, "predicted_n": 16} | changes))
