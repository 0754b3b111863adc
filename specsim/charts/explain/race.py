"""Drawing a token as a race, by drafter and by target, with the same noise or with noise of their own."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, domain, legend, names, once, tip
from specsim.charts.theme import finish

LANE_HEIGHT = 34


def race(frame: pd.DataFrame, *, title: str = "Drawing a token as a race", theme: str = "light") -> alt.LayerChart:
    """When each token reaches the goal for each law; the first is drawn.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per token and law. Columns: `token` (name), `law` (name), `time` (noise over probability) [1], `wins`
        (whether it is the first of its law).
    title : str
        Title, to say whose noise it is.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Points on a logarithmic axis, the winners ringed.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one token and law, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"token": ["cat", "dog"], "law": "target", "time": [1.2, 3.4], "wins": [True, False]})
    >>> race(frame).title
    'Drawing a token as a race'
    """
    source = data(frame, chart="race", text=["token", "law"], numbers=["time"], flags=["wins"])
    once(frame, ["token", "law"], chart="race")
    laws = names(frame, "law")
    shape = alt.Shape("law:N", scale=alt.Scale(domain=laws, range=["circle", "square"]), legend=legend(laws))
    axis = alt.Axis(title="time to the goal: noise / probability", grid=False, tickCount=4, format="~g")
    base = alt.Chart(source).encode(
        alt.X("time:Q", axis=axis, scale=alt.Scale(type="log", nice=False, padding=14)),
        alt.Y("token:N", title=None, sort=names(frame, "token"), axis=alt.Axis(domain=False, ticks=False, grid=True)),
        coloured(frame, "law", order=None),
        tooltip=[tip("token", "token"), tip("law", "law"), tip("time", "time", ".3f"), tip("wins", "drawn")],
    )  # fmt: skip
    return finish(
        base.mark_point(size=90, filled=True).encode(shape),
        base.transform_filter("datum.wins").mark_point(size=420, filled=False, strokeWidth=2.5),
        title=title,
        description=f"Points, {title}: the time at which each token reaches the goal under the target's law and under "
        "the drafter's; a ring marks the first of each, the token that is drawn.",
        theme=theme,
    ).properties(height=LANE_HEIGHT * len(names(frame, "token")))


def match_rate(frame: pd.DataFrame, *, exact: pd.DataFrame, theme: str = "light") -> alt.LayerChart:
    """The share of draws in which drafter and target drew the same token, as draws go on.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per way and number of draws. Columns: `way` (name), `draws` [1], `rate` [1].
    exact : pandas.DataFrame
        What each tends to. Columns: `way` (name), `rate` [1].
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Lines on a logarithmic axis, dashed at the exact values.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"way": "shared noise", "draws": [1, 10], "rate": [1.0, 0.6]})
    >>> match_rate(frame, exact=pd.DataFrame({"way": ["shared noise"], "rate": [0.63]})).title
    'Share of drafts that match'
    """
    source = data(frame, chart="match_rate", text=["way"], numbers=["draws", "rate"])
    limits = data(exact, chart="match_rate", text=["way"], numbers=["rate"])
    order = domain(exact, "way", order=None)
    share = alt.Y(
        "rate:Q", title="share of draws that match", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
    )
    lines = alt.Chart(source).encode(
        alt.X("draws:Q", title="draws", scale=alt.Scale(type="log", nice=False)),
        share,
        coloured(frame, "way", order=order),
        tooltip=[tip("way", "noise"), tip("draws", "draws", ",d"), tip("rate", "match", ".2%")],
    )
    rules = alt.Chart(limits).encode(
        share, coloured(exact, "way", order=order), tooltip=[tip("way", "limit of"), tip("rate", "match", ".2%")]
    )
    return finish(
        lines.mark_line(),
        rules.mark_rule(strokeDash=[5, 4], strokeWidth=1.5),
        rules.mark_text(align="right", dx=-4, dy=-11).encode(
            alt.X(value=alt.ExprRef("width")), text=alt.Text("rate:Q", format=".1%")
        ),
        title="Share of drafts that match",
        description="Line chart: the share of draws in which drafter and target drew the same token against the number "
        "of draws, with shared noise and with noise of their own, and dashed lines at the exact values.",
        theme=theme,
    )
