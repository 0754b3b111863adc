"""Which input moves a speedup most."""

from __future__ import annotations

from dataclasses import asdict

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim import catalog
from specsim.capacity import Variant, Workload, assumed_acceptance, sensitivities
from specsim.charts import speedup_sensitivity
from specsim.drafters import METHODS
from specsim.placement import Placement
from specsim.roofline import Efficiency


def draw() -> alt.LayerChart:
    """The chart."""
    gpu = catalog.hardware("H100-SXM")
    place = Placement(target=catalog.model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.default(gpu))
    assumed = assumed_acceptance("eagle3", {}, task=None)
    way = Variant(method=METHODS["eagle3"].default(place.target), acceptance=assumed.acceptance)
    moved = sensitivities(place, way, assumed, Workload(batch=16, context=4096), gamma=4)
    speedup = place.rates(way.method, acceptance=way.acceptance, gamma=4, batch=16, context=4096).speedup
    return speedup_sensitivity(pd.DataFrame(map(asdict, moved)), speedup=float(speedup))


if __name__ == "__main__":
    save(draw(), __file__)
