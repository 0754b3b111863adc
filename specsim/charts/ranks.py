"""Tokens observed against tokens expected, by how likely the target thought them."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, guide, names, once, tip
from specsim.charts.theme import finish

NUMBERS = ["observed", "expected", "ratio", "low", "high"]


def observed_by_rank(
    frame: pd.DataFrame, *, title: str = "Tokens observed against expected", theme: str = "light"
) -> alt.LayerChart:
    """How often the target's likeliest token came, its second, and so on, over how often it should have.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per class of ranks, the likeliest first. Columns: `rank` (such as "1" or "5 to 8"), `observed`,
        `expected` (counts), `ratio` (of these two), `low`, `high` (band of the ratio under losslessness) [1].
    title : str
        Title, to say which run it is.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Points over the band that chance allows; on the dashed line as many came as expected.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows of one rank, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"rank": ["1", "2"], "observed": [60, 40], "expected": [55.0, 45.0], "ratio": [1.09, 0.89],
    ...                       "low": [0.7, 0.6], "high": [1.3, 1.4]})
    >>> observed_by_rank(frame).title
    'Tokens observed against expected'
    """
    source = data(frame, chart="observed_by_rank", text=["rank"], numbers=NUMBERS)
    once(frame, ["rank"], chart="observed_by_rank")
    across = alt.X(
        "rank:N", title="rank of the token in the target's law", sort=names(frame, "rank"), axis=alt.Axis(labelAngle=0)
    )
    up = alt.Y("ratio:Q", title="observed over expected", scale=alt.Scale(zero=False))
    base = alt.Chart(source).encode(
        across,
        tooltip=[
            tip("rank", "rank"),
            tip("observed", "observed", ",d"),
            tip("expected", "expected", ",.1f"),
            tip("ratio", "observed over expected", ".4f"),
            tip("low", "chance allows from", ".4f"),
            tip("high", "to", ".4f"),
        ],
    )
    return finish(
        base.mark_bar(style="neutral-band", width={"band": 0.7}).encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        guide(alt.YDatum(1)),
        base.mark_point(size=90).encode(up),
        title=title,
        description=f"Point chart, {title}: observed over expected counts of tokens by their rank in the target's law, "
        "with the band that chance allows.",
        theme=theme,
    )
