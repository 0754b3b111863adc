"""Which way a decoder's tokens lean."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, tip
from specsim.charts.theme import finish

ROW_HEIGHT = 26


def scores_by_direction(
    frame: pd.DataFrame, *, title: str = "Which way the tokens lean", theme: str = "light"
) -> alt.LayerChart:
    """How far the tokens lean along each direction, in standard deviations.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per direction. Columns: `direction` (what tokens lean to), `cause` (what that looks like, in words),
        `deviations` (standard deviations from what the target's laws expect), `pvalue` (of this test alone) [1].
    title : str
        Title, to say which run it is.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        One bar per direction, the longest to the right on top.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"direction": ["q"], "cause": "looks like q", "deviations": [7.1], "pvalue": [1e-12]})
    >>> scores_by_direction(frame).title
    'Which way the tokens lean'
    """
    source = data(frame, chart="scores_by_direction", text=["direction", "cause"], numbers=["deviations", "pvalue"])
    rows = alt.Axis(grid=False, ticks=False, domain=False, labelLimit=260)
    base = alt.Chart(source).encode(
        alt.Y("direction:N", sort="-x", title=None, axis=rows),
        tooltip=[
            tip("direction", "towards"),
            tip("cause", "what that looks like"),
            tip("deviations", "standard deviations", ".2f"),
            tip("pvalue", "p of this test alone", ".2~g"),
        ],
    )
    chart = finish(
        base.mark_bar(height={"band": 0.62}).encode(alt.X("deviations:Q", title="score [standard deviations]")),
        alt.Chart(alt.InlineData(values=[{}])).mark_rule(style="neutral").encode(alt.XDatum(0)),
        title=title,
        description=f"Bar chart, {title}: how far the tokens lean along each direction, in standard deviations.",
        theme=theme,
    )
    return chart.properties(height=ROW_HEIGHT * len(frame))
