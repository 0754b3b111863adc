"""Every check takes what is right and refuses what is wrong with name, rule, value and place in one line."""

from __future__ import annotations

import numpy as np
import pytest

from specsim import checks
from specsim.errors import InputError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checks.probability("alpha", 1.2), "alpha must be in [0, 1], got 1.2"),
        (lambda: checks.probability("alpha", float("nan")), "alpha must be in [0, 1], got nan"),
        (lambda: checks.positive("seconds", 0), "seconds must be above 0, got 0"),
        (lambda: checks.positive("seconds", float("inf")), "seconds must be above 0, got inf"),
        (lambda: checks.non_negative("c", -1), "c must be at least 0, got -1"),
        (lambda: checks.number("c", "0.1"), "c must be a number, got '0.1'"),
        (lambda: checks.number("c", True), "c must be a number, got True"),
        (lambda: checks.integer("gamma", 0, low=1), "gamma must be at least 1, got 0"),
        (lambda: checks.integer("gamma", 2.0), "gamma must be a whole number, got 2.0"),
        (lambda: checks.integer("depth", 9, high=4), "depth must be in 0..4, got 9"),
        (lambda: checks.one_of("name", "H10", ["H100", "L4"]), "name 'H10' is unknown; did you mean H100?"),
        (lambda: checks.array("p", [[0.5, np.nan]]), "p[0, 1] must be finite, got nan"),
        (lambda: checks.array("p", ["x"]), "p must be an array of numbers"),
        (lambda: checks.array("p", [0.5 + 0j]), "p must be an array of numbers"),
        (lambda: checks.array("p", ["0.5", "0.5"]), "p must be an array of numbers"),
        (lambda: checks.array("p", [0.5], ndim=2), "p must have 2 axes, got shape (1,)"),
        (lambda: checks.probabilities("s", [0.5, 1.5]), "s[1] must be in [0, 1], got 1.5"),
        (lambda: checks.distribution("p", [[0.5, 0.5], [0.5, 0.4]]), "p[1] must sum to 1, got 0.9"),
        (lambda: checks.distribution("p", [1.5, -0.5]), "p[1] must be at least 0, got -0.5"),
        (lambda: checks.distribution("p", np.empty((2, 0))), "p must have a vocabulary axis, got shape (2, 0)"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="known: H100, L4"):
        checks.one_of("hardware", "zzz", ["L4", "H100"])


def test_numbers_of_numpy_are_numbers():
    assert checks.integer("gamma", np.int64(3)) == 3
    assert checks.probability("alpha", np.float32(0.5)) == 0.5


def test_float32_stays_float32_and_may_round():
    rows = np.full((2, 50_000), 1 / 50_000, dtype=np.float32)
    assert checks.distribution("p", rows).dtype == np.float32
    assert checks.distribution("p", [[1, 0]]).dtype == np.float64
