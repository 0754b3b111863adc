"""Up to which batch drafters gain."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from specsim.charts import gain_by_batch
from specsim.sweep import sweep


def draw() -> alt.LayerChart:
    """The chart."""
    frame = sweep({"method": ["eagle3", "mtp", "ngram"], "batch": [2**k for k in range(11)]})
    return gain_by_batch(frame, by="method")


if __name__ == "__main__":
    save(draw(), __file__)
