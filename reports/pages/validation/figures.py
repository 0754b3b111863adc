"""The pictures of validation, each with the sentence that says what to see; none without rows."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from reports.cells import Row, frame, thinned
from reports.pages.validation.published import COST, THEOREM
from reports.pages.validation.words import quantity
from reports.template import Figure, figure
from specsim import charts

TEXT = ["series", "setting", "inside"]
SIDES = ["predicted", "low", "high", "measured"]
PRINTED = ["measured_low", "measured_high"]
RESIDUALS = ["residual", "residual_low", "residual_high"]
BINS = ["bin_low", "bin_high", "observed", "expected", "low", "high"]
MOST_ROWS = 2000
"""Of a picture, before neighbours are averaged."""


def predictions(frames: Row, claim: str) -> Iterator[Figure]:
    """Every quantity of one claim: measured against predicted, and how far apart."""
    rows = frame(frames, "predictions", text=["claim", "quantity", *TEXT], numbers=[*SIDES, *RESIDUALS])
    for of, mine in rows[rows["claim"] == claim].groupby("quantity", sort=False):
        yield from _pair(
            mine,
            str(of),
            see="Points on the dashed diagonal were predicted exactly; rules are the intervals that were stated "
            "before. Hollow squares left theirs.",
            apart="Above the dashed line more was measured than predicted. A cloud beside the line is a fault of the "
            "model, a wide one is noise.",
        )


def costs(frames: Row) -> Iterator[Figure]:
    """What rounds cost on GPUs, as published."""
    yield from _pair(
        _published(frames, COST),
        COST,
        see="A round costs so many passes of plain decoding: published tokens per round over published speedup. Points "
        "above the diagonal cost more than the model says.",
        apart="The model knows the passes, not the engine: what an engine does between them makes rounds dearer.",
    )


def theorem(frames: Row) -> Iterator[Figure]:
    """The founding paper against its own theorem."""
    yield from _pair(
        _published(frames, THEOREM),
        THEOREM,
        see="The theorem takes one acceptance for all texts. Rules are the rounding of what is printed: most points "
        "lie farther off than that explains.",
        apart="T5-small beats the theorem on every task, for acceptance that varies from text to text gives more "
        "tokens than its mean does. T5-large falls far behind it on translation.",
    )


def histograms(frames: Row) -> Iterator[Figure]:
    """Values that are uniform where a claim holds."""
    rows = frame(frames, "bins", text=["group"], numbers=BINS)
    for group, bins in rows.groupby("group", sort=False):
        yield figure(
            charts.pit_histogram(bins, title=str(group)),
            see="Bars of a lossless decoder end inside the grey band; a slope or a hump would betray a bias.",
        )


def _published(frames: Row, of: str) -> pd.DataFrame:
    rows = frame(frames, "published", text=["quantity", *TEXT], numbers=[*SIDES, *PRINTED, *RESIDUALS])
    return rows[rows["quantity"] == of]


def _pair(rows: pd.DataFrame, of: str, *, see: str, apart: str) -> Iterator[Figure]:
    if not len(rows):
        return
    words = quantity(of)
    name = words.what[:1].upper() + words.what[1:]
    kept = thinned(rows, by=["series"], along="predicted", most=MOST_ROWS)
    agree = charts.measured_by_predicted(kept, **words.options, title=f"{name}: measured against predicted")
    off = charts.residuals_by_predicted(kept, **words.options, title=f"{name}: how far off")
    yield figure(agree, see=see)
    yield figure(off, see=apart)
