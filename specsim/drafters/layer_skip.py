"""LayerSkip: the target drafts with its first layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim.catalog import ModelShape
from specsim.drafters.method import Traits
from specsim.drafters.own_layers import OwnLayers


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSkip(OwnLayers):
    """LayerSkip: draft with an early exit, verify with the layers behind it.

    Notes
    -----
    Elhoushi et al. (arXiv 2404.16710). Verifying starts from what the exit's layers have computed, so it takes
    (L - E) / L of a pass, and the first E layers for the last draft, which has not been through them. At small batches
    that saves next to nothing, since their weights are read all the same. The target itself is trained for early exits.
    A quarter is the exit at layer 8 of 32 that their repository runs with.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> LayerSkip().verify_share(model("Llama-3.1-8B"))
    0.75
    """

    share: float = 0.25
    name: str = "layer_skip"
    traits: ClassVar[Traits] = Traits(
        q="full",
        dependence="autoregressive",
        runs_on="accelerator",
        trained=True,
        note="lossless against the target as trained for early exits, not as it was before",
    )

    @classmethod
    def default(cls, target: ModelShape) -> LayerSkip:
        """An exit after a quarter of the layers."""
        return cls()

    def verify_share(self, target: ModelShape) -> float:
        """Layers behind the exit [1]."""
        return 1 - self.layers(target) / target.layers
