"""Hydra: heads that know what was drafted before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import shapes
from specsim.drafters.heads import Heads
from specsim.drafters.method import Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Hydra(Heads):
    """Heads that run one after the other, each on the hidden state and all tokens drafted so far.

    Parameters
    ----------
    heads : int
        K [1].
    nodes : int
        Of the static tree that is verified; 0 is a chain [1].

    Notes
    -----
    Ankner et al. (arXiv 2402.05109); in their repository head k = 1..K has two matrices d x (k + 1) d, one of them for
    the residual, and a head of its own V x d. Passes are charged as that of the average head.

    Examples
    --------
    >>> Hydra().passes([0, 3])
    array([0, 3])
    """

    heads: int = 4
    nodes: int = 0
    name: str = "hydra"
    traits: ClassVar[Traits] = Traits(q="full", dependence="autoregressive", runs_on="accelerator", trained=True)

    @classmethod
    def default(cls, target: ModelShape) -> Hydra:
        """Four heads, a chain."""
        return cls()

    def model(self, target: ModelShape) -> ModelShape:
        """The average head: 2 d x (k + 1) d over k = 1..K is d x (K + 3) d."""
        block = shapes.matrix(target, part="other", outputs=target.hidden, inputs=(self.heads + 3) * target.hidden)
        words = shapes.matrix(target, part="lm_head", outputs=target.vocabulary, inputs=target.hidden)
        return shapes.matrices(target, name=self.name, others=(block, words))

    def passes(self, gamma: Count) -> IntArray:
        """One for each draft [1]."""
        return self.depths(gamma)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """Of a tree an even share of the nodes [1]."""
        return np.full_like(self.depths(gamma), max(1, -(-self.nodes // self.heads)))

    @property
    def copies(self) -> int:
        """One for each draft [1]."""
        return self.heads
