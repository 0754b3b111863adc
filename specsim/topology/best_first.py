"""The N best nodes of a tree whose path values are products, by one heap."""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.errors import InputError
from specsim.topology.shape import Path, Topology


def best_first(chances: ArrayLike, *, nodes: int) -> tuple[Topology, tuple[float, ...]]:
    """Grow a tree by its best next node until it has `nodes` of them, or no node of a chance above 0 is left.

    A node is worth the product of the chances along its path. The frontier holds the first child and the next sibling
    of every node taken.

    Parameters
    ----------
    chances : array, shape (D, R)
        For depth 1..D and rank 0..R-1, the chance of a node there given its parent [1].
    nodes : int
        Drafted nodes [1].

    Returns
    -------
    topology, values
        Nodes in the order in which they were taken, and what each is worth [1]. Ties go to the shallower node, then to
        better ranks; the factors of a product are multiplied in one order, so that equal products are ties.

    Notes
    -----
    Where chances never rise with rank this is the tree of the largest sum of values; elsewhere it is a greedy guess.

    Examples
    --------
    >>> topology, values = best_first([[0.6, 0.2], [0.6, 0.2]], nodes=3)
    >>> topology.rank_paths, values
    (((0,), (0, 0), (1,)), (0.6, 0.36, 0.2))
    """
    table = checks.probabilities("chances", chances, ndim=2).astype(np.float64)
    if 0 in table.shape:
        raise InputError(f"chances must have a depth and a rank at least, got shape {table.shape}")
    taken = list(islice(_by_value(table), checks.integer("nodes", nodes)))
    return Topology.from_rank_paths(path for _, path in taken), tuple(value for value, _ in taken)


def _by_value(table: np.ndarray) -> Iterator[tuple[float, Path]]:
    frontier: list[tuple[float, int, Path]] = []

    def push(path: Path) -> None:
        if len(path) <= table.shape[0] and path[-1] < table.shape[1]:
            value = math.prod(sorted(float(table[depth, rank]) for depth, rank in enumerate(path)))
            if value > 0:
                heappush(frontier, (-value, len(path), path))

    push((0,))
    while frontier:
        value, _, path = heappop(frontier)
        yield -value, path
        push((*path[:-1], path[-1] + 1))
        push((*path, 0))
