"""EAGLE-3: features of three depths fused, and trained on its own states."""

from __future__ import annotations

from torch import Tensor

from validation.heads.head import Setup
from validation.heads.parts import Join, spread
from validation.heads.recurrent import Recurrent

DEPTHS = 3  # hidden states that are fused


class Eagle3(Recurrent):
    """A low, a middle and a high hidden state are fused to one; the head's own states are free to differ from features.

    Notes
    -----
    Differs from the published heads in that each hidden state is normed before they are fused, in that state and token
    are projected to width d before the layer, where they run attention over both side by side, and in that the output
    matrix is the target's, restricted to the draft vocabulary, where they train one of their own.

    References
    ----------
    .. [1] Li, Wei, Zhang, Zhang. EAGLE-3: Scaling up Inference Acceleration via Training-Time Test. 2503.01840.
    """

    name = "eagle3"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.fusion = Join(setup.sizes, parts=DEPTHS)

    @classmethod
    def feature_layers(cls, layers: int) -> tuple[int, ...]:
        """A low, a middle and a high one."""
        return spread(layers, count=DEPTHS)

    def fuse(self, features: Tensor) -> Tensor:
        """See `Recurrent.fuse`."""
        return self.fusion(*features.chunk(DEPTHS, dim=-1))
