"""Suffix decoding: lookup in a tree over all that was written before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim import checks
from specsim.catalog import ModelShape
from specsim.drafters.lookup import LOOKED_UP, Lookup
from specsim.drafters.method import Traits


@dataclass(frozen=True, kw_only=True, slots=True)
class SuffixTree(Lookup):
    """Suffix decoding: the longest match in a tree over the prompt and all earlier outputs.

    Notes
    -----
    Oliaro et al. (arXiv 2411.04975). The draft's length follows the match's, so `gamma` is its longest. Time per
    sequence and size of the tree are assumed.
    """

    name: str = "suffix"
    seconds_per_sequence: float = 1e-4
    proposed: tuple[float, ...] = ()
    tree_bytes: float = 4e9
    traits: ClassVar[Traits] = LOOKED_UP

    @classmethod
    def default(cls, target: ModelShape) -> SuffixTree:
        """Always proposing, at the assumed time."""
        return cls()

    @property
    def datastore_bytes(self) -> float:
        """The tree over earlier outputs [byte]."""
        return checks.non_negative("tree_bytes", self.tree_bytes)
