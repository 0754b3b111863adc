"""What heads on the target's last hidden state have in common."""

from __future__ import annotations

import dataclasses

import numpy as np

from specsim import checks
from specsim.checks import IntArray
from specsim.drafters.method import DraftMethod
from specsim.roofline import Count

USUAL_NODES = (8, 16, 32, 63)


class Heads(DraftMethod):
    """As many heads as drafts, verified as a chain (`nodes` 0) or as a static tree."""

    __slots__ = ()

    heads: int
    nodes: int

    def __post_init__(self) -> None:
        checks.integer("heads", self.heads, low=1)
        checks.integer("nodes", self.nodes)

    @property
    def tree_nodes(self) -> int:
        """Of the static tree [1]."""
        return self.nodes

    def with_trees(self) -> tuple[DraftMethod, ...]:
        """Static trees from 8 nodes to the 63 of published ones."""
        return tuple(dataclasses.replace(self, nodes=nodes) for nodes in USUAL_NODES)  # type: ignore[type-var]

    @property
    def max_gamma(self) -> int:
        """One draft a head [1]."""
        return self.heads

    def target_tokens(self, gamma: Count) -> IntArray:
        """The last committed token and the tree, which is at least a chain [1]."""
        levels = self.depths(gamma)
        return np.where(levels > 0, np.maximum(self.nodes, levels) + 1, 1)
