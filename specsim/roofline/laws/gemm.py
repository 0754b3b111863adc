"""GemmLaw: seconds of one matrix multiplication."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.catalog import Hardware
from specsim.checks import FloatArray, IntArray
from specsim.roofline.laws.soft import coefficients, counts, soft_maximum_of

# Number format of the table -> (peak that counts, bytes of one activation). Block scales of nvfp4 are included.
FORMATS = {"bfloat16": ("", 2.0), "fp8": ("float8", 1.0), "fp8_block": ("float8", 1.0), "nvfp4": ("float4", 0.5625)}
# Rows of tokens, columns of outputs and parts of the inputs that one thread block takes; engines choose among such.
TILES = np.array(list(product((16, 32, 64, 128, 256), (64, 128, 256), (1, 2, 4, 8, 16, 32))), dtype=np.float64)
TILES = TILES[TILES[:, 0] * TILES[:, 1] <= 128 * 256]
INPUT_STEP = 64.0
SHARPEST_KNEE_AT = 10.0
CACHE_SHARPNESS = 9.0
RANGES = {
    "launch_seconds": (0.0, 1e-2),
    "bandwidth_fraction": (1e-3, 2.0),
    "flop_fraction": (1e-3, 2.0),
    "step_seconds": (0.0, 1e-6),
    "tile_seconds": (0.0, 1e-3),
    "split_seconds": (0.0, 1e-2),
    "sum_fraction": (1e-6, 1e6),
    "write_fraction": (1e-6, 1e6),
    "rows_fraction": (1e-6, 1e6),
    "knee": (1.0, 100.0),
    "knee_growth": (-4.0, 4.0),
    "tile_knee": (1.0, 100.0),
    "cached_speedup": (0.0, 100.0),
    "cached_fraction": (1e-6, 100.0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class GemmLaw:
    """Coefficients of one number format's matrix multiplications on one GPU.

    Parameters
    ----------
    launch_seconds : float
        Paid whatever the size; about 2 us [s].
    bandwidth_fraction, flop_fraction : float
        Of the datasheet's peaks; about 0.85 and 0.9 [1].
    step_seconds : float
        Least time of a thread block for one of the inputs, however few rows it has; about 1.3 ns [s].
    tile_seconds : float
        A thread block's start and end; about 0.4 us [s].
    split_seconds, sum_fraction : float
        Cost of splitting the inputs over thread blocks: fixed, and the bandwidth at which partial sums move, of the
        peak; about 2.5 us and 2 [s], [1].
    write_fraction, rows_fraction : float
        Bandwidth at which outputs are written, and at which activations reach the thread blocks, of the peak; above 1
        where they stay in a cache [1].
    knee, knee_growth : float
        Memory and thread blocks overlap as a p-norm with 1 + (knee - 1) waves^knee_growth: the more waves of thread
        blocks, the better [1].
    tile_knee : float
        The same for arithmetic and `step_seconds` within a thread block [1].
    cached_speedup, cached_fraction : float
        Weights below this fraction of the last cache are read faster by 1 + cached_speedup. A trait of benchmarks that
        repeat one multiplication; in a model other weights come between, and 0 is right [1].
    processors : int
        Streaming multiprocessors of the GPU [1].

    Raises
    ------
    InputError
        A coefficient outside its range.

    Notes
    -----
    The fastest tiling of `TILES` is taken; engines' heuristics often miss it by some percent. Fitted to 1 to 32768 rows
    and to 32 to 65536 outputs and inputs.

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> law = GemmLaw(processors=132)
    >>> (1e6 * law.seconds(hardware("H100-SXM"), m=[1, 64, 1024], outputs=4096, inputs=4096)).round(1)
    array([14.8, 15.7, 45. ])
    """

    launch_seconds: float = 2e-6
    bandwidth_fraction: float = 0.88
    flop_fraction: float = 0.93
    step_seconds: float = 1.3e-9
    tile_seconds: float = 0.4e-6
    split_seconds: float = 2.4e-6
    sum_fraction: float = 1.5
    write_fraction: float = 1.0
    rows_fraction: float = 10.0
    knee: float = 2.2
    knee_growth: float = 1.0
    tile_knee: float = 2.0
    cached_speedup: float = 0.4
    cached_fraction: float = 0.3
    processors: int

    def __post_init__(self) -> None:
        coefficients(self, RANGES)
        checks.integer("processors", self.processors, low=1)

    def seconds(
        self,
        hardware: Hardware,
        *,
        m: ArrayLike,
        outputs: ArrayLike,
        inputs: ArrayLike,
        bytes_per_weight: ArrayLike = 2.0,
        dtype: str = "bfloat16",
    ) -> FloatArray:
        """Seconds of (m x inputs) times (inputs x outputs) [s].

        Parameters
        ----------
        hardware : Hardware
            Peaks and cache of the GPU.
        m : array (...)
            Rows: tokens in flight [1].
        outputs, inputs : array (...)
            Sides of the weight matrix [1].
        bytes_per_weight : array (...)
            As stored, scales included [byte].
        dtype : str
            Format of the multiplication: bfloat16, fp8, fp8_block, nvfp4. Weights of fewer bits than it are read as
            such and multiplied in it.

        Returns
        -------
        array (...)
            Broadcast over all sizes [s].

        Raises
        ------
        InputError
            A size below 1, an unknown format, or one that the GPU has no peak for.
        """
        work = gemm_work(hardware, m=m, outputs=outputs, inputs=inputs, bytes_per_weight=bytes_per_weight, dtype=dtype)
        tiles = TILES.T.reshape(3, -1, *[1] * work.m.ndim)
        return np.asarray(tiled_seconds(self, work, tiles).min(axis=0))


@dataclass(frozen=True, kw_only=True, slots=True)
class GemmWork:
    """Checked multiplications and what the GPU offers for them; arrays (...) except the three figures."""

    m: FloatArray
    outputs: FloatArray
    inputs: FloatArray
    weight_bytes: FloatArray
    row_bytes: FloatArray
    bandwidth: float
    peak: float
    cache: float

    def __getitem__(self, rows: IntArray) -> GemmWork:
        return replace(
            self,
            m=self.m[rows],
            outputs=self.outputs[rows],
            inputs=self.inputs[rows],
            weight_bytes=self.weight_bytes[rows],
            row_bytes=self.row_bytes[rows],
        )


def gemm_work(
    hardware: Hardware,
    *,
    m: ArrayLike,
    outputs: ArrayLike,
    inputs: ArrayLike,
    bytes_per_weight: ArrayLike = 2.0,
    dtype: str = "bfloat16",
) -> GemmWork:
    """Check multiplications once; as for `GemmLaw.seconds`."""
    peak, row_width = FORMATS[checks.one_of("dtype", dtype, FORMATS)]
    width = counts("bytes_per_weight", bytes_per_weight, low=1e-3)
    sizes = (counts("m", m), counts("outputs", outputs), counts("inputs", inputs), width)
    rows, n, k, width = np.broadcast_arrays(*sizes)
    return GemmWork(
        m=rows,
        outputs=n,
        inputs=k,
        weight_bytes=n * k * width,
        row_bytes=rows * k * row_width,
        bandwidth=hardware.bandwidth_bytes_per_second,
        peak=hardware.peak(peak or hardware.best_dtype),
        cache=hardware.l2_bytes,
    )


def tiled_seconds(law: GemmLaw, work: GemmWork, tiles: FloatArray) -> FloatArray:
    """Seconds under given tilings [s].

    Parameters
    ----------
    law : GemmLaw
        Coefficients.
    work : GemmWork
        Multiplications of shape (...).
    tiles : array (3, ...)
        Rows, outputs and splits of the tiling; each broadcasts with the work [1].
    """
    rows, columns, splits = tiles
    across = np.ceil(work.outputs / columns)
    waves = np.maximum(1.0, np.ceil(work.m / rows) * across * splits / law.processors)
    arithmetic = 2 * rows * columns * law.processors / (law.flop_fraction * work.peak)
    step = soft_maximum_of(arithmetic, np.asarray(law.step_seconds), knee=law.tile_knee)
    loop = waves * np.ceil(work.inputs / splits / INPUT_STEP) * INPUT_STEP * step
    memory = (work.weight_bytes + work.row_bytes) / (law.bandwidth_fraction * work.bandwidth) / _speedup(law, work)
    memory = memory + work.row_bytes * across / (law.rows_fraction * work.bandwidth)
    knee = 1 + (law.knee - 1) * np.minimum(waves, SHARPEST_KNEE_AT) ** law.knee_growth
    results = work.m * work.outputs
    partial_sums = law.split_seconds + 4 * results * splits / (law.sum_fraction * work.bandwidth)
    ends = waves * law.tile_seconds + 2 * results / (law.write_fraction * work.bandwidth) + law.launch_seconds
    return np.asarray(soft_maximum_of(memory, loop, knee=knee) + np.where(splits > 1, partial_sums, 0.0) + ends)


def _speedup(law: GemmLaw, work: GemmWork) -> FloatArray:
    """How much faster weights are read that stayed in the cache since the last time."""
    fill = work.weight_bytes / max(law.cached_fraction * work.cache, 1.0)
    return np.asarray(1 + law.cached_speedup / (1 + np.minimum(fill, 1e3) ** CACHE_SHARPNESS))
