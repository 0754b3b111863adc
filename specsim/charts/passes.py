"""Time of one forward pass against the tokens it scores."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, doubling, tip
from specsim.charts.theme import finish

COLUMNS = ["seconds", "low", "high"]


def pass_seconds_by_tokens(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """Measured time of one pass of the target over n tokens, one line per number format.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per number format and token count. Columns: `dtype` (name), `tokens` (scored in the pass) [1],
        `seconds`, `low`, `high` [s].
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Tokens on a doubling axis; the band is the interval.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"dtype": "float32", "tokens": [1, 2], "seconds": [0.057, 0.096],
    ...                       "low": [0.055, 0.094], "high": [0.059, 0.098]})
    >>> pass_seconds_by_tokens(frame).title
    'Time of one pass by tokens scored'
    """
    source = data(
        frame,
        chart="pass_seconds_by_tokens",
        text=["dtype"],
        numbers=["tokens", *COLUMNS],
        scale=dict.fromkeys(COLUMNS, 1000),
    )
    base = alt.Chart(source).encode(
        doubling(frame, "tokens", title="tokens scored in one pass"),
        alt.Y("seconds:Q", title="time of one pass [ms]", scale=alt.Scale(zero=True)),
        coloured(frame, "dtype", order=None),
        tooltip=[
            tip("dtype", "number format"),
            tip("tokens", "tokens scored", "d"),
            tip("seconds", "time [ms]", ".4~g"),
            tip("low", "low [ms]", ".4~g"),
            tip("high", "high [ms]", ".4~g"),
        ],
    )
    return finish(
        base.mark_line(),
        base.mark_area(style="band").encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_rule(style="interval").encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_point(),
        title="Time of one pass by tokens scored",
        description="Line chart of the time of one forward pass against the tokens it scores, with intervals, in "
        f"{described(frame, 'dtype')}.",
        theme=theme,
    )
