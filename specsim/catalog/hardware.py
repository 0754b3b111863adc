"""Hardware: what a vendor's datasheet says about one accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specsim import checks
from specsim.catalog import rows
from specsim.errors import InputError

DTYPES = ("bfloat16", "float16", "float8", "int8", "float4")
CONFIDENCES = ("high", "medium", "low")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    """Datasheet facts of one accelerator; what is reached of them is an `Efficiency`.

    Parameters
    ----------
    name : str
        Part, with its form factor where that matters.
    memory_bytes : float
        Device memory [byte].
    bandwidth_bytes_per_second : float
        Peak memory bandwidth [byte/s].
    flop_per_second : Mapping[str, float]
        Dense peak by number format: bfloat16, float16, float8, int8, float4; one of the 16-bit ones at least [FLOP/s].
    source : str
        Where the figures are published.
    generation : str
        Architecture; the assumed efficiency goes by it.
    vendor, note : str
        For readers.
    watts : float
        Maximum board power; 0 when unknown [W].
    link_bytes_per_second : float
        Peak of ONE direction, from one device to the others of its node, all its links together; vendors print the sum
        of both directions. 0 when there is no link [byte/s].
    l2_bytes : float
        Last cache on the compute die; 0 when unknown [byte].
    devices_per_node : int
        Devices that the link joins in the usual server: 1 without a link, 72 in a rack that is one node [1].
    price_per_hour : float, optional
        What one device costs, in the user's currency; the catalogue knows none [1/h].
    confidence : str
        "high", "medium" or "low": how well the sources support the figures.

    Raises
    ------
    InputError
        A figure outside its range, an unknown number format, no 16-bit format, several devices without a link, or no
        source.

    Examples
    --------
    >>> hardware("H100-SXM").peak("bfloat16")
    989000000000000.0
    >>> from dataclasses import replace
    >>> replace(hardware("H100-SXM"), price_per_hour=2.5).price_per_hour
    2.5
    """

    name: str
    memory_bytes: float
    bandwidth_bytes_per_second: float
    flop_per_second: Mapping[str, float]
    source: str
    generation: str = ""
    vendor: str = ""
    watts: float = 0.0
    note: str = ""
    link_bytes_per_second: float = 0.0
    l2_bytes: float = 0.0
    devices_per_node: int = 1
    price_per_hour: float | None = None
    confidence: str = "medium"

    def __post_init__(self) -> None:
        checks.positive("memory_bytes", self.memory_bytes)
        checks.positive("bandwidth_bytes_per_second", self.bandwidth_bytes_per_second)
        for name in ("watts", "link_bytes_per_second", "l2_bytes"):
            checks.non_negative(name, getattr(self, name))
        if self.price_per_hour is not None:
            checks.non_negative("price_per_hour", self.price_per_hour)
        checks.one_of("confidence", self.confidence, CONFIDENCES)
        for dtype, peak in self.flop_per_second.items():
            checks.positive(f"flop_per_second[{checks.one_of('number format', dtype, DTYPES)}]", peak)
        if not {"bfloat16", "float16"} & set(self.flop_per_second):
            raise InputError(f"flop_per_second must hold bfloat16 or float16, got {sorted(self.flop_per_second)}")
        devices = checks.integer("devices_per_node", self.devices_per_node, low=1)
        if devices > 1 and not self.link_bytes_per_second:
            raise InputError(f"devices_per_node must be 1 without a link_bytes_per_second, got {devices}")
        if not self.source:
            raise InputError(f"hardware {self.name!r} must have a source")

    @property
    def best_dtype(self) -> str:
        """The format that 16-bit weights are multiplied in: bfloat16, or float16 on parts without it.

        Examples
        --------
        >>> hardware("H100-SXM").best_dtype, hardware("T4").best_dtype
        ('bfloat16', 'float16')
        """
        return "bfloat16" if "bfloat16" in self.flop_per_second else "float16"

    def peak(self, dtype: str) -> float:
        """Dense peak for one number format [FLOP/s].

        Raises
        ------
        InputError
            A format that this part has no peak for; the message lists those it has.
        """
        if dtype not in self.flop_per_second:
            raise InputError(f"{self.name} has no peak for dtype {dtype!r}; it has: {', '.join(self.flop_per_second)}")
        return self.flop_per_second[dtype]


def hardware(name: str) -> Hardware:
    """A GPU of the catalogue.

    Raises
    ------
    InputError
        An unknown name; the message lists the known ones.

    Examples
    --------
    >>> hardware("H200-SXM").memory_bytes
    141000000000.0
    """
    return Hardware(**rows.row("hardware.toml", name, kind="hardware"))


def hardware_names() -> list[str]:
    """Names of all accelerators of the catalogue.

    Examples
    --------
    >>> hardware_names()[:2], len(hardware_names())
    (['V100-SXM2-32GB', 'T4'], 32)
    """
    return list(rows.table("hardware.toml"))
