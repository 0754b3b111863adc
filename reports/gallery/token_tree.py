"""A tree of drafts, with the path that the target took."""

from __future__ import annotations

import altair as alt

from reports.gallery.show import save
from reports.pages.explained.tree import tree_frame
from specsim.charts import explain


def draw() -> alt.LayerChart:
    """The chart."""
    return explain.token_tree(tree_frame())


if __name__ == "__main__":
    save(draw(), __file__)
