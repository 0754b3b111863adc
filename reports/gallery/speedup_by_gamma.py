"""Speedup by drafted tokens, with its interval."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim import catalog
from specsim.capacity import Variant, Workload, assumed_acceptance, speedup_interval
from specsim.charts import speedup_by_gamma
from specsim.drafters import METHODS
from specsim.placement import Placement
from specsim.roofline import Efficiency


def draw() -> alt.LayerChart:
    """The chart."""
    gpu = catalog.hardware("H100-SXM")
    place = Placement(target=catalog.model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.default(gpu))
    load = Workload(batch=4, context=2048)
    rows = []
    for name in ("eagle3", "ngram"):
        assumed = assumed_acceptance(name, {}, task=None)
        way = Variant(method=METHODS[name].default(place.target), acceptance=assumed.acceptance)
        for gamma in range(1, 9):
            asked = {"gamma": gamma, "batch": load.batch, "context": load.context}
            ends = speedup_interval(place, way, assumed, load, gamma=gamma)
            speedup = float(place.rates(way.method, acceptance=way.acceptance, **asked).speedup)
            rows.append({"proposer": name, "gamma": gamma, "speedup": speedup, "low": ends.low, "high": ends.high})
    return speedup_by_gamma(pd.DataFrame(rows))


if __name__ == "__main__":
    save(draw(), __file__)
