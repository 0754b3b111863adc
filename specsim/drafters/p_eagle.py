"""P-EAGLE: an EAGLE-3 head that drafts all tokens in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.eagle import fused_head
from specsim.drafters.method import DraftMethod, Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class ParallelEagle(DraftMethod):
    """EAGLE-3's fused features, mask tokens, and more layers.

    Parameters
    ----------
    layers : int
        Published heads have 4 (cards of amazon/gpt-oss-20b-p-eagle and its siblings) [1].
    vocabulary : int
        Tokens that it can draft; as in EAGLE-3, which is assumed [1].

    Notes
    -----
    arXiv 2602.01469. The pass takes in the up to gamma + 1 tokens that were committed, and gamma - 1 masks.

    Examples
    --------
    >>> ParallelEagle().pass_tokens([0, 5])
    array([ 0, 10])
    """

    layers: int = 4
    vocabulary: int = 32_000
    name: str = "p_eagle"
    traits: ClassVar[Traits] = Traits(q="marginals", dependence="parallel", runs_on="accelerator", trained=True)

    @classmethod
    def default(cls, target: ModelShape) -> ParallelEagle:
        """Four layers over 32000 tokens, or all where there are fewer."""
        return cls(vocabulary=min(cls().vocabulary, target.vocabulary))

    def model(self, target: ModelShape) -> ModelShape:
        """An EAGLE-3 head of several layers."""
        return fused_head(target, name=self.name, layers=self.layers, vocabulary=self.vocabulary)

    def passes(self, gamma: Count) -> IntArray:
        """One [1]."""
        return np.minimum(self.depths(gamma), 1)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """What was committed, and masks [1]."""
        return np.asarray(2 * self.depths(gamma))
