"""OPT-Tree: draft layer after layer for as long as the best tree of N nodes gains enough."""

from __future__ import annotations

from specsim import checks
from specsim.topology.draft import DraftTree
from specsim.topology.layers import DraftRows, layers


def opt_tree(rows: DraftRows, *, nodes: int, min_gain: float, max_depth: int) -> DraftTree:
    """The tree of the largest sum of path probabilities, deepened while that sum gains more than `min_gain`.

    Parameters
    ----------
    rows : callable
        One drafter pass; see `DraftRows`.
    nodes : int
        Drafted nodes to verify, which are also those expanded in a layer [1].
    min_gain : float
        Stop after a layer that adds no more than this to the surrogate length [1].
    max_depth : int
        Layers at most [1].

    Returns
    -------
    DraftTree
        `values` are the products of the drafter's probabilities.

    Notes
    -----
    Wang et al. (arXiv 2406.17276). Greedy and optimal for the surrogate: with N nodes expanded in every layer, no
    node that could be among the N best of a tree of this depth is left out.

    Examples
    --------
    >>> confident = opt_tree(lambda paths: [[0.9, 0.1]] * len(paths), nodes=4, min_gain=0.1, max_depth=8)
    >>> torn = opt_tree(lambda paths: [[0.5, 0.5]] * len(paths), nodes=4, min_gain=0.1, max_depth=8)
    >>> confident.draft_passes, torn.draft_passes
    (5, 3)
    """
    budget, least = checks.integer("nodes", nodes, low=1), checks.non_negative("min_gain", min_gain)
    limit, reached = checks.integer("max_depth", max_depth, low=1), 0.0
    for pool in layers(rows, width=budget):
        before, reached = reached, sum(pool.values[node] for node in pool.best(budget))
        if reached - before <= least or pool.layers == limit:
            break
    return pool.tree(budget)
