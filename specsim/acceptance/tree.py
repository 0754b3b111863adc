"""Acceptance of a tree: how deep the accepted path goes when the child of each rank has its own chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.checks import FloatArray
from specsim.topology import acceptance_vector, positional_chances, sequoia, standing


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeAcceptance(Acceptance):
    """See `Acceptance.tree`.

    Notes
    -----
    The tree is the best of `nodes` nodes that is at most gamma levels deep, Chen et al. (arXiv 2402.12374). P(accepted
    >= k) is the sum over its nodes of depth k of the product of chances along their paths: siblings exclude each other.
    Fewer nodes where ranks and depth leave no room for all.

    Examples
    --------
    >>> TreeAcceptance(ranks=(0.7,), nodes=3).survival(3).round(3)
    array([0.7  , 0.49 , 0.343])
    >>> TreeAcceptance(ranks=(0.6, 0.2), nodes=4).survival(2).round(3)
    array([0.8 , 0.48])
    """

    ranks: tuple[float, ...]
    nodes: int
    source: str = ""

    def __post_init__(self) -> None:
        acceptance_vector(self.ranks)
        checks.integer("nodes", self.nodes, low=1)

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"tree of {self.nodes} nodes, first rank {self.ranks[0]:g}"

    def _conditional(self, gamma: int) -> FloatArray:
        if not gamma:
            return np.zeros(0)
        survival = _survival(self.ranks, nodes=self.nodes, depth=gamma)
        before = np.concatenate([[1.0], survival[:-1]])
        chances = np.divide(survival, before, out=np.zeros(gamma), where=before > 0)
        return np.asarray(chances.clip(0.0, 1.0))


def _survival(ranks: tuple[float, ...], *, nodes: int, depth: int) -> FloatArray:
    """P(accepted >= k) in the best tree, k = 1..depth, shape (depth,) [1]."""
    chances = np.asarray(ranks)
    if (np.diff(chances) > 0).any():
        return _survival_by_search(chances, nodes=nodes, depth=depth)
    # Chances that never rise with rank make every path worth no more than the paths that it needs, so the nodes of
    # largest worth are a tree. Ties go to the shallower: levels stand in order, and the sort is stable.
    level, levels = np.ones(1), []
    for _ in range(depth):
        level = np.sort(np.outer(level, chances).ravel())[: -nodes - 1 : -1]
        levels.append(level)
    worth = np.concatenate(levels)
    at = np.repeat(np.arange(depth), [len(level) for level in levels])
    best = np.argsort(-worth, kind="stable")[:nodes]
    return np.asarray(np.bincount(at[best], weights=worth[best], minlength=depth))


def _survival_by_search(chances: FloatArray, *, nodes: int, depth: int) -> FloatArray:
    most = sum(len(chances) ** level for level in range(1, depth + 1))
    tree = sequoia(chances, nodes=min(nodes, most), max_depth=depth)
    reached = standing(tree, positional_chances(tree, acceptance=chances))
    return np.asarray(np.bincount(np.asarray(tree.depths), weights=reached, minlength=depth + 1)[1:])
