"""EAGLE-2's dynamic tree: expand the most confident nodes layer by layer, then rerank all of them."""

from __future__ import annotations

from itertools import islice

from specsim import checks
from specsim.topology.draft import DraftTree
from specsim.topology.layers import DraftRows, layers


def eagle2(rows: DraftRows, *, nodes: int, top_k: int, depth: int) -> DraftTree:
    """Draft `depth` layers and keep the `nodes` most valuable of all drafted nodes.

    Parameters
    ----------
    rows : callable
        One drafter pass; see `DraftRows`.
    nodes : int
        Drafted nodes to verify; fewer where fewer were drafted [1].
    top_k : int
        Nodes expanded in a layer, and children of each [1].
    depth : int
        Layers, which are drafter passes [1].

    Returns
    -------
    DraftTree
        `values` are the products of the drafter's probabilities, its guess at what the target will accept.

    Notes
    -----
    Li et al. (arXiv 2406.16858), `topK_genrate` of their `cnets.py`, whose parameter `depth` does not count the first
    layer. The tree is a function of the text so far, so its tokens are no draw (`q=None`): reranking sampled tokens
    would not be lossless.

    Examples
    --------
    >>> tree = eagle2(lambda paths: [[0.6, 0.4]] * len(paths), nodes=3, top_k=2, depth=2)
    >>> tree.topology.parents, tree.choices, tree.draft_passes
    ((-1, -1, 0), (0, 1, 0), 2)
    """
    checks.integer("depth", depth, low=1)
    grown = layers(rows, width=checks.integer("top_k", top_k, low=1))
    pool = next(islice(grown, depth - 1, None))
    return pool.tree(checks.integer("nodes", nodes))
