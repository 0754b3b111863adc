"""Where the time of a round goes, drafter by drafter."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from specsim.charts import round_parts
from specsim.sweep import sweep


def draw() -> alt.LayerChart:
    """The chart."""
    frame = sweep({"method": ["eagle3", "ngram", "dflash"], "gamma": [2, 4, 8]})
    parts = {"draft_seconds": "draft", "verify_seconds": "verify"}
    long = frame.melt(id_vars=["method", "gamma"], value_vars=list(parts), var_name="part", value_name="seconds")
    return round_parts(long.replace({"part": parts}).rename(columns={"method": "proposer"}))


if __name__ == "__main__":
    save(draw(), __file__)
