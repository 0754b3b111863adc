"""Every drafter at its best depth, with the interval of its speedup."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from specsim import catalog
from specsim.capacity import Workload, plan
from specsim.charts import drafters_by_speedup


def draw() -> alt.LayerChart:
    """The chart."""
    found = plan(
        catalog.model("Llama-3.1-8B"),
        catalog.hardware("H100-SXM"),
        Workload(batch=16, context=4096),
        methods=["eagle3", "mtp", "ngram"],
    )
    return drafters_by_speedup(found.frame())


if __name__ == "__main__":
    save(draw(), __file__)
