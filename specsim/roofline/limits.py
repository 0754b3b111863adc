"""The two limits of a kernel, memory and compute, and the curve that joins them."""

from __future__ import annotations

import math

import numpy as np

from specsim import checks
from specsim.catalog import Hardware
from specsim.checks import FloatArray
from specsim.roofline.laws.soft import soft_maximum_of


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


def ridge_tokens(hardware: Hardware, *, bytes_per_weight: float = 2.0, dtype: str | None = None) -> float:
    """Tokens in flight (batch times tokens per sequence) at which compute takes as long as reading the weights [1].

    Notes
    -----
    A weight costs `bytes_per_weight` to read and 2 FLOP per token, so the ridge is
    peak * bytes_per_weight / (2 * bandwidth). Attention, cached keys and values, and losses are left out; with losses
    it is where `Roofline.compute_bound_batch` says.

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> round(ridge_tokens(hardware("H100-SXM")), 1)
    295.2
    """
    width = checks.positive("bytes_per_weight", bytes_per_weight)
    return hardware.peak(dtype or hardware.best_dtype) * width / (2 * hardware.bandwidth_bytes_per_second)


def soft_maximum(a: FloatArray, b: FloatArray, *, knee: float) -> FloatArray:
    """The p-norm of two non-negative times: between the maximum (knee infinite) and the sum (knee 1).

    Examples
    --------
    >>> soft_maximum(np.array(3.0), np.array(4.0), knee=2.0)
    array(5.)
    """
    if math.isinf(knee):
        return np.maximum(a, b)
    if knee != 4.0:
        return soft_maximum_of(a, b, knee=knee)
    high, low = np.maximum(a, b), np.minimum(a, b)
    ratio = np.divide(low, high, out=np.zeros_like(high), where=high > 0)
    square = ratio * ratio  # the assumed knee: two square roots are many times faster than a power
    return np.asarray(high * np.sqrt(np.sqrt(1 + square * square)))


def all_reduce_seconds(
    *, message_bytes: FloatArray, devices: int, link_bytes_per_second: float, latency_seconds: float
) -> FloatArray:
    """Seconds of one all-reduce over a ring of `devices`: each sends and receives 2 (d - 1) / d of the message [s].

    Examples
    --------
    >>> all_reduce_seconds(
    ...     message_bytes=np.array(1e6), devices=4, link_bytes_per_second=450e9, latency_seconds=8e-6
    ... ).round(8)
    np.float64(1.133e-05)
    """
    if devices == 1:
        return np.zeros(np.shape(message_bytes))
    moved = 2 * (devices - 1) / devices * np.asarray(message_bytes)
    return np.asarray(latency_seconds + moved / link_bytes_per_second)
