"""One round of drafting and verifying, beside plain decoding of the same words."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained import frames
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    return explain.draft_and_verify(frames.round_frame())


if __name__ == "__main__":
    save(draw(), __file__)
