"""Acceptance by depth in the round."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim.charts.frame import coloured, data, described, names, tip
from specsim.charts.theme import finish


def acceptance_by_depth(
    frame: pd.DataFrame, *, order: Sequence[str] | None = None, theme: str = "light"
) -> alt.LayerChart:
    """The share of drafts accepted at each depth, among those that were judged there, with intervals.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per drafter and depth. Columns: `proposer` (name), `depth` (1 is the first drafted token) [1],
        `reached`, `accepted` (drafts judged and accepted at this depth) [1], `conditional` (accepted / reached),
        `low`, `high` [1].
    order : sequence of str, optional
        Drafters in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Points with interval bars, drafters side by side at each depth.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"proposer": "ngram", "depth": [1, 2], "reached": [90, 60], "accepted": [60, 45],
    ...                       "conditional": [0.67, 0.75], "low": [0.57, 0.63], "high": [0.76, 0.85]})
    >>> acceptance_by_depth(frame).title
    'Acceptance by depth'
    """
    numbers = ["depth", "reached", "accepted", "conditional", "low", "high"]
    base = alt.Chart(data(frame, chart="acceptance_by_depth", text=["proposer"], numbers=numbers)).encode(
        alt.X("depth:O", title="depth in the round", axis=alt.Axis(labelAngle=0)),
        alt.XOffset("proposer:N", scale=alt.Scale(domain=names(frame, "proposer"))),
        coloured(frame, "proposer", order=order),
        tooltip=[
            tip("proposer", "drafter"),
            tip("depth", "depth", "d"),
            tip("conditional", "accepted of those judged", ".1%"),
            tip("low", "low", ".1%"),
            tip("high", "high", ".1%"),
            tip("reached", "judged", ",d"),
            tip("accepted", "accepted", ",d"),
        ],
    )
    share = alt.Y(
        "conditional:Q",
        title="accepted, of drafts judged",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    return finish(
        base.mark_rule(style="interval").encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_point().encode(share),
        title="Acceptance by depth",
        description="Points with intervals: the share of drafts accepted at each depth of the round, among those "
        f"judged there, for {described(frame, 'proposer')}.",
        theme=theme,
    )
