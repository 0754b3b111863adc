"""Charts of plans, sweeps and passes show what their frames say: ranks, edges, bars and marks are read off the SVG."""

from __future__ import annotations

import itertools
import re
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import catalog
from specsim.charts import (
    drafters_by_speedup,
    gain_by_batch,
    gain_by_batch_and_context,
    pass_parts_by_tokens,
    speedup_sensitivity,
)
from specsim.charts.gain_map import MOST_TEXTS, ROW_HEIGHT
from specsim.charts.step import KINDS
from specsim.charts.theme import stacked
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline

vl_convert = pytest.importorskip("vl_convert")

PLAIN = ("plain", 0, 0, 1.0, None, None)
CHAIN = ("ngram", 4, 4, 1.5, 1.1, 1.9)
TREE = ("eagle3", 5, 60, 3.0, 2.0, 4.0)


def svg(chart: Any) -> str:
    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict(), vl_version="6.1")
    return drawn


def texts(drawn: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def plan_frame(*rows: tuple[Any, ...], degrees: tuple[int, ...] | None = None) -> pd.DataFrame:
    columns = ["method", "gamma", "nodes", "speedup", "speedup_low", "speedup_high"]
    rest = {"E_tokens": 2.0, "user_tokens_per_second": 200.0, "device_tokens_per_second": 200.0, "bound": "memory"}
    frame = pd.DataFrame(rows, columns=columns).assign(**rest)
    return frame.assign(tensor_parallel=1 if degrees is None else degrees)


@pytest.mark.parametrize("rows", [*itertools.permutations([PLAIN, CHAIN, TREE])])
def test_drafters_are_ranked_by_speedup_whatever_their_order(rows):
    labels = ["eagle3, γ 5, 60 nodes", "ngram, γ 4", "plain decoding"]
    drawn = texts(svg(drafters_by_speedup(plan_frame(*rows))))
    assert [text for text in drawn if text in labels] == labels
    assert sorted(text for text in drawn if re.fullmatch(r"\d\.\d\d", text)) == ["1.00", "1.50", "3.00"]


def test_plain_decoding_has_a_point_and_no_interval():
    drawn = svg(drafters_by_speedup(plan_frame(PLAIN, CHAIN, TREE)))
    assert len(re.findall(r'<path aria-label="[^"]*" role="graphics-symbol" aria-roledescription="point"', drawn)) == 3
    assert len(re.findall(r'<line aria-label="[^"]*speedup_low', drawn)) == 2
    assert '<path aria-label="' in svg(drafters_by_speedup(plan_frame(PLAIN)))


def test_the_legend_names_only_the_kinds_that_are_there():
    assert {"chain", "tree"} <= set(texts(svg(drafters_by_speedup(plan_frame(CHAIN, TREE)))))
    only_chain = texts(svg(drafters_by_speedup(plan_frame(PLAIN, CHAIN))))
    assert "chain" in only_chain
    assert "tree" not in only_chain


def test_accelerators_are_named_where_they_differ():
    same = texts(svg(drafters_by_speedup(plan_frame(CHAIN, TREE, degrees=(2, 2)))))
    differ = texts(svg(drafters_by_speedup(plan_frame(CHAIN, TREE, degrees=(1, 4)))))
    assert not any("GPU" in text for text in same)
    assert {"ngram, γ 4, 1 GPU", "eagle3, γ 5, 60 nodes, 4 GPUs"} <= set(differ)


def test_an_interval_may_be_missing_but_not_nonsense():
    with pytest.raises(InputError, match="drafters_by_speedup column 'speedup_low' row 0 must be a finite number"):
        drafters_by_speedup(plan_frame(("ngram", 4, 4, 1.5, "fast", 1.9)))
    with pytest.raises(InputError, match="drafters_by_speedup column 'speedup_high' row 1 must be a finite number"):
        drafters_by_speedup(plan_frame(CHAIN, ("eagle3", 5, 60, 3.0, 2.0, np.inf)))


SPEEDUPS = st.floats(0.1, 10)


@settings(max_examples=15)
@given(ends=st.lists(st.tuples(SPEEDUPS, SPEEDUPS), min_size=1, max_size=8), speedup=SPEEDUPS)
def test_texts_of_a_tornado_never_stand_on_its_bars_or_on_each_other(ends, speedup):
    low, high = map(list, zip(*ends, strict=True))
    names = [f"x{place}" for place in range(len(ends))]
    frame = pd.DataFrame({"name": names, "low_input": "a", "high_input": "b", "low": low, "high": high})
    chart = speedup_sensitivity(frame, speedup=speedup).to_dict()
    bars = [bar for rows in chart["datasets"].values() for bar in rows if "is_left" in bar]
    for name, *asked in zip(names, low, high, strict=True):
        own = [bar for bar in bars if bar["name"] == name]
        assert {bar["input"]: bar["to"] for bar in own} == dict(zip("ab", asked, strict=True))
        (left,) = (bar for bar in own if bar["is_left"])
        (right,) = (bar for bar in own if not bar["is_left"])
        assert left["text"] <= min(speedup, left["to"])
        assert right["text"] >= max(speedup, right["to"])
        assert left["to"] <= right["to"]


def test_inputs_of_a_tornado_stand_in_the_order_of_the_frame():
    frame = pd.DataFrame(
        {"name": ["zeta", "alpha"], "low_input": "0", "high_input": "1", "low": 1.5, "high": [2.5, 2.2]}
    )
    drawn = texts(svg(speedup_sensitivity(frame, speedup=2.0)))
    assert [text for text in drawn if text in ("zeta", "alpha")] == ["zeta", "alpha"]


def grid(speedups: Any, fits: Any = True) -> pd.DataFrame:
    """A frame of speedups by context, shortest last, and batch."""
    values = np.asarray(speedups, dtype=float)
    room = np.broadcast_to(fits, values.shape)
    contexts, batches = (2 ** np.arange(10, 10 + len(values)))[::-1], 2 ** np.arange(values.shape[1])
    rows = itertools.product(range(len(contexts)), range(len(batches)))
    return pd.DataFrame(
        [
            {"context": contexts[i], "batch": batches[j], "speedup": values[i, j], "fits": bool(room[i, j])}
            for i, j in rows
        ]
    )


def edges(drawn: str, name: str, width: float) -> set[tuple[str, int, int]]:
    """Edges of cells as drawn: ("|", row, column left of it) or ("-", row above it, column)."""
    found = set()
    pattern = rf'<line aria-label="[^"]*edge: {name}[^>]*translate\(([\d.]+),([\d.]+)\)" x2="([-\d.]+)" y2="([-\d.]+)"'
    for x, y, across, down in (map(float, match) for match in re.findall(pattern, drawn)):
        if across == 0:
            assert abs(down) == ROW_HEIGHT
            found.add(("|", round(min(y, y + down) / ROW_HEIGHT), round(x / width) - 1))
        else:
            assert down == 0
            assert abs(across) == pytest.approx(width)
            found.add(("-", round(y / ROW_HEIGHT) - 1, round(min(x, x + across) / width)))
    return found


def expected_edges(passed: np.ndarray) -> set[tuple[str, int, int]]:
    upright = {("|", i, j) for i, j in np.argwhere(passed[:, 1:] != passed[:, :-1]).tolist()}
    return upright | {("-", i, j) for i, j in np.argwhere(passed[1:] != passed[:-1]).tolist()}


@pytest.mark.parametrize(
    "speedups",
    [
        [[1.6, 1.2, 1.1], [1.6, 1.1, 0.9], [1.5, 0.9, 0.6]],
        [[0.9, 1.2, 0.8], [1.2, 0.9, 1.3], [0.9, 1.0, 0.7]],
        [[1.2, 1.3, 1.4], [0.8, 0.9, 0.7]],
    ],
)
def test_edges_of_a_map_part_the_cells_that_gain_from_those_that_lose(speedups):
    gains = np.array(speedups) >= 1
    fits = ~gains.T[:3, : gains.shape[0]].T
    drawn = svg(gain_by_batch_and_context(grid(speedups, fits)))
    width = 560 / gains.shape[1]
    assert edges(drawn, "edge of what gains", width) == expected_edges(gains)
    assert edges(drawn, "edge of what fits the memory", width) == expected_edges(fits)


def test_a_map_without_an_edge_has_none_in_its_legend():
    drawn = svg(gain_by_batch_and_context(grid([[2.0, 1.5]])))
    assert "<line aria-label" not in drawn
    assert not any(text.startswith("edge") for text in texts(drawn))


def test_a_map_turns_its_colour_at_1():
    """The cell at exactly 1 has the middle colour, whatever the range."""
    for speedups in ([1.0, 9.0], [0.01, 1.0], [0.5, 1.0, 4.0], [1.0]):
        drawn = svg(gain_by_batch_and_context(grid([speedups])))
        fill = re.search(r'<path aria-label="[^"]*speedup: 1;[^>]*fill="([^"]+)"', drawn)
        assert fill is not None
        assert fill.group(1) in {"rgb(244, 245, 247)", "#F4F5F7", "#f4f5f7"}


def test_numbers_are_left_out_of_a_map_where_they_have_no_room():
    for columns, number in ((MOST_TEXTS, 2 * MOST_TEXTS), (MOST_TEXTS + 1, 0)):
        assert texts(svg(gain_by_batch_and_context(grid(np.full((2, columns), 1.25))))).count("1.25") == number


def test_contexts_are_written_in_thousands_with_the_longest_on_top():
    frame = grid([[1.2], [1.1]])
    frame.loc[1, "context"] = 1000
    labels = texts(svg(gain_by_batch_and_context(frame)))
    assert [label for label in labels if label in ("2k", "1000")] == ["2k", "1000"]


@pytest.mark.parametrize("draw", [gain_by_batch_and_context, lambda frame: gain_by_batch(frame, by="context")])
def test_two_rows_for_one_place_are_refused(draw):
    with pytest.raises(InputError, match=r"needs one row for each .*, got 2 for"):
        draw(pd.concat([grid([[1.2, 1.1]]), grid([[0.9]])]))


def marks(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"context": [1024], "batch": [2], "speedup": [1.0], "mark": "crossover", **columns})


