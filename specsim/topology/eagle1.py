"""EAGLE-1's static tree."""

from __future__ import annotations

from specsim.topology.shape import Topology

CHILD_COUNTS = (4, 3, 2, 2, 1, 3, 2, 2, 1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2)
"""Children of the root and of every node, breadth first."""


def eagle1() -> Topology:
    """25 nodes of depth up to 5, the same in every round.

    Notes
    -----
    Li et al. (arXiv 2401.15077); the shape is `mc_sim_7b_63` of `eagle/model/choices.py` in their repository.

    Examples
    --------
    >>> eagle1().nodes, eagle1().depth
    (25, 5)
    """
    return Topology.from_child_counts(CHILD_COUNTS)
