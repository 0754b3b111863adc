"""Tokens per round of one drafter: two depths calibrate, the others were predicted."""

from __future__ import annotations

import altair as alt

from reports.gallery.runs import simulated_tokens
from reports.gallery.show import save
from specsim.charts import predicted_against_measured


def draw() -> alt.LayerChart:
    """The chart."""
    rows = simulated_tokens().rename(columns={"low": "predicted_low", "high": "predicted_high", "series": "proposer"})
    rows["held_out"] = ~rows["gamma"].isin([2, 8])
    return predicted_against_measured(rows, quantity="tau")


if __name__ == "__main__":
    save(draw(), __file__)
