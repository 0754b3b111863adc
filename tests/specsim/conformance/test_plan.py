"""Plans: the same requests whoever asks, all kinds of them, and looks that fit the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.conformance import Request, parameter_matrix, plan, recorded_plan
from specsim.errors import InputError

PLAN = plan(tokens=64_000, vocabulary=8, eos_id=7, seed=1)


@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 39))
def test_portions_do_not_matter(first: int, count: int, cut: int) -> None:
    whole = PLAN.requests(first, count)
    at = min(cut, count)
    assert PLAN.requests(first, at) + PLAN.requests(first + at, count - at) == whole


def test_all_kinds_are_asked_with_seeds_of_their_own() -> None:
    requests = PLAN.requests(0, 2000)
    assert {request.tags[0] for request in requests} == set(PLAN.tags)
    assert len({request.seed for request in requests}) == 2000
    warm = {request.prompt for request in requests if request.tags == ("warm prefix",)}
    assert warm == set(PLAN.fixed)


def test_the_matrix_covers_every_parameter() -> None:
    kinds = [cell.parameters for cell in parameter_matrix(8, eos_id=7)]
    plain = type(kinds[0])()
    for name in (
        *("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"),
        *("logit_bias", "banned_ids", "allowed_after", "min_tokens", "max_tokens", "stop_sequences", "eos_ids"),
    ):
        assert any(getattr(kind, name) != getattr(plain, name) for kind in kinds), name
    assert not any(cell.parameters.eos_ids for cell in parameter_matrix(8))
    assert not any(cell.name == "greedy" for cell in plan(tokens=10, vocabulary=8, tolerance=0.01).cells)


@pytest.mark.parametrize("vocabulary", [4, 8, 1000, 152_064])
def test_every_vocabulary_has_a_plan(vocabulary: int) -> None:
    asked = plan(tokens=1000, vocabulary=vocabulary, eos_id=vocabulary - 1)
    assert all(max(request.prompt) < vocabulary for request in asked.requests(0, 50))
    assert ("grammar" in asked.tags) == (vocabulary <= 64)


@pytest.mark.parametrize(
    ("tokens", "looks"),
    [
        (500, (500,)),
        (1000, (1000,)),
        (4000, (1000, 4000)),
        (64_000, (1000, 4000, 16_000, 64_000)),
        (1001, (1000, 1001)),
    ],
)
def test_looks_end_with_the_budget(tokens: int, looks: tuple[int, ...]) -> None:
    assert plan(tokens=tokens, vocabulary=8).looks == looks


def test_sizes_sum_to_the_budget() -> None:
    assert sum(PLAN.sizes.values()) == pytest.approx(64_000, abs=len(PLAN.cells))
    assert min(PLAN.sizes.values()) > 500


def test_portions_grow_and_stop_at_looks() -> None:
    asked, tokens, sizes = 0, 0, []
    while portion := PLAN.next_requests(asked, tokens):
        sizes.append(len(portion))
        asked, tokens = asked + len(portion), tokens + 20 * len(portion)
    assert sizes[:4] == [8, 8, 16, 19]  # 640 tokens by then, and 18 more requests to the first look, and one to spare
    assert max(sizes) <= 1024
    assert 64_000 <= tokens <= 64_000 + 20 * 8
    assert PLAN.next_requests(asked, tokens) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tokens": 0}, "tokens must be at least 1"),
        ({}, "give tokens, or seconds and tokens_per_second"),
        ({"tokens": 5, "seconds": 1.0}, "give tokens, or seconds"),
        ({"seconds": 1.0}, "give tokens, or seconds"),
        ({"tokens": 5, "level": 0.0}, "level must be in"),
        ({"tokens": 5, "tolerance": 2.0}, "tolerance must be in"),
        ({"tokens": 5, "prompts": []}, "cells, prompts and fixed prompts"),
        ({"tokens": 5, "prompts": [[1], []]}, "prompts must hold a token each"),
        ({"tokens": 5, "prompts": [[8]]}, r"prompts must be in 0\.\.7, got 8"),
    ],
)
def test_wrong_plans_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(vocabulary=8, **wrong)  # type: ignore[arg-type]


def test_a_recording_is_its_own_plan() -> None:
    requests = [Request(id=str(i), prompt=(1,), tags=("old",) if i else ()) for i in range(3)]
    asked = recorded_plan(requests, tokens=10)
    assert asked.next_requests(0, 0) == requests
    assert asked.next_requests(3, 5) == []
    assert asked.tags == ("old",)
