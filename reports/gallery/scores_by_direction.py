"""Which way the tokens of a lossless decoder lean: nowhere, up to chance."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.runs import conformance_rows
from reports.gallery.show import save
from specsim.charts import scores_by_direction


def draw() -> alt.LayerChart:
    """The chart."""
    return scores_by_direction(pd.DataFrame(conformance_rows()["scores"]))


if __name__ == "__main__":
    save(draw(), __file__)
