"""How long the first token takes, by load: median, 95th and 99th percentile."""

from __future__ import annotations

import altair as alt

from reports.gallery.runs import serving_study
from reports.gallery.show import save
from specsim.charts import latency_by_load


def draw() -> alt.LayerChart:
    """The chart."""
    study = serving_study()
    promised = study.promise.first_token_seconds
    return latency_by_load(study.latencies, latency="first_token", promise_seconds=promised)


if __name__ == "__main__":
    save(draw(), __file__)
