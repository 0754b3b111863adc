"""Efficiency: what is reached of a datasheet's peaks, and what a pass pays besides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from specsim import checks
from specsim.catalog import Hardware
from specsim.errors import InputError
from specsim.roofline.fitted import fitted_names, kernel_laws
from specsim.roofline.laws import KernelLaws

# Fraction of peak bandwidth, fraction of peak FLOP/s, seconds per pass: round figures, not measurements.
ASSUMED = {
    "Volta": (0.80, 0.60, 150e-6),
    "Turing": (0.80, 0.50, 150e-6),
    "Ampere": (0.80, 0.70, 100e-6),
    "Ada": (0.80, 0.70, 100e-6),
    "Hopper": (0.80, 0.65, 100e-6),
    "Blackwell": (0.75, 0.60, 100e-6),
    "Blackwell Ultra": (0.75, 0.60, 100e-6),
    "CDNA 2": (0.65, 0.40, 150e-6),
    "CDNA 3": (0.65, 0.45, 150e-6),
    "CDNA 4": (0.65, 0.45, 150e-6),
    "TPU": (0.75, 0.55, 100e-6),
    "Gaudi": (0.70, 0.55, 150e-6),
    "Xe2": (0.65, 0.45, 200e-6),
    "Apple M": (0.75, 0.60, 200e-6),
}
ASSUMED_KNEE = 4.0
ASSUMED_ACTIVATION_VECTORS = 10.0
ASSUMED_ALL_REDUCE_SECONDS = 8e-6
ASSUMED_LINK_FRACTION = 0.7
SMALL_KERNELS_PER_LAYER = 4
"""Norms, rotary embedding with the cache's write, activation: as engines fuse them. Assumed, not measured."""
HOST_SECONDS = 200e-6
"""Of a pass: scheduling, sampling and launch of its graph, as far as they do not overlap. Assumed, not measured."""
GRAPH_SIZES = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))
"""Tokens in flight for which vLLM captures CUDA graphs by default; others are padded to the next."""
ASSUMED_KERNEL_ERROR, ASSUMED_OVERHEAD_ERROR = 0.2, 0.5
"""Of round figures; a fit states its own for kernels."""
AMOUNTS = (
    "overhead_seconds",
    "layer_seconds",
    "activation_vectors",
    "expert_skew",
    "all_reduce_seconds",
    "kernel_error",
    "overhead_error",
)
RELATIVES = {"Hopper": "H100-SXM", "Ampere": "A100-SXM-80GB", "Ada": "L40S", "Blackwell": "B200-SXM"}
"""By generation, the fitted part that stands in for one without measured kernels."""


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
    layer_seconds : float
        Norms and other small kernels of one layer, regardless of its size [s].
    activation_vectors : float
        Vectors of the hidden size that small kernels move through memory for each token and layer [1].
    kv_reread : float
        0: attention reads a sequence's cache once for all tokens it scores; 1: once for each. Both have been measured:
        kernels for verification share the read, kernels made for one query row do not [1].
    expert_skew : float
        Zipf exponent of the experts' popularity; 0 is balanced routing [1].
    graph_sizes : tuple of int
        Tokens in flight for which the engine captured graphs: a pass pays for the next larger; empty: no padding [1].
    all_reduce_seconds, link_fraction : float
        Latency of one all-reduce, and fraction of the link's bandwidth that it reaches [s], [1].
    kernels : KernelLaws, optional
        Laws fitted to measured kernels, which then replace the two fractions and the knee.
    kernel_error, overhead_error : float
        How far off seconds of kernels, and all that is paid regardless of size, are expected to be: one standard
        deviation of their logarithm. What a prediction's interval is made of [1].

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
    layer_seconds: float = 0.0
    activation_vectors: float = 0.0
    kv_reread: float = 0.0
    expert_skew: float = 0.0
    graph_sizes: tuple[int, ...] = ()
    all_reduce_seconds: float = 0.0
    link_fraction: float = 1.0
    kernels: KernelLaws | None = None
    kernel_error: float = 0.0
    overhead_error: float = 0.0

    def __post_init__(self) -> None:
        for fraction in ("bandwidth_fraction", "flop_fraction", "link_fraction"):
            checks.number(fraction, getattr(self, fraction), low=0, high=2, open_low=True)
        for amount in AMOUNTS:
            checks.non_negative(amount, getattr(self, amount))
        checks.probability("kv_reread", self.kv_reread)
        if self.knee != math.inf:
            checks.number("knee", self.knee, low=1)
        if list(self.graph_sizes) != sorted(set(self.graph_sizes)) or any(size < 1 for size in self.graph_sizes):
            raise InputError(f"graph_sizes must rise from at least 1, got {self.graph_sizes}")
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
            activation_vectors=ASSUMED_ACTIVATION_VECTORS,
            all_reduce_seconds=ASSUMED_ALL_REDUCE_SECONDS,
            link_fraction=ASSUMED_LINK_FRACTION,
            kernel_error=ASSUMED_KERNEL_ERROR,
            overhead_error=ASSUMED_OVERHEAD_ERROR,
            source=f"assumed for {generation}: round figures, not measured",
        )

    @classmethod
    def fitted(cls, name: str, *, engine: str = "vllm") -> Efficiency:
        """Laws fitted to measured kernels of one part and engine; what no kernel table holds is assumed and said so.

        Raises
        ------
        InputError
            A part or an engine without fitted laws; the message lists those with.

        Examples
        --------
        >>> reached = Efficiency.fitted("H100-SXM")
        >>> 0.8 < reached.bandwidth_fraction < 0.95, reached.kernels is not None
        (True, True)
        """
        laws = kernel_laws(name, engine=engine).cold()
        gemm = laws.gemm["bfloat16"]
        return cls(
            bandwidth_fraction=gemm.bandwidth_fraction,
            flop_fraction=gemm.flop_fraction,
            overhead_seconds=HOST_SECONDS,
            knee=gemm.knee,
            source=f"{laws.source}; host and small kernels assumed",
            intervals=laws.intervals,
            layer_seconds=SMALL_KERNELS_PER_LAYER * gemm.launch_seconds,
            activation_vectors=ASSUMED_ACTIVATION_VECTORS,
            graph_sizes=GRAPH_SIZES,
            all_reduce_seconds=ASSUMED_ALL_REDUCE_SECONDS,
            link_fraction=ASSUMED_LINK_FRACTION,
            kernels=laws,
            kernel_error=laws.held_out.get("step", ASSUMED_KERNEL_ERROR),
            overhead_error=ASSUMED_OVERHEAD_ERROR,
        )

    @classmethod
    def default(cls, hardware: Hardware) -> Efficiency:
        """The best that is known of a part: its own fit, else that of its generation, else round figures.

        Examples
        --------
        >>> from specsim.catalog import hardware
        >>> Efficiency.default(hardware("MI300X")).source
        'assumed for CDNA 3: round figures, not measured'
        """
        if hardware.name in fitted_names():
            return cls.fitted(hardware.name)
        relative = RELATIVES.get(hardware.generation)
        if relative not in fitted_names():
            return cls.assumed(hardware)
        fit = cls.fitted(relative)
        source = f"{fit.source}; borrowed from {relative} for {hardware.name}"
        return replace(fit, source=source, kernel_error=max(fit.kernel_error, ASSUMED_KERNEL_ERROR / 2))
