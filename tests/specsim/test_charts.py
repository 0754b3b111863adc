"""Every chart builds from its documented frame, says what it shows, and refuses a frame that it cannot draw."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest

from specsim import charts
from specsim.charts import theme
from specsim.errors import InputError

vl_convert = pytest.importorskip("vl_convert")

INTERVALS = {"low": [1.1, 1.3, 0.8], "high": [1.5, 1.6, 1.0]}
PREDICTED = {
    "proposer": ["ngram", "ngram", "early exit"],
    "gamma": [2, 4, 4],
    "held_out": [False, True, True],
    "predicted": [1.4, 1.5, 0.9],
    "predicted_low": [1.3, 1.4, 0.8],
    "predicted_high": [1.5, 1.6, 1.0],
    "measured": [1.38, 1.55, 0.92],
    "measured_low": [1.3, 1.5, 0.9],
    "measured_high": [1.45, 1.6, 0.95],
}
AGREEING = {
    "series": ["a CPU", "a CPU", "a GPU"],
    "setting": ["γ 2", "γ 4", "γ 4"],
    "inside": [True, True, False],
    "predicted": [1.4, 1.5, 0.8],
}
PLACED = {
    "hardware": "H100",
    "model": "8B",
    "proposer": ["ngram", "ngram", "ngram", "ngram"],
    "gamma": 4,
    "efficiency": ["ideal", "ideal", "expected", "expected"],
    "batch": [1, 64, 1, 64],
    "speedup": [2.0, 1.1, 1.9, 0.8],
}
RANKED = {
    "method": ["ngram", "plain", "eagle3"],
    "bound": ["memory", "memory", "compute"],
    "gamma": [4, 0, 5],
    "nodes": [4, 0, 60],
    "tensor_parallel": 1,
    "E_tokens": [1.9, 1.0, 5.0],
    "speedup_low": [1.1, None, 2.0],
    "speedup_high": [1.9, None, 4.0],
    "user_tokens_per_second": [240.0, 160.0, 480.0],
    "device_tokens_per_second": [240.0, 160.0, 480.0],
    "speedup": [1.5, 1.0, 3.0],
}
SWEPT = {"batch": [1, 8, 64, 512], "fits": [True, True, True, False], "speedup": [2.0, 1.6, 1.1, 0.7]}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "acceptance_by_depth": (
        {
            "proposer": ["ngram", "ngram", "early exit"],
            "depth": [1, 2, 1],
            "reached": [90, 60, 90],
            "accepted": [60, 45, 80],
            "conditional": [0.67, 0.75, 0.89],
            "low": [0.57, 0.63, 0.81],
            "high": [0.76, 0.85, 0.94],
        },
        {},
    ),
    "device_speed_by_user_speed": (
        {
            "method": ["plain", "plain", "ngram"],
            "batch": [1, 64, 1],
            "gamma": [0, 0, 4],
            "user_tokens_per_second": [150.0, 90.0, 240.0],
            "device_tokens_per_second": [150.0, 5760.0, 240.0],
            "front": [False, True, True],
        },
        {},
    ),
    "drafters_by_speedup": (RANKED, {}),
    "evidence_by_tokens": ({"tokens": [500, 1000], "log10_margin": [-6.1, -5.8]}, {}),
    "gain_by_batch": ({"method": "ngram", **SWEPT}, {"by": "method"}),
    "gain_by_batch_and_context": ({"context": 1024, **SWEPT}, {}),
    "gain_by_batch_and_gamma": ({"gamma": 4, **SWEPT}, {}),
    "kept_by_load": (
        {
            "policy": ["plain", "plain", "goodput"],
            "requests_per_second": [5.0, 20.0, 5.0],
            "kept": [1.0, 0.4, 1.0],
            "kept_requests_per_second": [5.0, 8.0, 5.0],
        },
        {},
    ),
    "latency_by_load": (
        {
            "policy": ["plain", "plain", "goodput"],
            "latency": "request",
            "requests_per_second": [5.0, 20.0, 5.0],
            "quantile": [0.5, 0.5, 0.95],
            "seconds": [1.5, 4.0, 0.9],
        },
        {"latency": "request", "promise_seconds": 2.0},
    ),
    "measured_by_predicted": (
        {**AGREEING, "low": [1.3, 1.4, 0.8], "high": [1.5, 1.6, 0.85], "measured": [1.38, 1.55, 0.92]},
        {"what": "tokens per round"},
    ),
    "observed_by_rank": (
        {
            "rank": ["1", "2", "3 to 4"],
            "observed": [60, 40, 20],
            "expected": [55.0, 45.0, 20.0],
            "ratio": [1.09, 0.89, 1.0],
            "low": [0.7, 0.6, 0.5],
            "high": [1.3, 1.4, 1.5],
        },
        {},
    ),
    "pass_parts_by_tokens": (
        {"tokens": [1, 1, 2, 2], "part": ["mlp", "attention", "mlp", "attention"], "seconds": [4e-3, 1e-3, 4e-3, 2e-3]},
        {"ridge": 280.0},
    ),
    "pass_seconds_against_ideal": (
        {"law": ["ideal", "ideal", "calibrated"], "tokens": [1, 512, 1], "seconds": [4.5e-3, 7.8e-3, 6e-3]},
        {"ridges": pd.DataFrame({"law": ["ideal"], "tokens": [295.2], "seconds": [4.5e-3]})},
    ),
    "pass_seconds_by_tokens": (
        {
            "dtype": ["float32", "float32", "bfloat16"],
            "tokens": [1, 3, 1],
            "seconds": [0.057, 0.107, 0.036],
            "low": [0.05, 0.1, 0.03],
            "high": [0.06, 0.11, 0.04],
        },
        {},
    ),
    "pit_histogram": (
        {
            "bin_low": [0.0, 0.5],
            "bin_high": [0.5, 1.0],
            "observed": [52, 48],
            "expected": [50.0, 50.0],
            "low": [36, 36],
            "high": [64, 64],
        },
        {},
    ),
    "power_by_total_variation": (
        {"total_variation": [0.01, 0.02, 0.03], "power": [0.05, 0.6, 0.99], "tokens": 4000},
        {"smallest": 0.03},
    ),
    "predicted_against_measured": (PREDICTED, {"quantity": "round_seconds"}),
    "residuals_by_predicted": (
        {
            **AGREEING,
            "residual": [-0.014, 0.033, 0.15],
            "residual_low": [-0.07, -0.07, -0.06],
            "residual_high": [0.07, 0.07, 0.06],
        },
        {"what": "speedup", "unit": "×"},
    ),
    "round_parts": (
        {
            "proposer": ["none", "ngram", "ngram", "ngram"],
            "gamma": [0, 4, 4, 4],
            "part": ["verify", "draft", "verify", "host"],
            "seconds": [0.036, 0.002, 0.042, 0.001],
        },
        {},
    ),
    "scores_by_direction": (
        {"direction": ["q", "log_p"], "cause": "looks like q", "deviations": [7.1, -0.4], "pvalue": [1e-12, 0.7]},
        {},
    ),
    "serving_over_time": (
        {"policy": ["plain", "goodput", "goodput"], "gamma": [0.0, 4.0, 2.5], "seconds": [0.5, 0.5, 1.5]},
        {"quantity": "gamma"},
    ),
    "speedup_by_batch": (PLACED, {}),
    "speedup_by_gamma": (
        {"proposer": ["ngram", "ngram", "early exit"], "gamma": [1, 2, 1], "speedup": [1.2, 1.4, 0.9], **INTERVALS},
        {},
    ),
    "speedup_sensitivity": (
        {
            "name": ["acceptance", "batch"],
            "low_input": ["0.7", "4"],
            "high_input": ["0.8", "16"],
            "low": [1.9, 2.3],
            "high": [2.4, 2.0],
        },
        {"speedup": 2.1},
    ),
    "throughput_by_user_speed": (
        {
            "policy": ["plain", "plain", "goodput"],
            "requests_per_second": [5.0, 20.0, 5.0],
            "batch": [4.0, 60.0, 2.0],
            "gamma": [0.0, 0.0, 3.9],
            "user_tokens_per_second": [140.0, 70.0, 280.0],
            "tokens_per_second": [1200.0, 4500.0, 1200.0],
        },
        {},
    ),
    "tokens_by_gamma": (
        {"law": ["constant", "constant", "beta"], "gamma": [1, 2, 1], "E_tokens": [1.7, 2.2, 1.71]},
        {
            "band": pd.DataFrame({"gamma": [1, 2], "low": [1.6, 2.0], "high": [1.8, 2.4]}),
            "measured": pd.DataFrame({"gamma": [1], "E_tokens": [1.7], "low": [1.65], "high": [1.75]}),
        },
    ),
    "tokens_by_temperature": (
        {
            "drafter": "eagle3",
            "target": ["8B", "8B", "70B"],
            "source": "a paper",
            "temperature": [0.0, 1.0, 0.0],
            "E_tokens": [6.2, 4.9, 5.9],
        },
        {},
    ),
}
each_chart = pytest.mark.parametrize("name", sorted(CASES))


def built(name: str, frame: pd.DataFrame | None = None, **options: Any) -> alt.LayerChart:
    columns, needed = CASES[name]
    return charts.CHARTS[name](pd.DataFrame(columns) if frame is None else frame, **{**needed, **options})


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(part)


def found(spec: dict[str, Any], key: str) -> list[Any]:
    return [part[key] for part in walk({**spec, "config": None, "datasets": None}) if key in part]


def public_functions() -> set[Callable[..., Any]]:
    helpers = {"drawing", "frame", "live", "theme"}
    modules = [import_module(f"specsim.charts.{m.name}") for m in pkgutil.iter_modules(charts.__path__)]
    return {
        function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and module.__name__.rpartition(".")[2] not in helpers
        and not name.startswith("_")
    }


def test_every_chart_is_listed_and_has_a_case() -> None:
    assert set(charts.CHARTS.values()) == public_functions()
    assert set(charts.CHARTS) == set(CASES)


@each_chart
@pytest.mark.parametrize("look", ["light", "dark"])
def test_chart_validates_and_draws_marks(name: str, look: str) -> None:
    svg = vl_convert.vegalite_to_svg(built(name, theme=look).to_dict(), vl_version="6.1")
    marks = re.findall(r'<path aria-label="[^"]+"', svg)
    assert len(marks) >= len(pd.DataFrame(CASES[name][0])), svg[:500]
    assert theme.COLOURS[look]["background"] in svg


@each_chart
def test_chart_says_what_it_shows(name: str) -> None:
    spec = built(name).to_dict()
    assert spec["title"]
    assert len(spec["description"]) > 60
    axes = [axis for key in ("x", "y") for axis in found(spec, key) if isinstance(axis, dict) and axis.get("title")]
    assert axes
    assert len(found(spec, "tooltip")[0]) >= 3


@pytest.mark.parametrize("name", ["pass_parts_by_tokens", "pass_seconds_by_tokens", "round_parts"])
def test_seconds_are_shown_in_the_unit_that_the_axis_names(name: str) -> None:
    spec = built(name).to_dict()
    rows = [row for values in spec["datasets"].values() for row in values if "seconds" in row]
    assert {round(row["seconds"], 9) for row in rows} == {round(1000 * value, 9) for value in CASES[name][0]["seconds"]}
    assert any("[ms]" in json.dumps(axis) for key in ("x", "y") for axis in found(spec, key))


@pytest.mark.parametrize(
    ("name", "column"), [(name, column) for name, (columns, _) in sorted(CASES.items()) for column in columns]
)
def test_missing_column_is_named(name: str, column: str) -> None:
    with pytest.raises(InputError, match=rf"{name} needs the column '{column}'"):
        built(name, pd.DataFrame(CASES[name][0]).drop(columns=column))


@each_chart
def test_no_rows_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} needs at least one row"):
        built(name, pd.DataFrame(CASES[name][0]).iloc[:0])


@each_chart
@pytest.mark.parametrize("value", [math.nan, math.inf, None, "fast"])
def test_value_that_is_no_finite_number_is_refused_with_its_place(name: str, value: object) -> None:
    frame = pd.DataFrame(CASES[name][0])
    column = frame.select_dtypes("number").columns[-1]
    frame[column] = frame[column].astype(object)
    frame.loc[1, column] = value
    message = f"{name} column '{column}' row 1 must be a finite number, got {value!r}"
    with pytest.raises(InputError, match=re.escape(message)):
        built(name, frame)


def test_a_value_of_numpy_is_named_as_a_plain_number() -> None:
    with pytest.raises(InputError, match=r"row 1 must be a finite number, got nan$"):
        built("evidence_by_tokens", pd.DataFrame({"tokens": [1, 2], "log10_margin": [0.5, math.nan]}))


@each_chart
def test_unknown_theme_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="theme 'drak' is unknown; did you mean dark"):
        built(name, theme="drak")


@each_chart
def test_chart_leaves_its_frame_alone_and_takes_other_columns_and_any_index(name: str) -> None:
    frame = pd.DataFrame(CASES[name][0]).assign(extra=object())
    frame.index = pd.Index(range(7, 7 + len(frame)))
    before = frame.copy()
    spec = json.dumps(built(name, frame).to_dict())
    pd.testing.assert_frame_equal(frame, before)
    assert '"extra"' not in spec


@each_chart
def test_single_row_draws(name: str) -> None:
    frame = pd.DataFrame(CASES[name][0]).iloc[:1]
    assert "<path" in vl_convert.vegalite_to_svg(built(name, frame).to_dict(), vl_version="6.1")


def test_unknown_quantity_is_refused() -> None:
    with pytest.raises(InputError, match=r"quantity 'seconds' is unknown.*round_seconds"):
        built("predicted_against_measured", quantity="seconds")


def test_predictions_share_one_scale_so_that_the_diagonal_is_equality() -> None:
    spec = built("predicted_against_measured", quantity="tau").to_dict()
    domains = {tuple(axis["scale"]["domain"]) for key in ("x", "y") for axis in found(spec, key) if "scale" in axis}
    assert len(domains) == 1
    low, high = domains.pop()
    assert low < 0.8
    assert high > 1.6


def test_axes_of_agreement_are_logarithmic_only_where_values_differ_much() -> None:
    columns, options = CASES["measured_by_predicted"]
    frame = pd.DataFrame(columns)
    wide = frame.assign(predicted=[0.001, 1.5, 0.8], low=[0.0005, 1.4, 0.7])
    for rows, expected in ((frame, None), (wide, "log")):
        spec = charts.measured_by_predicted(rows, **options).to_dict()
        axes = [axis for key in ("x", "y") for axis in found(spec, key) if "scale" in axis]
        assert {axis["scale"].get("type") for axis in axes} == {expected}


def test_only_sides_that_there_are_get_a_layer_of_points() -> None:
    columns, options = CASES["residuals_by_predicted"]
    drawn = charts.residuals_by_predicted(pd.DataFrame(columns), **options).to_dict()
    one = charts.residuals_by_predicted(pd.DataFrame(columns).assign(inside=True), **options).to_dict()
    assert len(drawn["layer"]) == len(one["layer"]) + 1


def test_measurements_with_intervals_get_rules_both_ways() -> None:
    columns, options = CASES["measured_by_predicted"]
    frame = pd.DataFrame(columns)
    both = frame.assign(measured_low=frame["measured"] - 0.1, measured_high=frame["measured"] + 0.1)
    layers = [len(charts.measured_by_predicted(rows, **options).to_dict()["layer"]) for rows in (frame, both)]
    assert layers[1] == layers[0] + 1


def test_measured_points_and_crossovers_are_drawn_on_top() -> None:
    curve = pd.DataFrame(CASES["speedup_by_gamma"][0])
    plain, with_points = built("speedup_by_gamma"), built("speedup_by_gamma", measured=curve)
    assert len(with_points.to_dict()["layer"]) == len(plain.to_dict()["layer"]) + 2
    crossing = pd.DataFrame(PLACED).iloc[[0, 2]].assign(crossover_batch=[70, 0])
    svg = vl_convert.vegalite_to_svg(built("speedup_by_batch", crossover=crossing).to_dict(), vl_version="6.1")
    assert svg.count("largest batch that gains: 70") == 1
    assert "largest batch that gains: 0" not in svg


def test_order_keeps_colours_the_same_when_a_drafter_is_absent() -> None:
    order = ["model", "early exit", "ngram"]
    for name in ("acceptance_by_depth", "speedup_by_gamma", "speedup_by_batch"):
        colour = next(c for c in found(built(name, order=order).to_dict(), "color") if "scale" in c)
        assert colour["scale"]["domain"] == order
        assert "model" not in colour["legend"]["values"]


def luminance(colour: str) -> np.ndarray:
    """Linear RGB, by the sRGB transfer function (IEC 61966-2-1)."""
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2."""
    low, high = sorted(float(luminance(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


# Severity 1.0 matrices of Machado, Oliveira and Fernandes (2009), for linear RGB.
SIGHT = {
    "typical": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: str, sight: str) -> np.ndarray:
    """CIE L*a*b* of a colour as seen with `sight`, white point D65."""
    seen = np.clip(np.asarray(SIGHT[sight]) @ luminance(colour), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    scaled = xyz / [0.9505, 1, 1.089]
    f = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def closest(colours: list[str], sight: str) -> float:
    return min(float(np.linalg.norm(lab(a, sight) - lab(b, sight))) for a, b in itertools.combinations(colours, 2))


@pytest.mark.parametrize("look", sorted(theme.COLOURS))
def test_colours_stand_out_from_the_background(look: str) -> None:
    colours = theme.COLOURS[look]
    assert min(contrast(colour, colours["background"]) for colour in colours["category"]) >= 3
    assert min(contrast(colours[ink], colours["background"]) for ink in ("text", "muted")) >= 4.5


@pytest.mark.parametrize("look", sorted(theme.COLOURS))
def test_numbers_are_read_on_every_colour_of_a_map(look: str) -> None:
    colours = theme.COLOURS[look]
    assert min(contrast(colours["text"], colour) for colour in colours["diverging"]) >= 4.5


@pytest.mark.parametrize("look", sorted(theme.COLOURS))
@pytest.mark.parametrize("sight", sorted(SIGHT))
def test_colours_stay_apart_for_every_kind_of_sight(look: str, sight: str) -> None:
    """20 units of L*a*b* is an order of magnitude above a just noticeable difference (about 2.3)."""
    assert closest(theme.COLOURS[look]["category"], sight) >= 20
    assert closest(theme.COLOURS[look]["parts"], sight) >= 15
    assert closest(theme.COLOURS[look]["diverging"], sight) >= 15


def test_the_colour_test_sees_a_palette_that_is_not_safe() -> None:
    assert closest(["#d62728", "#2ca02c", "#8c564b"], "deuteranopia") < 20


def test_charts_import_nothing_heavy() -> None:
    heavy = "{'torch', 'transformers', 'scipy', 'sympy', 'simpy', 'vl_convert', 'validation', 'reports'}"
    code = f"import sys, specsim.charts; sys.exit(len({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
