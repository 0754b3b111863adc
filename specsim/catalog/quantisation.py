"""WeightFormat: how the weights of a model are stored, scales included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specsim import checks
from specsim.catalog.matrix import PARTS

# What quantisers convert unless a config says otherwise: linear layers, but neither router, head, embedding nor norms.
CONVERTED = ("attention", "mlp", "shared_experts", "experts")
TENSOR, CHANNEL = 0, -1


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightFormat:
    """A format of fewer bits for some of the parts; all other parts keep the model's `bytes_per_weight`.

    Parameters
    ----------
    name : str
        For readers: "fp8", "mxfp4", "int4" ...
    bits : float
        Of one weight, without scales [bit].
    group_size : int
        Weights that share a scale; 0 is one scale per matrix (free), -1 one per output, that is per `inputs` weights.
    scale_bits : float
        Scale of one group, with a zero point where there is one [bit].
    parts : tuple of str
        Parts that are stored so.

    Raises
    ------
    InputError
        Bits that are not positive, a group below -1, an unknown part.

    Examples
    --------
    >>> WeightFormat(name="mxfp4", bits=4, group_size=32, scale_bits=8).bits_per_weight(inputs=2880)
    4.25
    """

    name: str
    bits: float
    group_size: int = TENSOR
    scale_bits: float = 16.0
    parts: tuple[str, ...] = CONVERTED

    def __post_init__(self) -> None:
        checks.number("bits", self.bits, low=0, high=32, open_low=True)
        checks.integer("group_size", self.group_size, low=CHANNEL)
        checks.non_negative("scale_bits", self.scale_bits)
        for part in self.parts:
            checks.one_of("part", part, PARTS)

    def bits_per_weight(self, *, inputs: int) -> float:
        """Bits of one weight and its share of the scales, in a matrix with that many inputs [bit]."""
        group = inputs if self.group_size == CHANNEL else self.group_size
        return self.bits + (self.scale_bits / group if group else 0.0)

    def without(self, parts: Iterable[str]) -> tuple[str, ...]:
        """The converted parts that remain when some are left alone."""
        left_alone = set(parts)
        return tuple(part for part in self.parts if part not in left_alone)


def kv_bytes(kv_dtype: str, *, bytes_per_weight: float) -> float:
    """Bytes of one cached number; "auto" is the model's own width.

    Examples
    --------
    >>> kv_bytes("fp8", bytes_per_weight=2.0)
    1.0
    """
    widths = {"auto": bytes_per_weight, "bfloat16": 2.0, "float16": 2.0, "float32": 4.0, "fp8": 1.0}
    return widths[checks.one_of("kv_dtype", kv_dtype, widths)]
