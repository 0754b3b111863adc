"""Long contexts gain at batches where short ones have long stopped."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from specsim.charts import gain_by_batch_and_context
from specsim.sweep import sweep


def draw() -> alt.LayerChart:
    """The chart."""
    axes = {"context": [2**k for k in range(9, 16)], "batch": [2**k for k in range(10)]}
    return gain_by_batch_and_context(sweep(axes))


if __name__ == "__main__":
    save(draw(), __file__)
