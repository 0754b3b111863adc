"""Acceptance that falls with depth by the same factor: a b^(k-1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.family import Family
from specsim.checks import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class DecayAcceptance(Acceptance):
    """See `Acceptance.decay`.

    Notes
    -----
    A description, not a derivation: drafters that predict several tokens in one pass lose a share of their acceptance
    with every token that they cannot see. s_k = a^k b^(k(k-1)/2).

    Examples
    --------
    >>> DecayAcceptance(a=0.8, b=0.5).survival(3).round(4)
    array([0.8  , 0.32 , 0.064])
    """

    a: float
    b: float
    source: str = ""

    def __post_init__(self) -> None:
        checks.probability("a", self.a)
        checks.probability("b", self.b)

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"decay {self.a:g} * {self.b:g}^(k-1)"

    def _conditional(self, gamma: int) -> FloatArray:
        return _conditional(np.asarray([self.a, self.b], dtype=np.float64), gamma)


def _conditional(point: FloatArray, gamma: int) -> FloatArray:
    return np.asarray(point[0] * point[1] ** np.arange(gamma))


FAMILY = Family(
    name="decay",
    parameters=("a", "b"),
    conditional=_conditional,
    law=lambda point: DecayAcceptance(a=float(point[0]), b=float(point[1])),
    starts=lambda rough: [(float(rough[0]), b) for b in (0.98, 0.8)],
)
