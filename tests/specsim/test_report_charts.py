"""Charts of the drafter report: what they mark, tick and leave out."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from specsim.charts import (
    device_speed_by_user_speed,
    gain_by_batch_and_gamma,
    pass_seconds_against_ideal,
    tokens_by_gamma,
    tokens_by_temperature,
)
from specsim.charts.drawing import PICTURES, script_json, svg
from specsim.charts.frame import decades
from specsim.errors import InputError

PASSES = pd.DataFrame({"law": ["ideal", "ideal", "calibrated", "calibrated"], "tokens": [1, 512] * 2})
PASSES["seconds"] = [4.5e-3, 7.8e-3, 6.0e-3, 12e-3]
SPEEDS = pd.DataFrame(
    {
        "method": ["plain", "plain", "ngram", "ngram"],
        "batch": [1, 64] * 2,
        "gamma": [0, 0, 4, 4],
        "user_tokens_per_second": [150.0, 90.0, 240.0, 100.0],
        "device_tokens_per_second": [150.0, 5760.0, 240.0, 6400.0],
        "front": [False, False, True, True],
    }
)
TAU = pd.DataFrame({"law": "constant", "gamma": [1, 2, 8], "E_tokens": [1.7, 2.19, 3.2]})
SEEN = pd.DataFrame({"gamma": [1, 2], "E_tokens": [1.7, 2.2], "low": [1.65, 2.1], "high": [1.75, 2.3]})


def words(drawn: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def labels(drawn: str) -> list[str]:
    return re.findall(r'aria-label="([^"]*)"', drawn)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(4.6, 110.0, [5, 10, 20, 50, 100]), (1.0, 1.0, [1]), (0.03, 0.3, [0.05, 0.1, 0.2]), (3.0, 4.0, [])],
)
def test_logarithmic_ticks_stand_at_1_2_and_5_within_the_values(low: float, high: float, ticks: list[float]) -> None:
    axis = decades("seconds", title="time", low=low, high=high).to_dict()["axis"]
    assert axis["values"] == pytest.approx(ticks)


def test_ridges_are_named_where_they_stand() -> None:
    ridges = pd.DataFrame({"law": ["ideal", "calibrated"], "tokens": [295.2, 301.4], "seconds": [4.6e-3, 1e-2]})
    drawn = words(svg(pass_seconds_against_ideal(PASSES, ridges=ridges).to_dict()))
    assert {"ridge, 295 tokens", "ridge, 301 tokens"} <= set(drawn)
    assert not any("ridge" in word for word in words(svg(pass_seconds_against_ideal(PASSES).to_dict())))


def test_a_law_that_is_neither_is_refused() -> None:
    with pytest.raises(InputError, match="law 'hoped' is unknown; known: calibrated, ideal"):
        pass_seconds_against_ideal(PASSES.assign(law="hoped"))


def test_the_best_depth_of_each_batch_is_bold() -> None:
    rows = [(1, 2, 1.5), (1, 4, 1.8), (64, 2, 1.2), (64, 4, 0.9)]
    frame = pd.DataFrame(rows, columns=["batch", "gamma", "speedup"]).assign(fits=True)
    drawn = svg(gain_by_batch_and_gamma(frame).to_dict())
    bold = re.findall(r'<text[^>]*font-weight="bold"[^>]*>([^<]*)</text>', drawn)
    assert sorted(bold) == ["1.20", "1.80"]
    assert {"1.50", "0.90"} <= set(words(drawn))


def test_the_front_and_plain_decoding_stand_out() -> None:
    drawn = svg(device_speed_by_user_speed(SPEEDS).to_dict())
    assert "plain decoding" in words(drawn)
    assert "plain" not in words(drawn)  # it takes no colour of the drafters
    for frame, fronts in ((SPEEDS, 2), (SPEEDS.assign(front=[True, False, False, False]), 1)):
        drawn = svg(device_speed_by_user_speed(frame).to_dict())
        assert len(re.findall(r' d="M4\.743', drawn)) == fronts + 1  # circles of an area of 90, and the legend has one


def test_plain_decoding_alone_can_be_drawn() -> None:
    assert "plain decoding" in words(svg(device_speed_by_user_speed(SPEEDS[:2]).to_dict()))


def test_what_lies_beyond_the_data_is_marked_only_if_there_is_such() -> None:
    for frame, marked in ((TAU, True), (TAU[:2], False)):
        drawn = words(svg(tokens_by_gamma(frame, measured=SEEN).to_dict()))
        assert ("beyond the data" in drawn) is marked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measured": SEEN[["gamma"]]}, "tokens_by_gamma measured needs the column 'E_tokens'"),
        ({"band": SEEN[["gamma"]]}, "tokens_by_gamma band needs the column 'low'"),
    ],
)
def test_a_column_that_lacks_beside_is_named(options: dict[str, pd.DataFrame], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        tokens_by_gamma(TAU, **options)


def test_two_temperatures_of_one_drafter_stand_in_one_row() -> None:
    frame = pd.DataFrame({"drafter": "eagle3", "target": ["8B", "8B", "70B"], "source": "a paper"})
    frame = frame.assign(temperature=[0.0, 1.0, 0.0], E_tokens=[6.2, 4.9, 5.9])
    drawn = tokens_by_temperature(frame)
    assert words(svg(drawn.to_dict())).count("eagle3, 8B") == 1
    with pytest.raises(InputError, match="one row for each drafter and target and temperature, got 2 for eagle3, 8B"):
        tokens_by_temperature(frame.assign(temperature=0.0))


def test_pictures_are_what_their_ending_says() -> None:
    spec = tokens_by_gamma(TAU).to_dict()
    assert PICTURES[".png"](spec)[:8] == b"\x89PNG\r\n\x1a\n"
    assert str(PICTURES[".svg"](spec)).startswith("<svg")


def test_script_json_keeps_text_inside_its_element() -> None:
    assert not re.search(r"[<>&\u2028]", script_json(["<!--</script>", "\u2028", "&amp;"]))
