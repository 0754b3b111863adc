"""PARD: a small model that was taught to draft all tokens in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.independent import smallest_relative
from specsim.drafters.method import DraftMethod, Traits, same_vocabulary
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Pard(DraftMethod):
    """A smaller model that reads mask tokens in the place of drafts.

    Notes
    -----
    An et al. (arXiv 2504.18583). The pass takes in the up to gamma + 1 tokens that were committed, for masks have left
    nothing of use in its cache, and gamma - 1 masks: 2 gamma tokens.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> Pard.default(model("Qwen3-8B")).pass_tokens([1, 8])
    array([ 2, 16])
    """

    draft: ModelShape
    name: str = "pard"
    traits: ClassVar[Traits] = Traits(
        q="marginals", dependence="parallel", runs_on="accelerator", trained=True, note="trained once for a family"
    )

    @classmethod
    def default(cls, target: ModelShape) -> Pard:
        """The smallest model of the catalogue with as large a vocabulary."""
        return cls(draft=smallest_relative(target))

    def model(self, target: ModelShape) -> ModelShape:
        """The draft model; a vocabulary of another size is refused."""
        return same_vocabulary(target, self.draft)

    def passes(self, gamma: Count) -> IntArray:
        """One [1]."""
        return np.minimum(self.depths(gamma), 1)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """What was committed, and masks [1]."""
        return np.asarray(2 * self.depths(gamma))
