"""One acceptance a depth, and what holds beyond the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.family import Family
from specsim.checks import FloatArray
from specsim.errors import InputError

BEYOND = ("raise", "hold")


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthAcceptance(Acceptance):
    """See `Acceptance.by_depth`.

    Examples
    --------
    >>> DepthAcceptance(alphas=(0.8, 0.5), beyond="hold").conditional(3)
    array([0.8, 0.5, 0.5])
    """

    alphas: tuple[float, ...]
    beyond: str = "raise"
    source: str = ""

    def __post_init__(self) -> None:
        checks.probabilities("alphas", self.alphas, ndim=1)
        check_beyond(self.beyond, depths=len(self.alphas))

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"by depth, {len(self.alphas)} known"

    def _conditional(self, gamma: int) -> FloatArray:
        return extended(np.asarray(self.alphas, dtype=np.float64), gamma=gamma, beyond=self.beyond)


def family(edges: Sequence[int]) -> Family:
    """One acceptance for each run of depths that ends at an edge; the last is held beyond.

    Examples
    --------
    >>> family((1, 3)).law(np.array([0.9, 0.5])).conditional(4)
    array([0.9, 0.5, 0.5, 0.5])
    """
    ends = np.asarray(edges)
    lengths = np.diff(ends, prepend=0)

    def conditional(point: FloatArray, gamma: int) -> FloatArray:
        return extended(np.repeat(point, lengths), gamma=gamma, beyond="hold")

    return Family(
        name="by_depth",
        parameters=tuple(f"alpha_{end}" for end in edges),
        conditional=conditional,
        law=lambda point: Acceptance.by_depth(np.repeat(point, lengths), beyond="hold"),
        starts=lambda rough: [tuple(rough[np.minimum(ends, rough.size) - 1].tolist())],
    )


def check_beyond(beyond: str, *, depths: int) -> None:
    """A known rule, and something to hold where the rule is to hold it."""
    if checks.one_of("beyond", beyond, BEYOND) == "hold" and depths == 0:
        raise InputError("beyond 'hold' must have one depth at least to hold, got none")


def extended(known: FloatArray, *, gamma: int, beyond: str) -> FloatArray:
    """The first `gamma` of what is known, the last of them held where the rule says so."""
    if gamma <= known.size:
        return known[:gamma]
    if beyond == "raise":
        raise InputError(f"gamma must be in 0..{known.size}, the depths that are known, got {gamma}")
    return np.concatenate((known, np.full(gamma - known.size, known[-1])))
