"""Where the time of a round goes."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, described, legend, names, tip
from specsim.charts.theme import finish

PARTS = ["draft", "verify", "sample", "host"]
BAR_HEIGHT = 26


def round_parts(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """Mean time of a round, split into drafting, verifying, sampling and the rest of the host's work.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter, gamma and part. Columns: `proposer` (name), `gamma`
        (0 is plain decoding) [1], `part` ("draft", "verify",
        "sample" or "host"), `seconds` [s].
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        One stacked bar per drafter and gamma, in the order of the frame.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"proposer": "ngram", "gamma": 4, "part": ["draft", "verify"], "seconds": [0.001, 0.04]})
    >>> round_parts(frame).title
    'Where the time of a round goes'
    """
    source = data(
        frame,
        chart="round_parts",
        text=["proposer", "part"],
        numbers=["gamma", "seconds"],
        scale={"seconds": 1000},
    )
    bars = (
        alt.Chart(source)
        .transform_calculate(
            bar="datum.gamma > 0 ? datum.proposer + ', γ ' + datum.gamma : 'plain decoding'",
            layer=f"indexof({PARTS}, datum.part)",
        )
        .mark_bar()
        .encode(
            alt.X("seconds:Q", title="mean time of one round [ms]", stack="zero"),
            alt.Y("bar:N", title=None, sort=None, axis=alt.Axis(grid=False, ticks=False, domain=False, labelLimit=260)),
            alt.Color("part:N", scale=alt.Scale(domain=PARTS, range="ordinal"), legend=legend(names(frame, "part"))),
            alt.Order("layer:Q"),
            tooltip=[
                tip("proposer", "drafter"),
                tip("gamma", "γ", "d"),
                tip("part", "part"),
                tip("seconds", "time [ms]", ".4~g"),
            ],
        )
    )
    chart = finish(
        bars,
        title="Where the time of a round goes",
        description="Stacked bars: mean time of one round, split into draft, verify, sample and host, for "
        f"{described(frame, 'proposer')}.",
        theme=theme,
    )
    return chart.properties(height=BAR_HEIGHT * len(frame[["proposer", "gamma"]].drop_duplicates()))
