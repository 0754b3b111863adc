"""The pictures of a conformance run, each with the sentence that says what to see."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt

from reports.cells import Row, frame
from reports.template import Figure, figure
from specsim import charts
from specsim.charts.frame import data, tip
from specsim.charts.theme import finish

BINS = ["bin_low", "bin_high", "observed", "expected", "low", "high"]


def bets(result: Row) -> Iterator[Figure]:
    """The largest e-value so far over the one that rejects."""
    rows = frame(result, "bets", text=[], numbers=["tokens", "log10_margin"])
    if not len(rows):
        return
    base = alt.Chart(data(rows.assign(limit=0.0), chart="bets", numbers=["tokens", "log10_margin", "limit"])).encode(
        alt.X("tokens:Q", title="tokens"),
        tooltip=[tip("tokens", "tokens", ",d"), tip("log10_margin", "powers of ten to the limit", ".2f")],
    )
    height = alt.Y("log10_margin:Q", title="best e-value over the limit, log10")
    chart = finish(
        base.mark_line().encode(height),
        base.mark_point().encode(height),
        base.mark_rule(style="guide").encode(alt.Y("limit:Q")),
        title="Largest e-value so far",
        description="Line chart of the largest e-value so far over the one that rejects, by tokens, in powers of ten.",
        theme="light",
    )
    yield figure(chart, see="At the dashed line the decoder is rejected; that of a lossless one stays far below.")


def histograms(result: Row) -> Iterator[Figure]:
    """PIT by group."""
    rows = frame(result, "pit", text=["group"], numbers=BINS)
    for group, bins in rows.groupby("group", sort=False):
        see = "Bars outside the band lean where they stand: likely tokens to the left, unlikely ones to the right."
        yield figure(charts.pit_histogram(bins, title=str(group)), see=see)


def scores(result: Row) -> Iterator[Figure]:
    """Standard deviations by direction."""
    rows = frame(result, "scores", text=["direction"], numbers=["deviations", "pvalue"])
    if not len(rows):
        return
    base = alt.Chart(data(rows, chart="scores", text=["direction"], numbers=["deviations", "pvalue"])).encode(
        alt.Y("direction:N", sort="-x", title=None),
        tooltip=[
            tip("direction", "direction"),
            tip("deviations", "standard deviations", ".2f"),
            tip("pvalue", "p of this test alone", ".2~g"),
        ],
    )
    chart = finish(
        base.mark_bar().encode(alt.X("deviations:Q", title="score [standard deviations]")),
        title="Scores by direction",
        description="Bar chart of how far the tokens lean in each direction, in standard deviations.",
        theme="light",
    )
    yield figure(chart, see="The longest bar names the likeliest cause; up to four either way is chance.")
