"""Multi-token prediction by parallel heads: a layer for each token ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import shapes
from specsim.drafters.method import DraftMethod, Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Gloeckle(DraftMethod):
    """Decoder layers side by side on the target's trunk, one for each token after the next.

    Parameters
    ----------
    heads : int
        Beside the one for the next token, which is the target's own; 3 in a model of 4 tokens [1].

    Notes
    -----
    Gloeckle et al. (arXiv 2404.19737). They share the target's head, which is charged once; their caches take in what
    was committed, gamma + 1 tokens at most, which is charged.

    Examples
    --------
    >>> Gloeckle().passes([0, 1, 3])
    array([0, 1, 1])
    """

    heads: int = 3
    name: str = "gloeckle"
    traits: ClassVar[Traits] = Traits(
        q="marginals",
        dependence="parallel",
        runs_on="target_pass",
        trained=True,
        note="the heads come with the target, which is trained with them",
    )

    def __post_init__(self) -> None:
        checks.integer("heads", self.heads, low=1)

    @classmethod
    def default(cls, target: ModelShape) -> Gloeckle:
        """Three heads: 4 tokens with the next one."""
        return cls()

    @property
    def max_gamma(self) -> int:
        """One draft a head [1]."""
        return self.heads

    def model(self, target: ModelShape) -> ModelShape:
        """All heads' layers."""
        return shapes.head(target, name=self.name, layers=self.heads)

    def passes(self, gamma: Count) -> IntArray:
        """One: the layers stand side by side [1]."""
        return np.minimum(self.depths(gamma), 1)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """What was committed, padded to the longest [1]."""
        return np.asarray(self.depths(gamma) + 1)
