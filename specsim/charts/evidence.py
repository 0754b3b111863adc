"""The bets against a decoder as a run went on."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, guide, tip
from specsim.charts.theme import finish


def evidence_by_tokens(
    frame: pd.DataFrame, *, title: str = "Evidence against the decoder", theme: str = "light"
) -> alt.LayerChart:
    """The largest e-value so far over the one that rejects, by tokens judged.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per batch of the run. Columns: `tokens` (judged so far) [1], `log10_margin` (base-10 logarithm of the
        largest e-value so far over the one that rejects) [1].
    title : str
        Title, to say which run it is.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        At the dashed line the decoder is rejected.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> evidence_by_tokens(pd.DataFrame({"tokens": [500, 1000], "log10_margin": [-6.1, -5.8]})).title
    'Evidence against the decoder'
    """
    source = data(frame, chart="evidence_by_tokens", numbers=["tokens", "log10_margin"])
    base = alt.Chart(source).encode(
        alt.X("tokens:Q", title="tokens judged", axis=alt.Axis(format="~s", grid=False)),
        alt.Y("log10_margin:Q", title="powers of ten to rejection"),
        tooltip=[
            tip("tokens", "tokens judged", ",d"),
            tip("log10_margin", "powers of ten to rejection", ".2f"),
            tip("side", "the bets"),
        ],
    )
    told = base.transform_calculate(side="datum.log10_margin >= 0 ? 'reject' : 'do not reject'")
    return finish(
        guide(alt.YDatum(0)),
        base.mark_line(),
        told.mark_point(),
        title=title,
        description=f"Line chart, {title}: the largest e-value so far over the one that rejects, in powers of ten, by "
        "tokens judged; at the dashed line the decoder is rejected.",
        theme=theme,
    )
