"""REST: lookup in a datastore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.lookup import LOOKED_UP, Lookup
from specsim.drafters.method import Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest(Lookup):
    """REST: continuations of the longest match in a datastore, merged into a trie.

    Notes
    -----
    He et al. (arXiv 2311.08252). Of a trie of up to `nodes` drafts the target verifies all. 12 GB is the datastore of
    UltraChat (their repository); 64 nodes and the time per sequence are assumed.
    """

    name: str = "rest"
    seconds_per_sequence: float = 1e-3
    proposed: tuple[float, ...] = ()
    nodes: int = 64
    store_bytes: float = 12e9
    traits: ClassVar[Traits] = LOOKED_UP

    @classmethod
    def default(cls, target: ModelShape) -> Rest:
        """A trie of 64 nodes from 12 GB."""
        return cls()

    @property
    def tree_nodes(self) -> int:
        """Of the trie [1]."""
        return self.nodes

    def target_tokens(self, gamma: Count) -> IntArray:
        """The last committed token and the trie, which is at least a chain [1]."""
        levels = self.depths(gamma)
        return np.where(levels > 0, np.maximum(checks.integer("nodes", self.nodes, low=1), levels) + 1, 1)

    @property
    def datastore_bytes(self) -> float:
        """The datastore and its index [byte]."""
        return checks.non_negative("store_bytes", self.store_bytes)
