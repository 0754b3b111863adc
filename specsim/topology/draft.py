"""DraftTree: a topology with what its nodes propose and what the drafter thinks of them."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks
from specsim.errors import InputError
from specsim.topology.shape import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftTree:
    """What a tree builder gives back.

    Parameters
    ----------
    topology : Topology
        The shape of the tree.
    choices : tuple of int, length N
        The token of each node; for a static tree its rank among the drafter's candidates at that place.
    values : tuple of float, length N
        What the builder took for the probability that the node stands, all nodes before it included [1].
    draft_passes : int
        Drafter passes, one after the other, that it takes to draft [1].

    Raises
    ------
    InputError
        Choices or values that are not one a node.
    """

    topology: Topology
    choices: tuple[int, ...]
    values: tuple[float, ...]
    draft_passes: int

    def __post_init__(self) -> None:
        if not len(self.choices) == len(self.values) == self.topology.nodes:
            counts = f"{len(self.choices)} and {len(self.values)} for {self.topology.nodes} nodes"
            raise InputError(f"choices and values must be one a node, got {counts}")
        checks.probabilities("values", self.values, ndim=1)
        checks.integer("draft_passes", self.draft_passes)
