"""Requests that are answered as promised, by load."""

from __future__ import annotations

import altair as alt

from reports.gallery.runs import serving_study
from reports.gallery.show import save
from specsim.charts import kept_by_load


def draw() -> alt.LayerChart:
    """The chart."""
    return kept_by_load(serving_study().loads)


if __name__ == "__main__":
    save(draw(), __file__)
