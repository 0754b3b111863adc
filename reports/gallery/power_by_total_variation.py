"""How far from the target's law a decoder has to be for a run of 4000 tokens to notice."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.runs import conformance_rows
from reports.gallery.show import save
from specsim.charts import power_by_total_variation


def draw() -> alt.LayerChart:
    """The chart."""
    rows = conformance_rows()
    return power_by_total_variation(pd.DataFrame(rows["power"]), smallest=rows["smallest_tv"])


if __name__ == "__main__":
    save(draw(), __file__)
