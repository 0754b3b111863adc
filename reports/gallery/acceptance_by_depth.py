"""How likely each draft of a chain stands, given that those before it stood, as a server counted it."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim.acceptance import Acceptance
from specsim.charts import acceptance_by_depth


def draw() -> alt.LayerChart:
    """The chart."""
    counted = Acceptance.from_counts(
        [4816, 3564, 2601, 1975, 1493, 1108, 819],
        [3564, 2601, 1975, 1493, 1108, 819, 626],
        source="counted by vLLM: github.com/vllm-project/vllm/issues/26191, first log",
    )
    low, high = counted.interval()
    frame = pd.DataFrame(
        {
            "proposer": "eagle3",
            "depth": range(1, counted.depths + 1),
            "reached": counted.reached,
            "accepted": counted.accepted,
            "conditional": counted.conditional(counted.depths),
            "low": low,
            "high": high,
        }
    )
    return acceptance_by_depth(frame)


if __name__ == "__main__":
    save(draw(), __file__)
