"""What sampling at a temperature does to the tokens per round."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, described, legend, once, tip
from specsim.charts.theme import finish

ROW_HEIGHT = 24


def tokens_by_temperature(
    frame: pd.DataFrame, *, title: str = "Tokens per round by temperature", theme: str = "light"
) -> alt.LayerChart:
    """Tokens per round of a drafter at several temperatures, one row per drafter and target.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter, target and temperature. Columns: `drafter`, `target`, `source` (names), `temperature`,
        `E_tokens` (per round, bonus included) [1].
    title : str
        Title, to say where the figures come from.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Points joined by a rule, in the order of the frame; a point to the left of another is a loss.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one place, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"drafter": "eagle3", "target": "8B", "source": "a paper", "temperature": [0.0, 1.0],
    ...                       "E_tokens": [6.2, 4.9]})
    >>> tokens_by_temperature(frame).title
    'Tokens per round by temperature'
    """
    text = ["drafter", "target", "source"]
    source = data(frame, chart="tokens_by_temperature", text=text, numbers=["temperature", "E_tokens"])
    once(frame, ["drafter", "target", "temperature"], chart="tokens_by_temperature")
    rows = [
        row | {"row": f"{row['drafter']}, {row['target']}", "kind": f"T = {row['temperature']:g}"}
        for row in source.values
    ]
    bars = list(dict.fromkeys(row["row"] for row in rows))
    kinds = list(dict.fromkeys(row["kind"] for row in sorted(rows, key=lambda row: float(row["temperature"]))))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        alt.Y("row:N", title=None, sort=bars, axis=alt.Axis(grid=False, ticks=False, domain=False, labelLimit=260)),
        tooltip=[
            tip("drafter", "drafter"),
            tip("target", "target"),
            tip("temperature", "temperature", "~g"),
            tip("E_tokens", "tokens per round", ".2f"),
            tip("source", "source"),
        ],
    )
    across = alt.X("E_tokens:Q", title="tokens per round, τ", scale=alt.Scale(domainMin=1, clamp=True))
    ends = base.transform_aggregate(least="min(E_tokens)", most="max(E_tokens)", groupby=["row"])
    chart = finish(
        ends.mark_rule(style="neutral", strokeWidth=1.5).encode(
            alt.X("least:Q"), alt.X2("most:Q"), tooltip=alt.Undefined
        ),
        base.mark_point(size=84).encode(
            across, alt.Color("kind:N", scale=alt.Scale(domain=kinds), legend=legend(kinds))
        ),
        title=title,
        description=f"Dot chart, {title}: the tokens per round at each temperature, for {described(frame, 'drafter')}.",
        theme=theme,
    )
    return chart.properties(height=ROW_HEIGHT * len(bars))
