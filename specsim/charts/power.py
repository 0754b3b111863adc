"""What a run of conformance tests would have caught."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, guide, ticks_of_decades, tip
from specsim.charts.theme import finish


def power_by_total_variation(
    frame: pd.DataFrame,
    *,
    smallest: float | None = None,
    title: str = "What this run would have caught",
    theme: str = "light",
) -> alt.LayerChart:
    """Probability with which a run rejects a decoder, by how far its law is from the target's.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per distance. Columns: `total_variation` (mean over tokens, above 0) [1], `power` (probability of a
        rejection), `tokens` (that the run judged) [1].
    smallest : float, optional
        Total variation that is caught with probability 0.99, marked [1].
    title : str
        Title, to say which run it is.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        A rising curve over a logarithmic axis.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"total_variation": [0.01, 0.03], "power": [0.05, 0.99], "tokens": 4000})
    >>> power_by_total_variation(frame, smallest=0.03).title
    'What this run would have caught'
    """
    source = data(frame, chart="power_by_total_variation", numbers=["total_variation", "power", "tokens"])
    values = [row["total_variation"] for row in source.values]
    base = alt.Chart(source).encode(
        alt.X(
            "total_variation:Q",
            title="total variation from the target's law, mean over tokens",
            scale=alt.Scale(type="log", nice=False, padding=12),
            axis=alt.Axis(format="~g", values=ticks_of_decades(min(values), max(values)), tickCount=99, grid=False),
        ),
        alt.Y(
            "power:Q",
            title="probability of a rejection",
            axis=alt.Axis(format=".0%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        tooltip=[
            tip("total_variation", "total variation", ".3~g"),
            tip("power", "caught with probability", ".1%"),
            tip("tokens", "tokens judged", ",d"),
        ],
    )
    return finish(
        *([] if smallest is None else [guide(alt.XDatum(smallest))]),
        base.mark_line(point={"size": 30}),
        title=title,
        description=f"Line chart, {title}: probability with which the run rejects a decoder, by the total variation "
        "between its law and the target's.",
        theme=theme,
    )
