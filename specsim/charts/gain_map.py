"""Where in batch size and context, or in batch size and depth, speculation gains."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim.charts.frame import data, legend, once, tip
from specsim.charts.theme import finish

ROW_HEIGHT = 30
MOST_TEXTS = 14
"""Columns up to which each cell has room for its number."""
ROOM = 32
"""Least width of a cell that has room for its number, for charts as wide as their container [point]."""
THOUSANDS = "datum.value % 1024 == 0 ? datum.value / 1024 + 'k' : datum.value"
"""Powers of two as 1k, 2k, 4k."""
EDGES = {"gains": "edge of what gains", "fits": "edge of what fits the memory"}
STROKES = [[1, 0], [4, 5]]


def gain_by_batch_and_context(
    frame: pd.DataFrame, *, title: str = "Speedup by batch size and context", theme: str = "light"
) -> alt.LayerChart:
    """Speedup of one method as a heat map, with a boundary between where it gains and where it loses.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per batch and context, as of `sweep`. Columns: `batch` [1], `context` (tokens cached in each sequence)
        [1], `speedup` [1], `fits` (whether there is memory for it).
    title : str
        Title, to say which method on which model.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Cells in a colour that turns at 1, with their number where there is room; a line divides what gains from what
        loses, a dashed one what fits the memory from what does not.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"batch": [1, 8], "context": 1024, "speedup": [1.4, 0.9], "fits": True})
    >>> gain_by_batch_and_context(frame).title
    'Speedup by batch size and context'
    """
    return _map(frame, up="context", label="context [tokens]", text=THOUSANDS, title=title, theme=theme)


def gain_by_batch_and_gamma(
    frame: pd.DataFrame, *, title: str = "Speedup by batch size and depth", theme: str = "light"
) -> alt.LayerChart:
    """Speedup of one method as a heat map over batch size and drafted tokens, with its best depth at each batch.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per batch and gamma, as of `sweep`. Columns: `batch` [1], `gamma` (drafted tokens per round) [1],
        `speedup` [1], `fits` (whether there is memory for it).
    title : str
        Title, to say which method on which model.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        As of `gain_by_batch_and_context`; the number of the best depth of each batch is bold, or a dot where
        numbers have no room.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"batch": [1, 8], "gamma": 4, "speedup": [1.4, 0.9], "fits": True})
    >>> gain_by_batch_and_gamma(frame).title
    'Speedup by batch size and depth'
    """
    label = "γ, drafted tokens per round"
    return _map(frame, up="gamma", label=label, text="datum.value", title=title, theme=theme, best=True)


def _map(
    frame: pd.DataFrame, *, up: str, label: str, text: str, title: str, theme: str, best: bool = False
) -> alt.LayerChart:
    """Batch sizes across, another input up."""
    chart = f"gain_by_batch_and_{up}"
    source = data(frame, chart=chart, numbers=["batch", up, "speedup"], flags=["fits"])
    once(frame, ["batch", up], chart=chart)
    rows = [row | {"gains": row["speedup"] >= 1} for row in source.values]
    divided = [test for test in EDGES if len({row[test] for row in rows}) > 1]
    speedups = [1.0, *(row["speedup"] for row in rows)]
    scale = alt.Scale(domain=[min(speedups), max(speedups)], domainMid=1, range="diverging", interpolate="rgb")
    batches, levels = (sorted(frame[column].unique().tolist()) for column in ("batch", up))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        alt.X("batch:O", title="batch size", scale=alt.Scale(domain=batches), axis=_axis("datum.value")),
        alt.Y(f"{up}:O", title=label, scale=alt.Scale(domain=levels[::-1]), axis=_axis(text)),
        tooltip=[
            tip("batch", "batch size", "d"),
            tip(up, up if up == "context" else "γ", ",d"),
            tip("speedup", "speedup", ".3f"),
        ],
    )
    cells = base.mark_rect().encode(alt.Color("speedup:Q", scale=scale, legend=None))
    drawn = finish(
        cells,
        *(_edges(base, test, divided, up=up, along=along) for test in divided for along in ("batch", up)),
        *(_texts(base, columns=len(batches), best=best) if len(batches) <= MOST_TEXTS else []),
        title=title,
        description=f"Heat map of the speedup over plain decoding against batch size and {label}, {title}; a line "
        "divides the cells above a speedup of 1 from those below, a dashed line those that fit the memory.",
        theme=theme,
    )
    return drawn.properties(height=ROW_HEIGHT * len(levels))


def _texts(base: alt.Chart, *, columns: int, best: bool) -> list[alt.Chart]:
    """Each cell's number, if there is room; with `best`, the largest at its batch is bold, or a dot without room."""
    size = alt.ExprRef(f"width / {columns} >= {ROOM} ? 12 : 0")
    inside = alt.condition("datum.fits", alt.value(1), alt.value(0.55))
    shown = base.encode(text=alt.Text("speedup:Q", format=".2f"), opacity=inside)
    if not best:
        return [shown.mark_text(fontSize=size)]
    ranked, dotted = (each.transform_joinaggregate(most="max(speedup)", groupby=["batch"]) for each in (shown, base))
    dot = alt.ExprRef(f"width / {columns} >= {ROOM} ? 0 : 24")
    return [
        dotted.transform_filter("datum.speedup == datum.most").mark_point(style="boundary", size=dot),
        ranked.transform_filter("datum.speedup < datum.most").mark_text(fontSize=size),
        ranked.transform_filter("datum.speedup == datum.most").mark_text(fontSize=size, fontWeight="bold"),
    ]


def _edges(base: alt.Chart, test: str, divided: Sequence[str], *, up: str, along: str) -> alt.Chart:
    """Edges between neighbours along one axis of which one passes a test and the other does not."""
    across = up if along == "batch" else "batch"
    x, y = (0, 0) if along == "batch" else (0, 1)
    ends = alt.Y2(f"{up}:O", bandPosition=1) if along == "batch" else alt.X2("batch:O", bandPosition=1)
    explained = legend([EDGES[each] for each in divided], symbolSize=400)
    dash = alt.StrokeDash("edge:N", scale=alt.Scale(domain=list(EDGES.values()), range=STROKES), legend=explained)
    edges: alt.Chart = (
        base.transform_window(before=f"lag({test})", groupby=[across], sort=[alt.SortField(along)])
        .transform_filter(f"isValid(datum.before) && datum.before != datum.{test}")
        .transform_calculate(edge=f"'{EDGES[test]}'")
        .mark_rule(style="boundary")
        .encode(alt.X("batch:O", bandPosition=x), alt.Y(f"{up}:O", bandPosition=y), ends, dash)
    )
    return edges


def _axis(label: str) -> alt.Axis:
    return alt.Axis(labelExpr=label, labelAngle=0, domain=False, ticks=False)
