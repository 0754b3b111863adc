"""DSpark: DFlash's parallel pass, then a Markov head that makes each draft follow from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import shapes
from specsim.drafters.dflash import block_head
from specsim.drafters.method import DraftMethod, Traits
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class DSpark(DraftMethod):
    """Parallel layers, then for each draft a product of rank r that is added to its logits.

    Parameters
    ----------
    layers : int
        As of DFlash [1].
    block : int
        Tokens of a block, each of which drafts one [1].
    rank : int
        r of the Markov head [1].

    Notes
    -----
    arXiv 2607.05147: the logits after x are those of the pass plus W1[x] W2, with W1 of V x r, of which a row is read,
    and W2 of r x V, which is read once for each draft. A confidence head of d + r numbers rates each draft from the one
    before, so that stopping by it is lossless.

    Examples
    --------
    >>> DSpark().pass_tokens([0, 7])
    array([0, 7])
    """

    layers: int = 5
    block: int = 7
    rank: int = 256
    name: str = "dspark"
    traits: ClassVar[Traits] = Traits(
        q="full",
        dependence="autoregressive",
        runs_on="accelerator",
        trained=True,
        note="confidence of draft k must not use draft k",
    )

    def __post_init__(self) -> None:
        for size in ("layers", "block", "rank"):
            checks.integer(size, getattr(self, size), low=1)

    @classmethod
    def default(cls, target: ModelShape) -> DSpark:
        """Five layers, blocks of 7, rank 256."""
        return cls()

    @property
    def max_gamma(self) -> int:
        """A draft for each token of a block [1]."""
        return self.block

    def model(self, target: ModelShape) -> ModelShape:
        """The parallel layers."""
        return block_head(target, name=self.name, layers=self.layers)

    def serial_model(self, target: ModelShape) -> ModelShape:
        """W2 and the confidence head."""
        markov = shapes.matrix(target, part="lm_head", outputs=target.vocabulary, inputs=self.rank)
        confidence = shapes.matrix(target, part="other", outputs=1, inputs=target.hidden + self.rank)
        return shapes.matrices(target, name=f"Markov head {self.name}", others=(markov, confidence))

    def passes(self, gamma: Count) -> IntArray:
        """One [1]."""
        return np.minimum(self.depths(gamma), 1)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """One for each draft: the last committed token drafts the first [1]."""
        return self.depths(gamma)

    def side_bytes(self, target: ModelShape) -> float:
        """W1, W2 and the confidence head [byte]."""
        rows = target.vocabulary * self.rank * target.bytes_per_weight
        return self.serial_model(target).weight_bytes + rows
