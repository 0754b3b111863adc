"""Topology: the shape of what is drafted in one round, a chain or a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from specsim import checks
from specsim.checks import IntArray
from specsim.errors import InputError

ROOT = -1
"""The last committed token: the parent of every node of depth 1."""

Path = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """A rooted tree of N drafted tokens; the root is the last committed token and is no node.

    Parameters
    ----------
    parents : tuple of int
        The parent of every node, -1 for the root; it comes before the node. Siblings are in the order in which they
        are tried, so the first child of a node has rank 0. Empty is plain decoding.

    Raises
    ------
    InputError
        A parent that is no whole number, below -1, or not before its node.

    Notes
    -----
    Arrays of rows (target laws, draft laws) have N + 1 of them: row 0 is the law after the root, row v + 1 that after
    node v. A chain is (-1, 0, 1, ...), so these are the rows of a drafted chain.

    Examples
    --------
    >>> tree = Topology(parents=(-1, -1, 0))
    >>> tree.depths, tree.paths, tree.rank_paths
    ((1, 1, 2), ((0,), (1,), (0, 2)), ((0,), (1,), (0, 0)))
    >>> tree.attention_mask.astype(int)
    array([[1, 0, 0],
           [0, 1, 0],
           [1, 0, 1]])
    """

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for node, parent in enumerate(self.parents):
            checks.integer(f"parents[{node}]", parent, low=ROOT, high=node - 1)

    @classmethod
    def from_rank_paths(cls, paths: Iterable[Sequence[int]]) -> Topology:
        """From the ranks along the path to each node, as Medusa and EAGLE write trees: [[0], [1], [0, 0]].

        Raises
        ------
        InputError
            A path without its parent or its next better sibling before it, or twice.
        """
        places: dict[Path, int] = {(): ROOT}
        parents = []
        for node, ranks in enumerate(map(tuple, paths)):
            before = (*ranks[:-1], ranks[-1] - 1) if ranks and ranks[-1] else ranks[:-1]
            if not ranks or ranks in places or ranks[:-1] not in places or before not in places:
                raise InputError(f"paths[{node}] must be new and follow its parent and better siblings, got {ranks}")
            parents.append(places[ranks[:-1]])
            places[ranks] = node
        return cls(parents=tuple(parents))

    @classmethod
    def from_child_counts(cls, counts: Sequence[int]) -> Topology:
        """From how many children the root and then each node have, breadth first; counts left out are 0.

        Examples
        --------
        >>> Topology.from_child_counts([2, 1]).parents
        (-1, -1, 0)
        """
        parents: list[int] = []
        for place, count in enumerate(counts):
            if place > len(parents):
                raise InputError(f"counts must be of the root and {len(parents)} nodes at most, got {len(counts)}")
            parents += [place - 1] * checks.integer(f"counts[{place}]", count)
        return cls(parents=tuple(parents))

    @classmethod
    def branching(cls, *counts: int) -> Topology:
        """Every node of depth d has `counts[d]` children.

        Examples
        --------
        >>> Topology.branching(2, 1).parents
        (-1, -1, 0, 1)
        """
        width, children = 1, []
        for depth, count in enumerate(counts):
            children += [checks.integer(f"counts[{depth}]", count, low=1)] * width
            width *= count
        return cls.from_child_counts(children)

    @property
    def nodes(self) -> int:
        """N, the drafted tokens [1]."""
        return len(self.parents)

    @property
    def depths(self) -> tuple[int, ...]:
        """Of every node; a child of the root has depth 1 [1]."""
        return tuple(map(len, self.paths))

    @property
    def depth(self) -> int:
        """The most drafts that a round can accept [1]."""
        return max(self.depths, default=0)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The nodes from the root, without it, to every node and with it."""
        return _paths(self.parents)

    @property
    def rank_paths(self) -> tuple[Path, ...]:
        """`paths` as ranks among siblings."""
        rank = {node: place for siblings in _children(self.parents) for place, node in enumerate(siblings)}
        return tuple(tuple(rank[node] for node in path) for path in self.paths)

    def children(self, node: int = ROOT) -> tuple[int, ...]:
        """The children of a node, or of the root, best first."""
        return _children(self.parents)[checks.integer("node", node, low=ROOT, high=self.nodes - 1) + 1]

    @property
    def child_table(self) -> IntArray:
        """The children of the root (row 0) and of every node v (row v + 1), filled up with -1."""
        return _child_table(self.parents)

    @property
    def attention_mask(self) -> NDArray[np.bool_]:
        """Shape (N, N): row v marks the nodes on the path to v, which v may attend to besides the committed text."""
        mask = np.eye(self.nodes, dtype=np.bool_)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                mask[node] |= mask[parent]
        return mask

    @property
    def positions(self) -> IntArray:
        """Shape (N,): position of every node after that of the last committed token."""
        return np.array(self.depths, dtype=np.intp)


@lru_cache(maxsize=256)
def _children(parents: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for node, parent in enumerate(parents):
        children[parent + 1].append(node)
    return tuple(map(tuple, children))


@lru_cache(maxsize=256)
def _paths(parents: tuple[int, ...]) -> tuple[Path, ...]:
    paths: list[Path] = []
    for node, parent in enumerate(parents):
        paths.append((*paths[parent], node) if parent != ROOT else (node,))
    return tuple(paths)


@lru_cache(maxsize=256)
def _child_table(parents: tuple[int, ...]) -> IntArray:
    children = _children(parents)
    table = np.full((len(children), max(map(len, children))), ROOT, dtype=np.intp)
    for row, siblings in zip(table, children, strict=True):
        row[: len(siblings)] = siblings
    table.flags.writeable = False
    return table
