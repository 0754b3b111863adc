"""How many drafts stand, token by token and as a block, on the same draws."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained import frames
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    return explain.lengths_by_rule(frames.lengths_frame())


if __name__ == "__main__":
    save(draw(), __file__)
