"""How a server fares over time: what it drafts, how many it decodes, how full its cache is."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from specsim import checks
from specsim.charts.frame import coloured, data, described, once, tip
from specsim.charts.theme import finish

QUANTITIES: dict[str, tuple[str, str, str, str]] = {
    "gamma": ("Drafted tokens per round over time", "drafted tokens per round, γ", "γ", ".2f"),
    "batch": ("Batch over time", "sequences that decode", "sequences", ".1f"),
    "waiting": ("Queue over time", "requests that wait", "waiting", ".1f"),
    "cache_share": ("Cache memory in use over time", "share of the room for caches", "in use", ".1%"),
}
"""Title, axis, word and number format of each."""


def serving_over_time(
    frame: pd.DataFrame,
    *,
    quantity: str,
    title: str | None = None,
    order: Sequence[str] | None = None,
    theme: str = "light",
) -> alt.LayerChart:
    """One quantity of a server over time, a line per policy.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per policy and span of time, as of `specsim.simulate.serving.over_time`. Columns: `policy` (name),
        `seconds` (middle of the span) [s], and the quantity, which may be missing where there was nothing.
    quantity : str
        "gamma" (drafted tokens per round), "batch", "waiting" or "cache_share" [1].
    title : str, optional
        Title, to say at which load.
    order : sequence of str, optional
        Policies in the order in which colours are given, to keep colours the same across charts.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Lines have gaps where a value is missing.

    Raises
    ------
    InputError
        Unknown theme or quantity, a missing column, no rows, two rows for one place, or a value that is infinite.

    Examples
    --------
    >>> frame = pd.DataFrame({"policy": "goodput", "seconds": [0.5, 1.5], "gamma": [4.0, None]})
    >>> serving_over_time(frame, quantity="gamma").title
    'Drafted tokens per round over time'
    """
    usual, axis, word, form = QUANTITIES[checks.one_of("quantity", quantity, QUANTITIES)]
    source = data(frame, chart="serving_over_time", text=["policy"], numbers=["seconds"], gaps=[quantity])
    once(frame, ["policy", "seconds"], chart="serving_over_time")
    base = alt.Chart(source).encode(
        alt.X("seconds:Q", title="time [s]", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False)),
        alt.Y(f"{quantity}:Q", title=axis, scale=alt.Scale(domainMin=0), axis=_axis(quantity)),
        coloured(frame, "policy", order=order),
        tooltip=[tip("policy", "drafting"), tip("seconds", "time [s]", ".1f"), tip(quantity, word, form)],
    )
    chosen = title or usual
    return finish(
        base.mark_line(strokeWidth=1.75, interpolate="monotone"),
        base.mark_point(size=60, opacity=0),  # for the tooltips
        title=chosen,
        description=f"Line chart over time of the {axis}, {chosen}, for {described(frame, 'policy')}.",
        theme=theme,
    )


def _axis(quantity: str) -> alt.Axis:
    return alt.Axis(format="~%") if quantity == "cache_share" else alt.Axis(format=",~f", tickMinStep=1)
