"""Tokens per round by drafted tokens: what was counted, and the laws that fit it."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim.acceptance import Acceptance, compare
from specsim.charts import tokens_by_gamma


def draw() -> alt.LayerChart:
    """The chart."""
    counted = Acceptance.from_counts(
        [4816, 3564, 2601, 1975, 1493, 1108, 819],
        [3564, 2601, 1975, 1493, 1108, 819, 626],
        source="counted by vLLM: github.com/vllm-project/vllm/issues/26191, first log",
    )
    found = compare(counted)
    depths = range(1, 13)
    frames = [
        pd.DataFrame({"law": law, "gamma": depths, "E_tokens": [found.fits[law].expected_tokens(k) for k in depths]})
        for law in found.left_open
    ]
    seen, free = range(1, counted.depths + 1), found.fits["by_depth"]
    ends = [free.tokens_interval(gamma) for gamma in seen]
    measured = pd.DataFrame(ends, columns=["low", "high"])
    measured = measured.assign(gamma=seen, E_tokens=[free.expected_tokens(gamma) for gamma in seen])
    return tokens_by_gamma(pd.concat(frames), measured=measured)


if __name__ == "__main__":
    save(draw(), __file__)
