"""What is accepted, what is rejected, and what is drawn again, on the laws of target and drafter."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained import frames
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    return explain.acceptance_areas(frames.areas_frame())


if __name__ == "__main__":
    save(draw(), __file__)
