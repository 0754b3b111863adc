"""Parameters: where texts end, what may follow what, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.conformance import Parameters
from specsim.errors import InputError

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=8)


@given(
    TOKENS,
    st.sets(st.integers(0, 3), max_size=2),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), max_size=2),
    st.integers(1, 8),
)
def test_texts_end_where_reading_them_says(tokens: list[int], eos: set[int], stops: list[list[int]], most: int) -> None:
    parameters = Parameters(eos_ids=tuple(eos), stop_sequences=tuple(map(tuple, stops)), max_tokens=most)
    expected = None
    for count in range(1, len(tokens) + 1):
        text = " ".join(map(str, tokens[:count]))
        if tokens[count - 1] in eos or any(f" {text}".endswith(" " + " ".join(map(str, one))) for one in stops):
            expected = (count, "stop")
        elif count == most:
            expected = (count, "length")
        if expected:
            break
    assert parameters.end(tokens) == expected


def test_what_may_follow() -> None:
    parameters = Parameters(allowed_after={1: (0, 2)}, eos_ids=(2,))
    late, early = (parameters.allowed(3, is_early=flag).astype(int).tolist() for flag in (False, True))
    assert late == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    assert early == [[1, 1, 0], [1, 0, 0], [1, 1, 0]]


def test_bans_are_infinite_biases_and_equal_parameters_are_one() -> None:
    a = Parameters(logit_bias={3: 1.0, 1: -1.0}, banned_ids=(1,), allowed_after={2: (1,), 0: (3,)})
    b = Parameters(logit_bias=((1, -1.0), (3, 1.0)), banned_ids=(1,), allowed_after=((0, (3,)), (2, (1,))))
    assert a == b
    assert hash(a) == hash(b)
    assert dict(a.sampling.logit_bias)[1] == -math.inf
    assert a.sampling.probabilities(np.zeros(4))[1] == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": -1.0}, "temperature must be at least 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"min_tokens": 5, "max_tokens": 4}, r"min_tokens must be in 0\.\.4"),
        ({"stop_sequences": ((),)}, "stop_sequences must hold a token each"),
        ({"banned_ids": (-1,)}, "banned_ids must be at least 0"),
        ({"eos_ids": ("a",)}, "eos_ids must be a whole number"),
        ({"top_p": 1.5}, "top_p must be in"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Parameters(**wrong)  # type: ignore[arg-type]
