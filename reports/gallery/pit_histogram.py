"""Probability integral transforms of a lossless decoder: flat."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.runs import conformance_rows
from reports.gallery.show import save
from specsim.charts import pit_histogram


def draw() -> alt.LayerChart:
    """The chart."""
    bins = pd.DataFrame(conformance_rows()["pit"])
    return pit_histogram(bins[bins["group"] == "all tokens"])


if __name__ == "__main__":
    save(draw(), __file__)
