"""Hardware: what a vendor's datasheet says about one accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specsim import checks
from specsim.catalog import rows
from specsim.errors import InputError


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
        Dense peak by number format: bfloat16, float16, float8, int8, float4 [FLOP/s].
    source : str
        Where the figures are published.
    generation : str
        Architecture; the assumed efficiency goes by it.
    vendor, note : str
        For readers.
    watts : float
        Maximum board power; 0 when unknown [W].

    Raises
    ------
    InputError
        A figure that is not positive, no number format, or no source.

    Examples
    --------
    >>> hardware("H100-SXM").peak("bfloat16")
    989000000000000.0
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

    def __post_init__(self) -> None:
        checks.positive("memory_bytes", self.memory_bytes)
        checks.positive("bandwidth_bytes_per_second", self.bandwidth_bytes_per_second)
        checks.non_negative("watts", self.watts)
        for dtype, peak in self.flop_per_second.items():
            checks.positive(f"flop_per_second[{dtype}]", peak)
        if not self.flop_per_second or not self.source:
            raise InputError(f"hardware {self.name!r} must have a flop_per_second and a source")

    def peak(self, dtype: str) -> float:
        """Dense peak for one number format [FLOP/s]; an unknown format lists the known ones."""
        return self.flop_per_second[checks.one_of("dtype", dtype, self.flop_per_second)]


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
    """Names of all GPUs of the catalogue.

    Examples
    --------
    >>> hardware_names()
    ['A100-SXM-80GB', 'H100-SXM', 'H200-SXM', 'B200-SXM', 'L40S', 'MI300X']
    """
    return list(rows.table("hardware.toml"))
