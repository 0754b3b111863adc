"""Tokens per round as a law predicts them, and as simulated rounds give them."""

from __future__ import annotations

import altair as alt

from reports.gallery.runs import simulated_tokens
from reports.gallery.show import save
from specsim.charts import measured_by_predicted


def draw() -> alt.LayerChart:
    """The chart."""
    return measured_by_predicted(simulated_tokens(), what="tokens per round, τ")


if __name__ == "__main__":
    save(draw(), __file__)
