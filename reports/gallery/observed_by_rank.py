"""How often the target's likeliest token came, its second, and so on, over how often it should have."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.runs import conformance_rows
from reports.gallery.show import save
from specsim.charts import observed_by_rank


def draw() -> alt.LayerChart:
    """The chart."""
    return observed_by_rank(pd.DataFrame(conformance_rows()["ranks"]))


if __name__ == "__main__":
    save(draw(), __file__)
