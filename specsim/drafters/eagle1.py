"""EAGLE-1: one decoder layer on the target's last feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from specsim import topology
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.eagle import Eagle, feature_head
from specsim.drafters.method import DraftMethod, Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Eagle1(Eagle):
    """One layer on the target's last feature and the next token's embedding.

    Parameters
    ----------
    tree : bool
        Whether the static tree of 25 nodes is drafted; a chain otherwise.

    Notes
    -----
    Li et al. (arXiv 2401.15077). Embedding and head are the target's. In a tree each pass is charged for the 4 nodes
    that the widest level expands.

    Examples
    --------
    >>> Eagle1(tree=True).target_tokens([0, 1, 5])
    array([ 1,  5, 26])
    """

    tree: bool = False
    name: str = "eagle1"
    traits: ClassVar[Traits] = Traits(q="full", dependence="autoregressive", runs_on="accelerator", trained=True)

    @classmethod
    def default(cls, target: ModelShape) -> Eagle1:
        """A chain."""
        return cls()

    @property
    def tree_nodes(self) -> int:
        """Of the static tree [1]."""
        return len(topology.eagle1().parents) if self.tree else 0

    def with_trees(self) -> tuple[DraftMethod, ...]:
        """With its static tree."""
        return (replace(self, tree=True),)

    @property
    def max_gamma(self) -> int | None:
        """The static tree's depth [1]."""
        return topology.eagle1().depth if self.tree else None

    def model(self, target: ModelShape) -> ModelShape:
        """One layer, and the matrix 2 d to d that joins feature and embedding."""
        return feature_head(target, name=self.name)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """Of a tree the nodes that the widest level expands [1]."""
        return np.full_like(self.depths(gamma), _widest() if self.tree else 1)

    def target_tokens(self, gamma: Count) -> IntArray:
        """The last committed token and the nodes down to that level [1]."""
        levels = self.depths(gamma)
        if not self.tree:
            return np.asarray(levels + 1)
        return np.asarray(1 + np.searchsorted(np.sort(topology.eagle1().depths), levels, side="right"))


def _widest() -> int:
    """Nodes with children on the level of the static tree that has most of them [1]."""
    tree = topology.eagle1()
    levels = [depth for node, depth in enumerate(tree.depths) if tree.children(node)]
    return int(np.bincount(levels).max())
