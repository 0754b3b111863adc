"""DynamicTree: the budget of a tree that is drafted level by level, as EAGLE-2 does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class DynamicTree:
    """The best `nodes` of levels that each expand `top_k` nodes into `top_k` children.

    Parameters
    ----------
    nodes : int
        Drafted nodes that the target verifies [1].
    top_k : int
        Nodes that a drafter pass expands, and children of each [1].

    Notes
    -----
    Li et al. (arXiv 2406.16858). The defaults are those with which the DFlash paper runs EAGLE-3, at 7 levels
    (arXiv 2602.06036).

    Examples
    --------
    >>> DynamicTree().kept(np.array([0, 1, 2]))
    array([ 0, 10, 60])
    """

    nodes: int = 60
    top_k: int = 10

    def __post_init__(self) -> None:
        checks.integer("nodes", self.nodes, low=1)
        checks.integer("top_k", self.top_k, low=1)

    def kept(self, levels: IntArray) -> IntArray:
        """Nodes that are verified, of those that so many levels draft [1]."""
        drafted = self.top_k + (levels - 1) * self.top_k**2
        return np.where(levels > 0, np.minimum(self.nodes, drafted), 0)


USUAL = (DynamicTree(nodes=8, top_k=4), DynamicTree(nodes=16, top_k=4), DynamicTree(nodes=32, top_k=8), DynamicTree())
"""Trees to choose from where nobody says which."""
