"""AttentionKernel: the coefficients of one attention kernel, and its seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.catalog import Hardware
from specsim.checks import FloatArray
from specsim.roofline.laws.soft import coefficients, soft_maximum_of

SPLITS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
QUERY_ROWS, KEY_STEP = 64.0, 64.0
SIZES = (64.0, 128.0, 192.0, 256.0)
SHARPEST_KNEE_AT = 10.0
CACHE_SHARPNESS = 9.0
RANGES = {
    "launch_seconds": (0.0, 1e-2),
    "bandwidth_fraction": (1e-3, 1.0),
    "flop_fraction": (1e-3, 10.0),
    "token_seconds": (0.0, 1e-5),
    "size_64": (1e-3, 1e3),
    "size_192": (1e-3, 1e3),
    "size_256": (1e-3, 1e3),
    "item_seconds": (0.0, 1e-2),
    "item_64": (1e-3, 1e3),
    "item_192": (1e-3, 1e3),
    "item_256": (1e-3, 1e3),
    "later_share": (1e-3, 10.0),
    "occupancy": (0.05, 20.0),
    "split_seconds": (0.0, 1e-2),
    "sum_fraction": (1e-6, 1e6),
    "knee": (1.0, 100.0),
    "knee_growth": (-4.0, 4.0),
    "cached_speedup": (0.0, 100.0),
    "cached_fraction": (1e-6, 100.0),
    "window_tokens": (0.0, 1e3),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionKernel:
    """Coefficients of one attention kernel on one GPU.

    Parameters
    ----------
    launch_seconds : float
        Paid whatever the size; 5 to 10 us [s].
    bandwidth_fraction, flop_fraction : float
        Of the datasheet's peaks [1].
    token_seconds : float
        Least time of a thread block for one cached token of 128 numbers per head [s].
    size_64, size_192, size_256 : float
        What multiplies it at other sizes of a head, besides the size itself [1].
    item_seconds : float
        A thread block's start and end, for heads of 128 numbers [s].
    item_64, item_192, item_256 : float
        What multiplies it at other sizes of a head [1].
    later_share : float
        Part of it that a block pays which follows another on its multiprocessor [1].
    occupancy : float
        Thread blocks that a multiprocessor runs side by side [1].
    split_seconds, sum_fraction : float
        Cost of splitting the context over thread blocks: fixed, and the bandwidth at which partial results move, of the
        peak [s], [1].
    knee, knee_growth, cached_speedup, cached_fraction : float
        As for `GemmLaw`.
    window_tokens : float
        Tokens read besides a window's, because its ends cut blocks [1].
    processors : int
        Streaming multiprocessors of the GPU [1].

    Raises
    ------
    InputError
        A coefficient outside its range.

    Examples
    --------
    >>> AttentionKernel(processors=132).launch_seconds
    7e-06
    """

    launch_seconds: float = 7e-6
    bandwidth_fraction: float = 0.92
    flop_fraction: float = 0.3
    token_seconds: float = 3e-9
    size_64: float = 1.0
    size_192: float = 1.0
    size_256: float = 1.0
    item_seconds: float = 1.5e-6
    item_64: float = 0.8
    item_192: float = 1.2
    item_256: float = 1.4
    later_share: float = 0.8
    occupancy: float = 1.0
    split_seconds: float = 2e-6
    sum_fraction: float = 1.0
    knee: float = 2.0
    knee_growth: float = 0.5
    cached_speedup: float = 0.5
    cached_fraction: float = 0.8
    window_tokens: float = 64.0
    processors: int

    def __post_init__(self) -> None:
        coefficients(self, RANGES)
        checks.integer("processors", self.processors, low=1)


def kernel_seconds(
    kernel: AttentionKernel,
    hardware: Hardware,
    *,
    items: FloatArray,
    rows: FloatArray,
    heads: FloatArray,
    context: FloatArray,
    passes: FloatArray,
    read: FloatArray,
    key_dim: int,
    value_dim: int,
) -> FloatArray:
    """Seconds of one kernel for `items` pairs of a sequence and a cached head, the best split of the context taken."""
    bandwidth, size = hardware.bandwidth_bytes_per_second, (key_dim + value_dim) / 2
    splits = SPLITS.reshape(-1, *[1] * items.ndim)
    waves = np.maximum(1.0, items * splits / (kernel.processors * kernel.occupancy))
    factor = float(np.interp(size, SIZES, (kernel.size_64, 1.0, kernel.size_192, kernel.size_256)))
    start = float(np.interp(size, SIZES, (kernel.item_64, 1.0, kernel.item_192, kernel.item_256)))
    peak = kernel.flop_fraction * hardware.peak(hardware.best_dtype) / kernel.processors
    arithmetic = 2 * np.ceil(rows / QUERY_ROWS) * QUERY_ROWS * (key_dim + value_dim) / peak
    per_token = kernel.token_seconds * size / 128 * factor * passes + arithmetic
    item = kernel.item_seconds * start
    steps = np.ceil(context / splits / KEY_STEP) * KEY_STEP
    loop = item * (1 + kernel.later_share * (waves - 1)) + waves * steps * per_token
    moved = read + 2 * heads * (key_dim + value_dim)
    fill = np.minimum(read / max(kernel.cached_fraction * hardware.l2_bytes, 1.0), 1e3)
    speedup = 1 + kernel.cached_speedup / (1 + fill**CACHE_SHARPNESS)
    memory = moved / (kernel.bandwidth_fraction * bandwidth) / speedup
    knee = 1 + (kernel.knee - 1) * np.minimum(waves, SHARPEST_KNEE_AT) ** kernel.knee_growth
    partial = kernel.split_seconds + 4 * heads * value_dim * splits / (kernel.sum_fraction * bandwidth)
    times = soft_maximum_of(memory, loop, knee=knee) + np.where(splits > 1, partial, 0.0)
    return np.asarray(kernel.launch_seconds + times.min(axis=0))
