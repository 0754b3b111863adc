"""The same acceptance at every depth: accepted lengths are capped geometric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.family import Family
from specsim.checks import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstantAcceptance(Acceptance):
    """See `Acceptance.constant`.

    Notes
    -----
    P(accepted = k) = (1 - alpha) alpha^k below gamma. Section 3 of Leviathan et al. (arXiv 2211.17192) assumes it; it
    is the least that a mean acceptance can give, since contexts that differ only add to E_tokens (Jensen).

    Examples
    --------
    >>> ConstantAcceptance(alpha=0.7).conditional(2)
    array([0.7, 0.7])
    """

    alpha: float
    source: str = ""

    def __post_init__(self) -> None:
        checks.probability("alpha", self.alpha)

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"constant {self.alpha:g}"

    def _conditional(self, gamma: int) -> FloatArray:
        return np.full(gamma, float(self.alpha))


FAMILY = Family(
    name="constant",
    parameters=("alpha",),
    conditional=lambda point, gamma: np.full(gamma, point[0]),
    law=lambda point: ConstantAcceptance(alpha=float(point[0])),
    starts=lambda rough: [(float(rough.mean()),)],
)
