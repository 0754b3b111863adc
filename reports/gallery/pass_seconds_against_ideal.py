"""Time of a pass as the data sheet promises it, and as measured kernels give it."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from reports.gallery.show import save
from specsim import catalog
from specsim.charts import pass_seconds_against_ideal
from specsim.placement import Placement
from specsim.roofline import Efficiency


def draw() -> alt.LayerChart:
    """The chart."""
    gpu, target = catalog.hardware("H100-SXM"), catalog.model("Llama-3.1-8B")
    tokens = 2 ** np.arange(12)
    reached = {"ideal": Efficiency.ideal(), "calibrated": Efficiency.default(gpu)}
    costs = {law: Placement(target=target, hardware=gpu, efficiency=each).cost(target) for law, each in reached.items()}
    frames = [
        pd.DataFrame({"law": law, "tokens": tokens, "seconds": cost.pass_seconds(tokens=tokens)})
        for law, cost in costs.items()
    ]
    return pass_seconds_against_ideal(pd.concat(frames))


if __name__ == "__main__":
    save(draw(), __file__)
