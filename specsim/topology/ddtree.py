"""DDTree: a tree from the per-position laws of one pass of a parallel drafter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.errors import InputError
from specsim.topology.best_first import best_first
from specsim.topology.draft import DraftTree
from specsim.topology.ranking import most_probable


def ddtree(marginals: ArrayLike, *, nodes: int) -> DraftTree:
    """The `nodes` best paths where positions are drafted independently of one another, by one best-first heap.

    Parameters
    ----------
    marginals : array, shape (D, V)
        The drafter's law of each of the next D tokens [1].
    nodes : int
        Drafted nodes at most [1].

    Returns
    -------
    DraftTree
        One drafter pass; `values` are products of marginals, too high for paths whose tokens do not go together.

    Notes
    -----
    DDTree (arXiv 2604.12989). No path of the N best uses a rank of N or more, so only N tokens a position are sorted.

    Examples
    --------
    >>> tree = ddtree([[0.1, 0.6, 0.3], [0.8, 0.1, 0.1]], nodes=3)
    >>> tree.topology.parents, tree.choices
    ((-1, 0, -1), (1, 0, 2))
    """
    laws = checks.distribution("marginals", marginals).astype(np.float64)
    if laws.ndim != 2:
        raise InputError(f"marginals must have shape (D, V), got {laws.shape}")
    tokens = most_probable(laws, count=min(laws.shape[-1], checks.integer("nodes", nodes, low=1)))
    topology, values = best_first(np.minimum(np.take_along_axis(laws, tokens, axis=-1), 1.0), nodes=nodes)
    choices = tuple(int(tokens[len(path) - 1, path[-1]]) for path in topology.rank_paths)
    return DraftTree(topology=topology, choices=choices, values=values, draft_passes=1)
