"""What a GPU gives and what each user gets, batch by batch: drafters against plain decoding."""

from __future__ import annotations

import altair as alt
import pandas as pd

from reports.gallery.show import save
from specsim.charts import device_speed_by_user_speed
from specsim.sweep import sweep


def draw() -> alt.LayerChart:
    """The chart."""
    batches = [2**k for k in range(9)]
    frame = sweep({"method": ["eagle3", "ngram"], "batch": batches})
    plain = frame[frame["method"] == "ngram"].assign(method="plain", gamma=0)
    plain["user_tokens_per_second"] = 1 / plain["plain_seconds"]
    plain["device_tokens_per_second"] = plain["batch"] / plain["plain_seconds"]
    both = pd.concat([frame, plain], ignore_index=True)
    speeds = both[["user_tokens_per_second", "device_tokens_per_second"]].to_numpy()
    beaten = (speeds[None] > speeds[:, None]).all(axis=2).any(axis=1)
    return device_speed_by_user_speed(both.assign(front=~beaten))


if __name__ == "__main__":
    save(draw(), __file__)
