"""One chain of drafts, judged token by token and as a block."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained import frames
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    return explain.standing_by_rule(frames.standing_frame())


if __name__ == "__main__":
    save(draw(), __file__)
