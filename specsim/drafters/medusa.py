"""Medusa: independent heads, one for each token ahead."""

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
class Medusa(Heads):
    """Heads that each guess one token further ahead, none knowing what the others guessed.

    Parameters
    ----------
    heads : int
        K [1].
    nodes : int
        Of the static tree that is verified; their own have 63, 0 is a chain [1].

    Notes
    -----
    Cai et al. (arXiv 2401.10774). A head is a residual block d x d and a head of its own V x d: K (d^2 + d V)
    parameters. All heads are charged, however few of them a smaller gamma uses.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> round(Medusa().extra_bytes(model("Llama-3.1-8B")) / 1e9, 2)
    5.42
    """

    heads: int = 5
    nodes: int = 0
    name: str = "medusa"
    traits: ClassVar[Traits] = Traits(
        q="marginals",
        dependence="parallel",
        runs_on="target_pass",
        trained=True,
        note="Medusa-2 tunes the target itself, and typical acceptance is lossy; Medusa-1 with rejection is lossless",
    )

    @classmethod
    def default(cls, target: ModelShape) -> Medusa:
        """Five heads, a chain."""
        return cls()

    def model(self, target: ModelShape) -> ModelShape:
        """All heads."""
        block = shapes.matrix(target, part="other", outputs=target.hidden, inputs=target.hidden, count=self.heads)
        words = shapes.matrix(target, part="lm_head", outputs=target.vocabulary, inputs=target.hidden, count=self.heads)
        return shapes.matrices(target, name=self.name, others=(block, words))

    def passes(self, gamma: Count) -> IntArray:
        """One, at the end of the target's [1]."""
        return np.minimum(self.depths(gamma), 1)
