"""A drafted tree of tokens, what its nodes are worth, and the path that stood."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, legend, tip
from specsim.charts.theme import finish

FATES = {True: "stands", False: "does not"}


def token_tree(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """Nodes by depth, joined to their parents, as large as they are likely to stand.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per node, the root included. Columns: `token` (name), `depth` (0 is the root) [1], `place` (up or down
        in the picture) [1], `parent_depth`, `parent_place` (those of its parent; its own at the root) [1], `value`
        (probability that it stands) [1], `stands` (whether it did in this round).
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Depth to the right.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"token": ["the", "cat"], "depth": [0, 1], "place": 0.0, "parent_depth": [0, 0],
    ...                       "parent_place": 0.0, "value": [1.0, 0.6], "stands": True})
    >>> token_tree(frame).title
    'A token tree and the path that stood'
    """
    numbers = ["depth", "place", "parent_depth", "parent_place", "value"]
    source = data(frame, chart="token_tree", text=["token"], numbers=numbers, flags=["stands"])
    rows = [row | {"fate": FATES[row["stands"]]} for row in source.values]
    axis = alt.Axis(format="d", tickMinStep=1, grid=False, domain=False, ticks=False)
    x = alt.X("depth:Q", title="depth in the round", axis=axis, scale=alt.Scale(nice=False, padding=26))
    y = alt.Y("place:Q", axis=None, scale=alt.Scale(padding=24))
    shade = alt.Color("fate:N", scale=alt.Scale(domain=list(FATES.values())), legend=legend(list(FATES.values())))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x,
        y,
        tooltip=[
            tip("token", "token"),
            tip("depth", "depth", "d"),
            tip("value", "stands with probability", ".1%"),
            tip("fate", "in this round"),
        ],
    )
    width = alt.condition("datum.stands", alt.value(3.5), alt.value(1.2))
    edges = base.mark_rule(style="interval").encode(
        shade, alt.X2("parent_depth:Q"), alt.Y2("parent_place:Q"), strokeWidth=width
    )
    return finish(
        edges,
        base.mark_point(shape="circle").encode(
            shade, alt.Size("value:Q", scale=alt.Scale(domain=[0, 1], range=[30, 700]), legend=None)
        ),
        base.mark_text(dy=-19, fontWeight=600).encode(text="token:N"),
        base.mark_text(dy=21, style="neutral", fontSize=11).encode(text=alt.Text("value:Q", format=".0%")),
        title="A token tree and the path that stood",
        description="A tree from left to right: each node is a drafted token, as large as the probability that it "
        "stands, which is written below it; the path that stood in this round is drawn in bold.",
        theme=theme,
    ).properties(height=330)
