"""The bets against a lossless decoder as they went: far below the line at which it would be rejected."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.runs import conformance_rows
from reports.gallery.show import save
from specsim.charts import evidence_by_tokens


def draw() -> alt.LayerChart:
    """The chart."""
    return evidence_by_tokens(pd.DataFrame(conformance_rows()["bets"]))


if __name__ == "__main__":
    save(draw(), __file__)
