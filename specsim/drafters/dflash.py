"""DFlash: a block of tokens drafted at once by a small diffusion model on the target's features."""

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
class DFlash(DraftMethod):
    """Layers that attend both ways within a block, to keys and values made of the target's features.

    Parameters
    ----------
    layers : int
        5, of a coding model 8; as many layers of the target are fused by a matrix 5 d to d [1].
    block : int
        Tokens of a block, the last committed one first [1].

    Notes
    -----
    arXiv 2602.06036; one pass, not iterative denoising. Embedding and head are the target's. Keys and values of newly
    committed tokens, a few per cent of the pass, are not charged.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> DFlash().max_gamma, round(DFlash().model(model("Qwen3-8B")).parameters / 1e9, 2)
    (15, 1.05)
    """

    layers: int = 5
    block: int = 16
    name: str = "dflash"
    traits: ClassVar[Traits] = Traits(q="marginals", dependence="parallel", runs_on="accelerator", trained=True)

    def __post_init__(self) -> None:
        checks.integer("layers", self.layers, low=1)
        checks.integer("block", self.block, low=2)

    @classmethod
    def default(cls, target: ModelShape) -> DFlash:
        """Five layers, blocks of 16."""
        return cls()

    @property
    def max_gamma(self) -> int:
        """All of a block but its first token [1]."""
        return self.block - 1

    def model(self, target: ModelShape) -> ModelShape:
        """The layers and the fusing matrix."""
        return block_head(target, name=self.name, layers=self.layers)

    def passes(self, gamma: Count) -> IntArray:
        """One [1]."""
        return np.minimum(self.depths(gamma), 1)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """The last committed token and a mask for each draft [1]."""
        return np.asarray(self.depths(gamma) + 1)


def block_head(target: ModelShape, *, name: str, layers: int) -> ModelShape:
    """Layers on fused features of as many layers of the target."""
    fused = shapes.matrix(target, part="other", outputs=target.hidden, inputs=layers * target.hidden)
    return shapes.head(target, name=name, layers=layers, others=(fused,))
