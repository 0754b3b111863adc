"""Acceptance that differs from round to round: a Beta mixture of capped geometrics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.family import Family
from specsim.checks import FloatArray

EDGE = 1e-9
"""How near to its ends a fitted mean or spread may come, so that both Beta parameters stay positive and finite [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BetaAcceptance(Acceptance):
    """See `Acceptance.beta`.

    Notes
    -----
    Exact: s_k = E[alpha^k] = prod_{j<k} (a + j) / (a + b + j), so alpha_k = (a + k - 1) / (a + b + k - 1) rises with
    k by survivorship alone. By Jensen s_k is at least (E alpha)^k: rounds that differ commit more tokens than their
    mean acceptance suggests.

    Examples
    --------
    >>> BetaAcceptance(a=1, b=1).survival(2).round(3)
    array([0.5  , 0.333])
    """

    a: float
    b: float
    source: str = ""

    def __post_init__(self) -> None:
        checks.positive("a", self.a)
        checks.positive("b", self.b)

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"Beta({self.a:g}, {self.b:g}) by round"

    def _conditional(self, gamma: int) -> FloatArray:
        depth = np.arange(gamma)
        return np.asarray((self.a + depth) / (self.a + self.b + depth))


def _conditional(point: FloatArray, gamma: int) -> FloatArray:
    apart = 1 - min(float(point[1]), 1 - EDGE)  # over the spread this is a + b
    more = np.arange(gamma) * point[1]
    return np.asarray((point[0] * apart + more) / (apart + more))


def _law(point: FloatArray) -> BetaAcceptance:
    mean, spread = (float(value) for value in np.clip(point, EDGE, 1 - EDGE))
    total = 1 / spread - 1  # spread is 1 / (a + b + 1), the correlation of two drafts of a round
    return BetaAcceptance(a=mean * total, b=(1 - mean) * total)


SPREADS = (0.0, 0.02, 0.2)  # to set out from; 0, a constant acceptance, is a corner that no climb reaches

FAMILY = Family(
    name="beta",
    parameters=("mean", "spread"),
    conditional=_conditional,
    law=_law,
    starts=lambda rough: [(float(rough[0]), spread) for spread in SPREADS],
)
