"""Sequoia's optimal tree by dynamic programming, with and without a limit on depth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InfeasibleError
from specsim.topology.length import acceptance_vector
from specsim.topology.shape import Topology


class _Level(NamedTuple):
    """Best subtrees of one depth limit, by their nodes m (their root counts) and children b."""

    tokens: FloatArray
    """(n + 1,): expected tokens, minus infinity where no tree has m nodes."""
    children: IntArray
    """(n + 1,): how many the best root has."""
    before: IntArray
    """(n + 1, R + 1): how many of m nodes are left to the root and its first b - 1 children."""


def sequoia(acceptance: ArrayLike, *, nodes: int, max_depth: int | None = None) -> Topology:
    """The tree of `nodes` drafts that stands longest, if acceptance depends on nothing but rank.

    Parameters
    ----------
    acceptance : array, shape (R,)
        Probability that the child of rank 0, 1, ... is the one that stands, given that its parent stands [1].
    nodes : int
        Drafted nodes, the root not counted [1].
    max_depth : int or None
        Depth at most; None is no limit [1].

    Returns
    -------
    Topology
        In breadth-first order.

    Raises
    ------
    InfeasibleError
        No tree of so many nodes fits the ranks and the depth.

    Notes
    -----
    Exact. Chen et al. (arXiv 2402.12374), and `tree_search.py` of their repository, whose sizes count the root. The
    recursion splits off the last child: T(m, b) = max_y T(y, b - 1) + a_b max_b' T(m - y, b'). Time is
    O(nodes^2 R) for each depth.

    Examples
    --------
    >>> sequoia([0.6, 0.15, 0.08], nodes=5).rank_paths
    ((0,), (1,), (0, 0), (0, 0, 0), (0, 0, 0, 0))
    >>> sequoia([0.6, 0.15, 0.08], nodes=5, max_depth=2).rank_paths
    ((0,), (1,), (0, 0), (0, 1), (1, 0))
    """
    chances = acceptance_vector(acceptance)
    levels = _levels(chances, nodes=checks.integer("nodes", nodes), max_depth=max_depth)
    if np.isneginf(levels[-1].tokens[nodes + 1]):
        raise InfeasibleError(
            f"no tree of {nodes} nodes fits into depth {max_depth} with {chances.size} ranks;"
            f" at most {np.flatnonzero(np.isfinite(levels[-1].tokens))[-1] - 1} do, so allow more of either"
        )
    return _tree(levels, nodes=nodes, is_limited=max_depth is not None)


def optimal_tokens(acceptance: ArrayLike, *, nodes: int, max_depth: int) -> FloatArray:
    """Expected tokens of the best tree of every depth limit and size.

    Returns
    -------
    array, shape (max_depth + 1, nodes + 1)
        For depth up to d and exactly n drafted nodes, minus infinity where there is no such tree [1].

    Examples
    --------
    >>> optimal_tokens([0.6, 0.15], nodes=2, max_depth=2)
    array([[1.  , -inf, -inf],
           [1.  , 1.6 , 1.75],
           [1.  , 1.6 , 1.96]])
    """
    checks.integer("max_depth", max_depth)
    levels = _levels(acceptance_vector(acceptance), nodes=checks.integer("nodes", nodes), max_depth=max_depth)
    return np.stack([level.tokens[1:] for level in levels])


def _levels(chances: FloatArray, *, nodes: int, max_depth: int | None) -> list[_Level]:
    """Level d holds the trees of depth up to d; without a limit one level, whose subtrees are its own, is enough."""
    if max_depth is None:
        return [_level(chances, None, size=nodes + 1)]
    alone = np.full(nodes + 2, -np.inf)
    alone[1] = 1.0
    levels = [_Level(alone, np.zeros(nodes + 2, dtype=np.intp), np.zeros((nodes + 2, chances.size + 1), dtype=np.intp))]
    for _ in range(checks.integer("max_depth", max_depth)):
        levels.append(_level(chances, levels[-1].tokens, size=nodes + 1))
    return levels


def _level(chances: FloatArray, below: FloatArray | None, *, size: int) -> _Level:
    value = np.full((size + 1, chances.size + 1), -np.inf)
    value[1, 0] = 1.0
    tokens, before = value.max(axis=1), np.zeros(value.shape, dtype=np.intp)
    subtree = tokens if below is None else below
    for nodes in range(2, size + 1):
        split = value[1:nodes, :-1] + chances * subtree[nodes - 1 : 0 : -1, None]
        before[nodes, 1:] = split.argmax(axis=0) + 1
        value[nodes, 1:] = split.max(axis=0)
        tokens[nodes] = value[nodes].max()
    return _Level(tokens, value.argmax(axis=1), before)


def _tree(levels: list[_Level], *, nodes: int, is_limited: bool) -> Topology:
    counts, queue = [], [(len(levels) - 1, nodes + 1)]
    for depth, size in queue:  # grows while it is read: breadth first
        sizes, left = [], size
        for child in range(levels[depth].children[size], 0, -1):
            first = int(levels[depth].before[left, child])
            sizes.append(left - first)
            left = first
        counts.append(len(sizes))
        queue += [(depth - is_limited, child) for child in reversed(sizes)]
    return Topology.from_child_counts(counts)
