"""What drafting with some of the target's own layers has in common."""

from __future__ import annotations

from dataclasses import replace

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters.method import DraftMethod
from specsim.roofline import Count

EVERYTHING = ("embedding", "lm_head", "layers")


class OwnLayers(DraftMethod):
    """Passes over a share of the target's layers, and nothing of its own in memory.

    Notes
    -----
    The number of layers is rounded. Drafts write into the target's cache, and verifying writes over it.
    """

    __slots__ = ()

    share: float

    def __post_init__(self) -> None:
        checks.number("share", self.share, low=0, high=1, open_low=True)

    def model(self, target: ModelShape) -> ModelShape:
        """The target, cut down to the layers that draft."""
        return replace(target.first_layers(self.layers(target)), shared=EVERYTHING)

    def layers(self, target: ModelShape) -> int:
        """Layers that draft, one at least [1]."""
        return max(1, round(self.share * target.layers))

    def passes(self, gamma: Count) -> IntArray:
        """One for each draft [1]."""
        return self.depths(gamma)

    def kv_bytes_per_token(self, target: ModelShape) -> float:
        """0: it uses the target's cache [byte]."""
        return 0.0

    def extra_bytes(self, target: ModelShape) -> float:
        """0: it uses the target's weights [byte]."""
        return 0.0