def test_marks_are_drawn_and_explained():
    frame = grid([[1.2, 0.9]])
    plain = texts(svg(gain_by_batch(frame, by="context")))
    drawn = texts(svg(gain_by_batch(frame, by="context", marks=marks())))
    assert set(drawn) - set(plain) == {"crosses 1"}
    assert "exceeds the memory" in texts(svg(gain_by_batch(grid([[1.2, 0.9]], [[True, False]]), by="context")))
    assert texts(svg(gain_by_batch(frame, by="context", marks=marks().iloc[:0]))) == plain


def test_an_unknown_mark_or_a_mark_without_its_line_is_refused():
    with pytest.raises(InputError, match="mark 'crossing' is unknown"):
        gain_by_batch(grid([[1.2]]), by="context", marks=marks(mark="crossing"))
    with pytest.raises(InputError, match="gain_by_batch marks needs the column 'context'"):
        gain_by_batch(grid([[1.2]]), by="context", marks=marks().drop(columns="context"))


def test_lines_of_numbers_say_of_what_and_lines_of_names_do_not():
    frame = grid([[1.2, 0.9]]).assign(method="ngram", tensor_parallel=2)
    assert "context 1024" in texts(svg(gain_by_batch(frame, by="context")))
    assert "tensor parallel 2" in texts(svg(gain_by_batch(frame, by="tensor_parallel")))
    assert "ngram" in texts(svg(gain_by_batch(frame, by="method")))


