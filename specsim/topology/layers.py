"""Drafting a tree layer by layer: what EAGLE-2 and OPT-Tree share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.topology.draft import DraftTree
from specsim.topology.ranking import most_probable
from specsim.topology.shape import ROOT, Path, Topology

DraftRows = Callable[[Sequence[Path]], ArrayLike]
"""One drafter pass: the tokens from the root to each of n nodes in, n laws of the next token out, shape (n, V)."""


@dataclass(slots=True)
class Pool:
    """All nodes drafted so far, layer after layer; `layers` says how many passes that took."""

    parents: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    layers: int = 0

    def path(self, node: int) -> Path:
        """The tokens from the root to a node."""
        return () if node == ROOT else (*self.path(self.parents[node]), self.tokens[node])

    def best(self, nodes: int) -> IntArray:
        """The most valuable nodes; ties go to those drafted first, so that an ancestor is never left out."""
        return np.argsort(-np.array(self.values), kind="stable")[:nodes]

    def tree(self, nodes: int) -> DraftTree:
        """The most valuable nodes as a tree, in the order of their values."""
        chosen = self.best(nodes).tolist()
        place = {node: index for index, node in enumerate(chosen)} | {ROOT: ROOT}
        return DraftTree(
            topology=Topology(parents=tuple(place[self.parents[node]] for node in chosen)),
            choices=tuple(self.tokens[node] for node in chosen),
            values=tuple(self.values[node] for node in chosen),
            draft_passes=self.layers,
        )


def layers(rows: DraftRows, *, width: int) -> Iterator[Pool]:
    """Expand the `width` most valuable nodes of the last layer into their `width` most probable children, for ever.

    The value of a node is the product of the drafter's probabilities along its path.

    Raises
    ------
    InputError
        The drafter returns rows that are no laws, or not one a path.
    """
    pool, expanded, values = Pool(), [ROOT], [1.0]
    while True:
        laws = _laws(rows([pool.path(node) for node in expanded]), count=len(expanded))
        tokens = most_probable(laws, count=min(width, laws.shape[-1]))
        chances = np.minimum(np.take_along_axis(laws, tokens, axis=-1), 1.0)
        first = len(pool.parents)
        pool.parents += np.repeat(expanded, tokens.shape[1]).tolist()
        pool.tokens += tokens.ravel().tolist()
        pool.values += (np.array(values)[:, None] * chances).ravel().tolist()
        pool.layers += 1
        yield pool
        kept = np.argsort(-np.array(pool.values[first:]), kind="stable")[:width] + first
        expanded, values = kept.tolist(), [pool.values[node] for node in kept]


def _laws(rows: ArrayLike, *, count: int) -> FloatArray:
    laws = checks.distribution("draft rows", rows).astype(np.float64)
    if laws.ndim != 2 or len(laws) != count:
        raise InputError(f"draft rows must be one a path, shape ({count}, V), got {laws.shape}")
    return laws
