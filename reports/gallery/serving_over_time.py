"""How full a server is, over time, with and without speculation."""

from __future__ import annotations

import altair as alt

from reports.gallery.runs import serving_study
from reports.gallery.show import save
from specsim.charts import serving_over_time


def draw() -> alt.LayerChart:
    """The chart."""
    spans = serving_study().timelines
    return serving_over_time(
        spans[spans["requests_per_second"] == spans["requests_per_second"].max()], quantity="batch"
    )


if __name__ == "__main__":
    save(draw(), __file__)
