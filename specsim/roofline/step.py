"""Seconds of one forward pass from bytes read, operations done and what is reached of the peaks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.catalog import Hardware, ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.roofline.efficiency import Efficiency
from specsim.roofline.protocol import Count, Seconds


def weight_read_seconds(hardware: Hardware, *, weight_bytes: float) -> float:
    """Seconds to read the weights once at peak bandwidth: the floor of a pass that fits no cache [s].

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> seconds = weight_read_seconds(hardware("H100-SXM"), weight_bytes=16e9)
    >>> f"{1e3 * seconds:.3f} ms, {1 / seconds:.1f} tokens/s"
    '4.776 ms, 209.4 tokens/s'
    """
    return checks.non_negative("weight_bytes", weight_bytes) / hardware.bandwidth_bytes_per_second


def ridge_tokens(hardware: Hardware, *, bytes_per_weight: float = 2.0, dtype: str = "bfloat16") -> float:
    """Tokens in flight (batch times tokens per sequence) at which compute takes as long as reading the weights [1].

    Notes
    -----
    A weight costs `bytes_per_weight` to read and 2 FLOP per token, so the ridge is
    peak * bytes_per_weight / (2 * bandwidth). Attention, cached keys and values, and losses are left out.

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> round(ridge_tokens(hardware("H100-SXM")), 1)
    295.2
    """
    width = checks.positive("bytes_per_weight", bytes_per_weight)
    return hardware.peak(dtype) * width / (2 * hardware.bandwidth_bytes_per_second)


def pass_bytes(model: ModelShape, *, batch: Count, context: Count) -> FloatArray:
    """Bytes that a pass reads: weights once, each sequence's cache once (not once per scored token) [byte]."""
    cached = np.asarray(batch) * np.asarray(context, dtype=np.float64)
    return np.asarray(model.pass_weight_bytes + cached * model.kv_bytes_per_token)


def pass_flop(model: ModelShape, *, tokens: Count, batch: Count, context: Count) -> FloatArray:
    """Operations of a pass: matrices for every scored token, attention for every pair with a cached one [FLOP]."""
    per_token = model.flop_per_token + model.attention_flop_per_pair * np.asarray(context, dtype=np.float64)
    return np.asarray(np.asarray(batch) * np.asarray(tokens) * per_token)


def soft_maximum(a: FloatArray, b: FloatArray, *, knee: float) -> FloatArray:
    """The p-norm of two non-negative times: between the maximum (knee infinite) and the sum (knee 1).

    Examples
    --------
    >>> soft_maximum(np.array(3.0), np.array(4.0), knee=2.0)
    array(5.)
    """
    high, low = np.maximum(a, b), np.minimum(a, b)
    if math.isinf(knee):
        return high
    ratio = np.divide(low, high, out=np.zeros_like(high), where=high > 0)
    return np.asarray(high * (1 + ratio**knee) ** (1 / knee))


def step_seconds(
    model: ModelShape,
    hardware: Hardware,
    efficiency: Efficiency,
    *,
    tokens: Count,
    batch: Count = 1,
    context: Count = 0,
    dtype: str = "bfloat16",
) -> Seconds:
    """Seconds of one forward pass on one accelerator [s].

    Parameters
    ----------
    model, hardware, efficiency
        What runs, where, and what is reached of the peaks.
    tokens : int or array (...)
        Tokens scored per sequence, at least 1 [1].
    batch : int or array (...)
        Sequences [1].
    context : int or array (...)
        Tokens cached per sequence [1].
    dtype : str
        Number format of the multiplications, which picks the peak.

    Returns
    -------
    float or array (...)
        A float when all three counts are single numbers [s].

    Raises
    ------
    InputError
        tokens or batch below 1, context below 0, a dtype that the hardware has no peak for.

    Notes
    -----
    max(bytes / bandwidth, flop / peak) + overhead with the fitted fractions, the maximum softened by the knee.
    Left out: activations, the cache's own writes, attention among the scored tokens, communication between
    accelerators, and whether the model fits the memory. Good while tokens << context or context is short.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> where = (model("Llama-3.1-8B"), hardware("H100-SXM"), Efficiency.ideal())
    >>> [round(1e3 * step_seconds(*where, tokens=n), 3) for n in (1, 8, 512)]
    [4.481, 4.481, 7.771]
    """
    scored = checks.integers("tokens", tokens, low=1)
    sequences = checks.integers("batch", batch, low=1)
    cached = checks.integers("context", context)
    read, computed = _parts(model, hardware, efficiency, scored, sequences, cached, dtype)
    seconds = soft_maximum(read, computed, knee=efficiency.knee) + efficiency.overhead_seconds
    return seconds if seconds.ndim else float(seconds)


