"""A chain: each drafted token has one successor."""

from __future__ import annotations

from specsim import checks
from specsim.topology.shape import Topology


def chain(gamma: int) -> Topology:
    """`gamma` drafts one after the other.

    Examples
    --------
    >>> chain(3).parents
    (-1, 0, 1)
    """
    return Topology(parents=tuple(range(-1, checks.integer("gamma", gamma) - 1)))
