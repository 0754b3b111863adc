"""How often drafter and target draw the same token, with shared noise and with noise of their own."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained import frames
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    rates, exact = frames.match_frames()
    return explain.match_rate(rates, exact=exact)


if __name__ == "__main__":
    save(draw(), __file__)
