"""Drawing a token as a race: with shared noise the same token wins twice."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained import frames
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    return explain.race(frames.race_frame(shared=True))


if __name__ == "__main__":
    save(draw(), __file__)
