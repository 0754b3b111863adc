"""Published tokens per round of the same drafter at temperature 0 and 1."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim import catalog
from specsim.charts import tokens_by_temperature


def draw() -> alt.LayerChart:
    """The chart."""
    rows = [
        {
            "drafter": row.method,
            "target": row.target,
            "temperature": row.temperature,
            "E_tokens": row.tau,
            "source": row.source,
        }
        for row in catalog.published_rows()
        if row.method in ("eagle1", "eagle2") and row.dataset == "MT-bench"
    ]
    return tokens_by_temperature(pd.DataFrame(rows))


if __name__ == "__main__":
    save(draw(), __file__)