def _parts(
    model: ModelShape,
    hardware: Hardware,
    efficiency: Efficiency,
    tokens: IntArray,
    batch: IntArray,
    context: IntArray,
    dtype: str,
) -> tuple[FloatArray, FloatArray]:
    """Memory seconds and compute seconds, broadcast to one shape."""
    read = pass_bytes(model, batch=batch, context=context) / (
        efficiency.bandwidth_fraction * hardware.bandwidth_bytes_per_second
    )
    computed = pass_flop(model, tokens=tokens, batch=batch, context=context) / (
        efficiency.flop_fraction * hardware.peak(dtype)
    )
    memory, compute = np.broadcast_arrays(read, computed)
    return memory, compute


@dataclass(frozen=True, kw_only=True, slots=True)
class Roofline:
    """`step_seconds` of one model on one accelerator, as a `PassCost`.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> gpu = hardware("H100-SXM")
    >>> one = Roofline(model=model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.assumed(gpu))
    >>> one.bound(tokens=1), one.bound(tokens=1024)
    ('memory', 'compute')
    """

    model: ModelShape
    hardware: Hardware
    efficiency: Efficiency
    dtype: str = "bfloat16"

    def __post_init__(self) -> None:
        self.hardware.peak(self.dtype)

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Seconds:
        """`step_seconds` [s]."""
        return step_seconds(
            self.model, self.hardware, self.efficiency, tokens=tokens, batch=batch, context=context, dtype=self.dtype
        )

    def bound(self, *, tokens: int, batch: int = 1, context: int = 0) -> str:
        """What takes longest: "memory", "compute" or "overhead"."""
        counts = (np.asarray(tokens), np.asarray(batch), np.asarray(context))
        read, computed = _parts(self.model, self.hardware, self.efficiency, *counts, self.dtype)
        parts = {"memory": read, "compute": computed, "overhead": np.asarray(self.efficiency.overhead_seconds)}
        return max(parts, key=lambda part: float(parts[part]))

    def compute_bound_batch(self, *, tokens: int, context: int = 0) -> int | None:
        """Smallest batch at which compute takes at least as long as memory; None when no batch does.

        Long caches grow with the batch as fast as compute does, so a pass can stay memory-bound at any batch.

        Examples
        --------
        >>> from specsim.catalog import hardware, model
        >>> one = Roofline(model=model("Llama-3.1-8B"), hardware=hardware("H100-SXM"), efficiency=Efficiency.ideal())
        >>> one.compute_bound_batch(tokens=1), one.compute_bound_batch(tokens=1, context=100_000)
        (296, None)
        """
        scored = checks.integers("tokens", tokens, low=1)
        one, cached, empty = np.asarray(1), checks.integers("context", context), np.asarray(0)
        weights, _ = _parts(self.model, self.hardware, self.efficiency, scored, one, empty, self.dtype)
        read, computed = _parts(self.model, self.hardware, self.efficiency, scored, one, cached, self.dtype)
        gained = float(computed) - float(read - weights)
        return math.ceil(float(weights) / gained) if gained > 0 else None
