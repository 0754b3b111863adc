"""Matrix: one kind of weight matrix that a forward pass multiplies with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specsim import checks

PARTS = ("attention", "mlp", "router", "shared_experts", "experts", "lm_head", "other")
SPLITS = ("outputs", "inputs", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """Weight matrices of one size, as engines fuse them: queries, keys and values are one, gate and up are one.

    Parameters
    ----------
    part : str
        Component it belongs to, one of `PARTS`.
    outputs, inputs : int
        n and k of the multiplication [1].
    count : int
        How many of it one pass multiplies with, as a rule one per layer [1].
    bytes_per_weight : float
        Scales of quantisation included [byte].
    split : str
        Side that tensor parallelism cuts: "outputs", "inputs" or "none".

    Raises
    ------
    InputError
        An unknown part or split, a size below 1, a width that is not positive.

    Examples
    --------
    >>> down = Matrix(part="mlp", outputs=4096, inputs=14336, count=32, bytes_per_weight=2.0, split="inputs")
    >>> down.parameters, down.bytes
    (1879048192, 3758096384.0)
    """

    part: str
    outputs: int
    inputs: int
    count: int
    bytes_per_weight: float
    split: str

    def __post_init__(self) -> None:
        checks.one_of("part", self.part, PARTS)
        checks.one_of("split", self.split, SPLITS)
        for size in ("outputs", "inputs", "count"):
            checks.integer(size, getattr(self, size), low=1)
        checks.positive("bytes_per_weight", self.bytes_per_weight)

    @property
    def parameters(self) -> int:
        """Weights of all copies [1]."""
        return self.outputs * self.inputs * self.count

    @property
    def bytes(self) -> float:
        """Bytes of all copies [byte]."""
        return self.parameters * self.bytes_per_weight

    def sharded(self, tensor_parallel: int) -> Matrix:
        """The largest part that one of `tensor_parallel` devices multiplies with; the split side is rounded up.

        Examples
        --------
        >>> down = Matrix(part="mlp", outputs=4096, inputs=14336, count=32, bytes_per_weight=2.0, split="inputs")
        >>> down.sharded(8).inputs
        1792
        """
        devices = checks.integer("tensor_parallel", tensor_parallel, low=1)
        if self.split == "outputs":
            return replace(self, outputs=-(-self.outputs // devices))
        if self.split == "inputs":
            return replace(self, inputs=-(-self.inputs // devices))
        return self
