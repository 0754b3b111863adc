"""What a server gives, and what each user gets, load by load."""

from __future__ import annotations

import altair as alt

from reports.gallery.runs import serving_study
from reports.gallery.show import save
from specsim.charts import throughput_by_user_speed


def draw() -> alt.LayerChart:
    """The chart."""
    return throughput_by_user_speed(serving_study().loads)


if __name__ == "__main__":
    save(draw(), __file__)
