"""What a pass is made of, by the tokens that it scores."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim import catalog
from specsim.charts import pass_parts_by_tokens
from specsim.placement import Placement
from specsim.roofline import Efficiency


def draw() -> alt.LayerChart:
    """The chart."""
    gpu = catalog.hardware("H100-SXM")
    place = Placement(target=catalog.model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.default(gpu))
    cost = place.cost(place.target)
    rows = [
        {"tokens": tokens, "part": part, "seconds": seconds}
        for tokens in (2**k for k in range(11))
        for part, seconds in cost.parts(tokens=tokens, context=4096).items()
        if seconds
    ]
    return pass_parts_by_tokens(pd.DataFrame(rows), ridge=cost.ridge_tokens)


if __name__ == "__main__":
    save(draw(), __file__)