@pytest.mark.parametrize("efficiency", [Efficiency.assumed, Efficiency.default])
@pytest.mark.parametrize("name", catalog.model_names())
def test_every_part_of_every_models_pass_has_its_colour(name, efficiency):
    gpu = catalog.hardware("H100-SXM")
    parts = Roofline(model=catalog.model(name), hardware=gpu, efficiency=efficiency(gpu)).parts(tokens=1, context=64)
    assert set(parts) <= {part for kind in KINDS.values() for part in kind}


def test_bars_stack_to_the_pass_and_parts_alike_share_one():
    frame = pd.DataFrame({"tokens": 8, "part": ["mlp", "experts", "attention"], "seconds": [2e-3, 3e-3, 1e-3]})
    drawn = svg(pass_parts_by_tokens(frame))
    bars = re.findall(r'<path aria-label="[^"]*time of one pass \[ms\]: ([\d.]+)[^"]*part: ([^";]+)', drawn)
    assert sorted(bars) == [("1", "attention over the cache"), ("5", "MLP and experts")]
    assert not any("ridge" in text for text in texts(drawn))
    assert "ridge, 279 tokens" in texts(svg(pass_parts_by_tokens(frame, ridge=278.6)))


def test_an_unknown_part_is_refused():
    with pytest.raises(InputError, match=r"part 'mpl' is unknown; did you mean mlp"):
        pass_parts_by_tokens(pd.DataFrame({"tokens": [1], "part": ["mpl"], "seconds": [1e-3]}))


def test_stacked_charts_keep_one_theme_and_their_own_colours():
    ranking = drafters_by_speedup(plan_frame(CHAIN, TREE), theme="dark")
    frame = pd.DataFrame({"name": ["x"], "low_input": "a", "high_input": "b", "low": [1.0], "high": [2.0]})
    both = stacked(ranking, speedup_sensitivity(frame, speedup=1.5, theme="dark"))
    spec = both.to_dict()
    assert spec["config"] == ranking.to_dict()["config"]
    assert all("config" not in part for part in spec["vconcat"])
    assert {"chain", "tree", "input at its low end"} <= set(texts(svg(both)))
    assert isinstance(ranking.config, dict | alt.Config)
