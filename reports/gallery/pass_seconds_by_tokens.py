"""Time of a pass in two number formats, with the error of the fitted kernels."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from reports.gallery.show import save
from specsim import catalog
from specsim.charts import pass_seconds_by_tokens
from specsim.roofline import Efficiency, Roofline


def draw() -> alt.LayerChart:
    """The chart."""
    gpu, target = catalog.hardware("H100-SXM"), catalog.model("Llama-3.1-8B")
    reached = Efficiency.default(gpu)
    error = 1.96 * reached.kernel_error
    tokens = 2 ** np.arange(9)
    frames = []
    for name, model in {"bfloat16": target, "4-bit weights": target.quantised(4)}.items():
        seconds = Roofline(model=model, hardware=gpu, efficiency=reached).pass_seconds(tokens=tokens)
        ends = {"low": seconds * (1 - error), "high": seconds * (1 + error)}
        frames.append(pd.DataFrame({"dtype": name, "tokens": tokens, "seconds": seconds, **ends}))
    return pass_seconds_by_tokens(pd.concat(frames))


if __name__ == "__main__":
    save(draw(), __file__)
