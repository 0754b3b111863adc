"""Where in batch size and context speculation gains."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim.charts.frame import data, legend, once, tip
from specsim.charts.theme import finish

ROW_HEIGHT = 30
MOST_TEXTS = 14
"""Columns up to which each cell has room for its number."""
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
    source = data(frame, chart="gain_by_batch_and_context", numbers=["batch", "context", "speedup"], flags=["fits"])
    once(frame, ["batch", "context"], chart="gain_by_batch_and_context")
    rows = [row | {"gains": row["speedup"] >= 1} for row in source.values]
    divided = [test for test in EDGES if len({row[test] for row in rows}) > 1]
    speedups = [1.0, *(row["speedup"] for row in rows)]
    scale = alt.Scale(domain=[min(speedups), max(speedups)], domainMid=1, range="diverging", interpolate="rgb")
    batches, contexts = (sorted(frame[column].unique().tolist()) for column in ("batch", "context"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        alt.X("batch:O", title="batch size", scale=alt.Scale(domain=batches), axis=_axis("datum.value")),
        alt.Y("context:O", title="context [tokens]", scale=alt.Scale(domain=contexts[::-1]), axis=_axis(THOUSANDS)),
        tooltip=[
            tip("batch", "batch size", "d"),
            tip("context", "context", ",d"),
            tip("speedup", "speedup", ".3f"),
        ],
    )
    cells = base.mark_rect().encode(alt.Color("speedup:Q", scale=scale, legend=None))
    inside = alt.condition("datum.fits", alt.value(1), alt.value(0.55))
    texts = base.mark_text().encode(text=alt.Text("speedup:Q", format=".2f"), opacity=inside)
    chart = finish(
        cells,
        *(_edges(base, test, divided, along=along) for test in divided for along in ("batch", "context")),
        *([texts] if len(batches) <= MOST_TEXTS else []),
        title=title,
        description=f"Heat map of the speedup over plain decoding against batch size and context, {title}; a line "
        "divides the cells above a speedup of 1 from those below, a dashed line those that fit the memory.",
        theme=theme,
    )
    return chart.properties(height=ROW_HEIGHT * len(contexts))


def _edges(base: alt.Chart, test: str, divided: Sequence[str], *, along: str) -> alt.Chart:
    """Edges between neighbours along one axis of which one passes a test and the other does not."""
    across = "context" if along == "batch" else "batch"
    x, y = (0, 0) if along == "batch" else (0, 1)
    ends = alt.Y2("context:O", bandPosition=1) if along == "batch" else alt.X2("batch:O", bandPosition=1)
    explained = legend([EDGES[each] for each in divided], symbolSize=400)
    dash = alt.StrokeDash("edge:N", scale=alt.Scale(domain=list(EDGES.values()), range=STROKES), legend=explained)
    edges: alt.Chart = (
        base.transform_window(before=f"lag({test})", groupby=[across], sort=[alt.SortField(along)])
        .transform_filter(f"isValid(datum.before) && datum.before != datum.{test}")
        .transform_calculate(edge=f"'{EDGES[test]}'")
        .mark_rule(style="boundary")
        .encode(alt.X("batch:O", bandPosition=x), alt.Y("context:O", bandPosition=y), ends, dash)
    )
    return edges


def _axis(label: str) -> alt.Axis:
    return alt.Axis(labelExpr=label, labelAngle=0, domain=False, ticks=False)
