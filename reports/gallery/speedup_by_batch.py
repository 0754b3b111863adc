"""Speedup by batch: on a GPU that reaches its data sheet, and on one that does not."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim.charts import speedup_by_batch
from specsim.sweep import sweep


def draw() -> alt.LayerChart:
    """The chart."""
    axes = {"method": ["eagle3", "ngram"], "batch": [2**k for k in range(10)]}
    reached = {"ideal": "ideal", "expected": "assumed"}
    frames = [sweep(axes, efficiency=each).assign(efficiency=name) for name, each in reached.items()]
    return speedup_by_batch(pd.concat(frames).rename(columns={"method": "proposer"}))


if __name__ == "__main__":
    save(draw(), __file__)
