"""The pictures of a conformance run, each with the sentence that says what to see; none without rows."""

from __future__ import annotations

from collections.abc import Iterator

from reports.cells import Row, frame
from reports.template import Figure, figure
from specsim import charts

TOWARDS = {
    "q": "the draft's law",
    "sign": "tokens with q above p",
    "residual": "tokens of the residual",
    "overlap": "tokens that p and q share",
    "log_p": "likely tokens",
    "argmax_p": "the target's likeliest",
    "argmax_q": "the draft's likeliest",
    "previous": "the law one place before",
    "seen": "tokens of the text so far",
    "low_id": "low token ids",
    "high_id": "high token ids",
}
"""Directions of scores as people read them."""
BINS = ["bin_low", "bin_high", "observed", "expected", "low", "high"]


def bets(result: Row) -> Iterator[Figure]:
    """The largest e-value so far over the one that rejects."""
    rows = frame(result, "bets", text=[], numbers=["tokens", "log10_margin"])
    if len(rows):
        yield figure(
            charts.evidence_by_tokens(rows),
            see="At the dashed line the decoder is rejected; that of a lossless one stays far below.",
        )


def power(result: Row) -> Iterator[Figure]:
    """What would have been caught."""
    rows = frame(result, "power", text=[], numbers=["total_variation", "power", "tokens"])
    if len(rows):
        smallest = result.get("smallest_tv")
        yield figure(
            charts.power_by_total_variation(rows, smallest=None if smallest is None else float(smallest)),
            see="Faults to the right of the dashed line are caught with probability 0.99 and more, those far to the "
            "left go unseen. The curve is that of the kind of fault that this run sees best.",
        )


def counts(result: Row) -> Iterator[Figure]:
    """Observed against expected."""
    rows = frame(result, "ranks", text=["rank"], numbers=["observed", "expected", "ratio", "low", "high"])
    if len(rows):
        yield figure(
            charts.observed_by_rank(rows),
            see="Of a lossless decoder one point in a thousand leaves its band. Too many likely tokens look like a "
            "lower temperature, too many unlikely ones like drafts that stood and should not have.",
        )


def histograms(result: Row) -> Iterator[Figure]:
    """PIT by group."""
    rows = frame(result, "pit", text=["group"], numbers=BINS)
    for group, bins in rows.groupby("group", sort=False):
        see = "Bars outside the band lean where they stand: likely tokens to the left, unlikely ones to the right."
        yield figure(charts.pit_histogram(bins, title=str(group)), see=see)


def scores(result: Row) -> Iterator[Figure]:
    """Standard deviations by direction."""
    rows = frame(result, "scores", text=["direction"], numbers=["deviations", "pvalue"])
    if len(rows):
        plain = rows.assign(direction=rows["direction"].replace(TOWARDS), cause=rows.get("cause", ""))
        yield figure(
            charts.scores_by_direction(plain, title="What the tokens lean towards"),
            see="The longest bar names the likeliest cause; up to four either way is chance.",
        )
