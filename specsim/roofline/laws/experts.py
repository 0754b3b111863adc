"""ExpertsLaw: seconds of one mixture layer's experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.catalog import Hardware
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.roofline.laws.routing import busiest_load
from specsim.roofline.laws.soft import coefficients, counts, soft_maximum_of

# Exponents of the power law of tokens per expert that the measurements use; None is balanced routing.
DISTRIBUTIONS = {"balanced": None, "power_law": 1.2, "power_law_1.01": 1.01, "power_law_1.2": 1.2}
# Number format of the table -> peak that counts.
FORMATS = {
    "bfloat16": "",
    "int4_wo": "",
    "w4a16_mxfp4": "",
    "fp8": "float8",
    "fp8_block": "float8",
    "w4a8_mxfp4_mxfp8": "float8",
    "nvfp4": "float4",
}
TILE_ROWS = np.array([16.0, 32.0, 64.0, 128.0])
TILE_COLUMNS = 128.0
RANGES = {
    "launch_seconds": (0.0, 1e-2),
    "bandwidth_fraction": (1e-3, 2.0),
    "flop_fraction": (1e-3, 10.0),
    "expert_seconds": (0.0, 1e-3),
    "step_seconds": (0.0, 1e-6),
    "row_traffic": (0.0, 1e3),
    "token_traffic": (0.0, 1e3),
    "tile_rows": (0.0, 1e4),
    "knee": (1.0, 100.0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpertsKernel:
    """Coefficients of one number format's grouped multiplications on one GPU.

    Parameters
    ----------
    launch_seconds : float
        All kernels of the layer, whatever the size; 20 to 40 us [s].
    bandwidth_fraction, flop_fraction : float
        Of the datasheet's peaks [1].
    expert_seconds : float
        For each expert that is awake; about 0.1 us [s].
    step_seconds : float
        Least time of a thread block for one number of the hidden size [s].
    row_traffic, token_traffic : float
        Times that the vectors of a row (hidden and intermediate), and of a token whether computed here or not (hidden),
        pass through memory [1].
    tile_rows : float
        Rows of a tile at which arithmetic reaches half of `flop_fraction` [1].
    knee : float
        Exponent of the p-norm that joins memory, arithmetic and steps [1].
    processors : int
        Streaming multiprocessors of the GPU [1].

    Raises
    ------
    InputError
        A coefficient outside its range.

    Examples
    --------
    >>> ExpertsKernel(processors=132).launch_seconds
    3e-05
    """

    launch_seconds: float = 30e-6
    bandwidth_fraction: float = 0.8
    flop_fraction: float = 0.7
    expert_seconds: float = 1e-7
    step_seconds: float = 1e-9
    row_traffic: float = 1.0
    token_traffic: float = 1.0
    tile_rows: float = 32.0
    knee: float = 2.0
    processors: int

    def __post_init__(self) -> None:
        coefficients(self, RANGES)
        checks.integer("processors", self.processors, low=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpertsLaw:
    """The mixture kernels of one engine on one GPU.

    Parameters
    ----------
    kernels : Mapping[str, ExpertsKernel]
        By number format: bfloat16, fp8, fp8_block, nvfp4, int4_wo, w4a16_mxfp4, w4a8_mxfp4_mxfp8, as measured.

    Raises
    ------
    InputError
        An unknown format, or no kernel at all.

    Notes
    -----
    Gated experts: three matrices of hidden times intermediate each. The router, and sending rows between devices, are
    not included. Fitted to 1 to 4096 tokens.

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> law = ExpertsLaw(kernels={"bfloat16": ExpertsKernel(processors=132)})
    >>> shape = dict(experts=8, active=2, hidden=4096, intermediate=14336, bytes_per_weight=2.0)
    >>> (1e6 * law.seconds(hardware("H100-SXM"), tokens=[1, 64], **shape)).round(0)
    array([ 299., 1109.])
    """

    kernels: Mapping[str, ExpertsKernel]

    def __post_init__(self) -> None:
        if not self.kernels:
            raise InputError("kernels must hold a number format, got none")
        for name in self.kernels:
            checks.one_of("number format", name, FORMATS)

    def seconds(
        self,
        hardware: Hardware,
        *,
        tokens: ArrayLike,
        experts: int,
        active: int,
        hidden: int,
        intermediate: int,
        bytes_per_weight: float,
        distribution: str = "balanced",
        tensor_parallel: int = 1,
        expert_parallel: int = 1,
        dtype: str = "bfloat16",
    ) -> FloatArray:
        """Seconds of one layer, on the busiest device [s].

        Parameters
        ----------
        hardware : Hardware
            Peaks of the GPU.
        tokens : array (...)
            Tokens of the pass [1].
        experts, active : int
            Experts of the layer, and per token [1].
        hidden, intermediate : int
            Sides of an expert's matrices, before any split [1].
        bytes_per_weight : float
            As stored, scales included [byte].
        distribution : str
            "balanced", or "power_law" for strongly skewed routing.
        tensor_parallel, expert_parallel : int
            Devices that split every expert's intermediate size, and that the experts are dealt to [1].
        dtype : str
            Format of the multiplication, one of those measured.

        Returns
        -------
        array (...)
            Of the shape of `tokens` [s].

        Raises
        ------
        InputError
            A count below 1, more active experts than there are, an unknown distribution or a format not measured.
        """
        kernel = self.kernels[checks.one_of("dtype", dtype, self.kernels)]
        skew = DISTRIBUTIONS[checks.one_of("distribution", distribution, DISTRIBUTIONS)]
        every = checks.integers("tokens", tokens, low=1)
        total = checks.integer("experts", experts, low=1)
        devices = checks.integer("expert_parallel", expert_parallel, low=1)
        chosen = checks.integer("active", active, low=1, high=total)
        load = [
            busiest_load(tokens=int(n), experts=total, active=chosen, expert_parallel=devices, skew=skew)
            for n in every.flat
        ]
        rows, awake = np.moveaxis(np.array(load).reshape(*every.shape, 2), -1, 0)
        width = counts("intermediate", intermediate) / checks.integer("tensor_parallel", tensor_parallel, low=1)
        return loaded_seconds(
            kernel, hardware, tokens=every.astype(np.float64), rows=rows, awake=awake, hidden=counts("hidden", hidden),
            intermediate=width, bytes_per_weight=checks.positive("bytes_per_weight", bytes_per_weight),
            peak=hardware.peak(FORMATS[dtype] or hardware.best_dtype),
        )  # fmt: skip


def loaded_seconds(
    kernel: ExpertsKernel,
    hardware: Hardware,
    *,
    tokens: FloatArray,
    rows: FloatArray,
    awake: FloatArray,
    hidden: FloatArray,
    intermediate: FloatArray,
    bytes_per_weight: float,
    peak: float,
) -> FloatArray:
    """Seconds of a known load; arrays of one shape, the best tile of `TILE_ROWS` taken [s]."""
    tile = TILE_ROWS.reshape(-1, *[1] * np.ndim(rows))
    weights = 3 * hidden * intermediate
    vectors = kernel.row_traffic * rows * (2 * hidden + 3 * intermediate) + kernel.token_traffic * tokens * hidden
    memory = (awake * weights * bytes_per_weight + 2 * vectors) / (
        kernel.bandwidth_fraction * hardware.bandwidth_bytes_per_second
    )
    tiles = awake * np.ceil(np.maximum(rows / awake, 1.0) / tile)
    arithmetic = 2 * weights * tiles * tile / (kernel.flop_fraction * peak) * (1 + kernel.tile_rows / tile)
    waves = np.maximum(1.0, tiles * 3 * intermediate / TILE_COLUMNS / kernel.processors)
    steps = waves * hidden * kernel.step_seconds
    best = soft_maximum_of(memory, arithmetic, steps, knee=kernel.knee).min(axis=0)
    return np.asarray(kernel.launch_seconds + awake * kernel.expert_seconds + best)
