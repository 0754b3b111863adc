"""The histogram of probability integral transforms, flat when a decoder is lossless."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, tip
from specsim.charts.theme import finish

NUMBERS = ["bin_low", "bin_high", "observed", "expected", "low", "high"]


def pit_histogram(frame: pd.DataFrame, *, title: str = "PIT histogram", theme: str = "light") -> alt.LayerChart:
    """Counts of randomised probability integral transforms per bin, with the band that chance allows.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per bin. Columns: `bin_low`, `bin_high` (in [0, 1]), `observed`, `expected` (counts), `low`, `high`
        (band of the counts under losslessness) [1].
    title : str
        Title, to tell several histograms apart.
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Bars of observed counts over the band; a dashed line marks the expected count.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"bin_low": [0, 0.5], "bin_high": [0.5, 1], "observed": [52, 48], "expected": 50.0,
    ...                       "low": 36, "high": 64})
    >>> pit_histogram(frame).title
    'PIT histogram'
    """
    across = alt.X("bin_low:Q", title="probability integral transform", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(data(frame, chart="pit_histogram", numbers=NUMBERS)).encode(
        across,
        alt.X2("bin_high:Q"),
        tooltip=[
            tip("bin_low", "from", ".3~f"),
            tip("bin_high", "to", ".3~f"),
            tip("observed", "observed", ",d"),
            tip("expected", "expected", ",.1f"),
            tip("low", "band from", ",.1f"),
            tip("high", "band to", ",.1f"),
        ],
    )
    count = alt.Y("observed:Q", title="tokens in the bin", axis=alt.Axis(format="~s"))
    return finish(
        base.mark_bar(binSpacing=2, opacity=0.6).encode(across.bin("binned"), count, alt.Y2Datum(0)),
        base.mark_rect(style="neutral-band").encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_rule(style="guide").encode(alt.Y("expected:Q")),
        title=title,
        description="Histogram of the probability integral transform of the generated tokens, with the expected count "
        "and the band that chance allows.",
        theme=theme,
    )
