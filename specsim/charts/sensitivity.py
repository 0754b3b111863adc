"""Which input moves a speedup most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from specsim.charts.frame import data, described, even, legend, names, tip
from specsim.charts.theme import finish

ROW_HEIGHT = 26
ENDS = {"low": "input at its low end", "high": "input at its high end"}


def speedup_sensitivity(
    frame: pd.DataFrame, *, speedup: float, title: str = "What moves the speedup", theme: str = "light"
) -> alt.LayerChart:
    """A bar from the speedup as planned to what it becomes at either end of each input's range: a tornado.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per input, the one that moves most first, as of `sensitivities`. Columns: `name` (of the input),
        `low_input`, `high_input` (ends of its range, as text), `low`, `high` (speedup at each) [1].
    speedup : float
        With all inputs as planned [1].
    title : str
        Title, to say whose speedup it is.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        One row per input in the order of the frame; the ends of the ranges stand at the ends of the bars.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": ["acceptance"], "low_input": ["0.7"], "high_input": ["0.8"],
    ...                       "low": [1.9], "high": [2.4]})
    >>> speedup_sensitivity(frame, speedup=2.1).title
    'What moves the speedup'
    """
    source = data(frame, chart="speedup_sensitivity", text=["name", "low_input", "high_input"], numbers=["low", "high"])
    bars = [_bar(row, end, speedup) for row in source.values for end in ENDS]
    base = alt.Chart(alt.InlineData(values=bars)).encode(
        alt.Y(
            "name:N",
            title=None,
            sort=names(frame, "name"),
            axis=alt.Axis(grid=False, ticks=False, domain=False, labelLimit=260),
        ),
        tooltip=[
            tip("name", "input"),
            tip("low_input", "low end"),
            tip("low", "speedup then", ".3f"),
            tip("high_input", "high end"),
            tip("high", "speedup then", ".3f"),
        ],
    )
    # Padding in pixels, for the texts beyond the bars.
    scale = alt.Scale(zero=False, nice=False, padding=52)
    across = alt.X("to:Q", title="speedup [×]", scale=scale)
    chart = finish(
        even(alt.XDatum),
        base.mark_bar(height={"band": 0.62}).encode(
            across,
            alt.X2("from:Q"),
            alt.Color("end:N", scale=alt.Scale(domain=list(ENDS.values())), legend=legend(list(ENDS.values()))),
        ),
        *(_texts(base, style, is_left=is_left) for style in ("halo", "text") for is_left in (True, False)),
        alt.Chart(alt.InlineData(values=[{}])).mark_rule(style="neutral").encode(alt.XDatum(speedup)),
        title=title,
        description=f"Tornado chart, {title}: the speedup over plain decoding at either end of the range of "
        f"{described(frame, 'name')}.",
        theme=theme,
    )
    return chart.properties(height=ROW_HEIGHT * len(frame))


def _texts(base: alt.Chart, style: str, *, is_left: bool) -> alt.Chart:
    place: dict[str, Any] = {"align": "right", "dx": -5} if is_left else {"align": "left", "dx": 5}
    texts: alt.Chart = (
        base.transform_filter(f"datum.is_left == {str(is_left).lower()}")
        .mark_text(style=style, **place)
        .encode(alt.X("text:Q"), text="input:N")
    )
    return texts


def _bar(row: Mapping[str, Any], end: str, speedup: float) -> dict[str, Any]:
    """One half of a row, and where its text stands: the lower speedup's on the left, never on the bar."""
    is_left = (end == "low") == (row["low"] <= row["high"])
    return {
        **row,
        "end": ENDS[end],
        "input": row[f"{end}_input"],
        "from": speedup,
        "to": row[end],
        "is_left": is_left,
        "text": min(speedup, row[end]) if is_left else max(speedup, row[end]),
    }
