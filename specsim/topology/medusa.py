"""Medusa's static tree, from how often each rank of each head was right on a calibration set."""

from __future__ import annotations

from numpy.typing import ArrayLike

from specsim.topology.best_first import best_first
from specsim.topology.draft import DraftTree


def medusa(accuracies: ArrayLike, *, nodes: int) -> DraftTree:
    """Grow greedily by path accuracy, the product of the accuracies along the path.

    Parameters
    ----------
    accuracies : array, shape (H, R)
        How often the candidate of rank r of head h was the token h + 1 ahead [1].
    nodes : int
        Drafted nodes at most; Medusa's own trees have 63 [1].

    Returns
    -------
    DraftTree
        `choices` are ranks; all heads sit on the target, so no drafter pass is needed.

    Notes
    -----
    Cai et al. (arXiv 2401.10774), as in their script `gen_results.py`. The product takes heads to be
    right independently of one another, so the sum of values is a surrogate.

    Examples
    --------
    >>> medusa([[0.6, 0.2], [0.5, 0.1]], nodes=3).topology.rank_paths
    ((0,), (0, 0), (1,))
    """
    topology, values = best_first(accuracies, nodes=nodes)
    ranks = tuple(path[-1] for path in topology.rank_paths)
    return DraftTree(topology=topology, choices=ranks, values=values, draft_passes=0)
