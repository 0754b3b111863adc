"""Which depth is best at which batch."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from specsim.charts import gain_by_batch_and_gamma
from specsim.sweep import sweep


def draw() -> alt.LayerChart:
    """The chart."""
    return gain_by_batch_and_gamma(sweep({"gamma": range(1, 9), "batch": [2**k for k in range(10)]}))


if __name__ == "__main__":
    save(draw(), __file__)
