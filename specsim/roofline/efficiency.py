"""Efficiency: what is reached of a datasheet's peaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from specsim import checks
from specsim.catalog import Hardware
from specsim.errors import InputError

# Fraction of peak bandwidth, fraction of peak FLOP/s, seconds per pass: round figures, not measurements.
ASSUMED = {
    "Ampere": (0.80, 0.70, 100e-6),
    "Ada": (0.80, 0.70, 100e-6),
    "Hopper": (0.80, 0.65, 100e-6),
    "Blackwell": (0.75, 0.60, 100e-6),
    "CDNA 3": (0.65, 0.45, 150e-6),
}
ASSUMED_KNEE = 4.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Efficiency:
    """What is reached of the datasheet: a fit or an assumption, never a fact.

    Parameters
    ----------
    bandwidth_fraction, flop_fraction : float
        Of the peaks, in (0, 2]; above 1 means that the datasheet or the model's bytes are off [1].
    overhead_seconds : float
        Launches and whatever else a pass pays regardless of its size [s].
    knee : float
        Exponent of the p-norm that joins memory and compute time, at least 1; infinity is the hard maximum [1].
    source : str
        "assumed ...", "ideal ..." or what the values were fitted to.
    intervals : Mapping[str, tuple[float, float]], optional
        Ends of an interval by field name.

    Raises
    ------
    InputError
        A value outside its range, or no source.

    Examples
    --------
    >>> Efficiency.ideal().knee
    inf
    """

    bandwidth_fraction: float
    flop_fraction: float
    overhead_seconds: float
    knee: float
    source: str
    intervals: Mapping[str, tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        checks.number("bandwidth_fraction", self.bandwidth_fraction, low=0, high=2, open_low=True)
        checks.number("flop_fraction", self.flop_fraction, low=0, high=2, open_low=True)
        checks.non_negative("overhead_seconds", self.overhead_seconds)
        if self.knee != math.inf:
            checks.number("knee", self.knee, low=1)
        if not self.source:
            raise InputError("efficiency must have a source")

    @classmethod
    def ideal(cls) -> Efficiency:
        """The datasheet's peaks, a hard knee and no overhead: a bound that no pass beats."""
        return cls(
            bandwidth_fraction=1.0, flop_fraction=1.0, overhead_seconds=0.0, knee=math.inf, source="ideal: no losses"
        )

    @classmethod
    def assumed(cls, hardware: Hardware) -> Efficiency:
        """Round figures for a GPU generation, for use until passes were measured; the source says "assumed".

        Raises
        ------
        InputError
            A generation without assumed figures; the message lists those that have some.

        Examples
        --------
        >>> from specsim.catalog import hardware
        >>> Efficiency.assumed(hardware("H100-SXM")).source
        'assumed for Hopper: round figures, not measured'
        """
        generation = checks.one_of("generation", hardware.generation, ASSUMED)
        bandwidth, flop, overhead = ASSUMED[generation]
        return cls(
            bandwidth_fraction=bandwidth,
            flop_fraction=flop,
            overhead_seconds=overhead,
            knee=ASSUMED_KNEE,
            source=f"assumed for {generation}: round figures, not measured",
        )
