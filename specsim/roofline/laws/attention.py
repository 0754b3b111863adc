"""AttentionLaw: seconds of one layer's attention to its cache, for few query rows per sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.catalog import Hardware
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.roofline.laws.attention_kernel import AttentionKernel, kernel_seconds
from specsim.roofline.laws.soft import counts

KERNELS = ("grouped", "single", "grouped_8bit", "single_8bit", "latent", "latent_8bit")
"""Engines have a kernel each for heads that share cached ones or do not, for 16 and 8 bits, and for a shared latent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionLaw:
    """The attention kernels of one engine on one GPU.

    Parameters
    ----------
    kernels : Mapping[str, AttentionKernel]
        By name, of `KERNELS`; "grouped" at least, which stands in for those that were not measured.

    Raises
    ------
    InputError
        An unknown kernel, or no "grouped" one.

    Notes
    -----
    Fitted to one query row per sequence; more rows are an extrapolation by their operations. Fitted to heads of 64 to
    256 numbers, and to at most 16 heads per cached head at 256: there TensorRT-LLM falls back on a kernel that reads
    the cache once per head. Small caches are read from the last cache of the GPU, as in the measurement.

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> law = AttentionLaw(kernels={"grouped": AttentionKernel(processors=132)})
    >>> shape = dict(heads=32, kv_heads=8, key_dim=128, value_dim=128, kv_bytes_per_token=4096.0)
    >>> (1e6 * law.seconds(hardware("H100-SXM"), batch=32, tokens=1, context=[1024, 8192], **shape)).round(0)
    array([ 61., 396.])
    """

    kernels: Mapping[str, AttentionKernel]

    def __post_init__(self) -> None:
        for name in self.kernels:
            checks.one_of("attention kernel", name, KERNELS)
        if "grouped" not in self.kernels:
            raise InputError(f"kernels must hold grouped, got {', '.join(self.kernels) or 'none'}")

    def seconds(
        self,
        hardware: Hardware,
        *,
        batch: ArrayLike,
        tokens: ArrayLike,
        context: ArrayLike,
        heads: ArrayLike,
        kv_heads: ArrayLike,
        key_dim: int,
        value_dim: int,
        kv_bytes_per_token: ArrayLike,
        kv_reread: float = 0.0,
        window: ArrayLike = 0,
    ) -> FloatArray:
        """Seconds of one layer [s].

        Parameters
        ----------
        hardware : Hardware
            Peaks and cache of the GPU.
        batch, tokens, context : array (...)
            Sequences, query rows per sequence, and cached tokens that each sees [1].
        heads, kv_heads : int or array (...)
            Heads on this device, of queries and of the cache; a latent counts as one. Arrays must all be of one
            kernel [1].
        key_dim, value_dim : int
            Numbers per head that a pair of tokens multiplies [1].
        kv_bytes_per_token : float or array (...)
            What the layer caches for a token, on this device [byte].
        kv_reread : float
            0: the cache is read once for all query rows of a sequence; 1: once for each [1].
        window : int or array (...)
            Tokens that a row sees at most; 0 when `context` is already what is seen [1].

        Returns
        -------
        array (...)
            Broadcast over all counts [s].

        Raises
        ------
        InputError
            A count below its least, or `kv_reread` outside [0, 1].
        """
        share = checks.probability("kv_reread", kv_reread)
        b, t, c = counts("batch", batch), counts("tokens", tokens), counts("context", context, low=0.0)
        h, kv, span = counts("heads", heads), counts("kv_heads", kv_heads), counts("window", window, low=0.0)
        width = counts("kv_bytes_per_token", kv_bytes_per_token, low=1e-3)
        name = kernel_name(h, kv, key_dim=key_dim, value_dim=value_dim, kv_bytes_per_token=width)
        kernel = self.kernels.get(name, self.kernels["grouped"])
        cut = (span > 0) & (c > span)
        c = np.where(cut, span + kernel.window_tokens, c)
        b, t, c, h, kv, width = np.broadcast_arrays(b, t, c, h, kv, width)
        passes = 1 + share * (t - 1)
        return kernel_seconds(
            kernel, hardware, items=b * kv, rows=h / kv * t, heads=b * h * t, context=c, passes=passes,
            read=b * c * width * passes, key_dim=key_dim, value_dim=value_dim,
        )  # fmt: skip


def kernel_name(
    heads: FloatArray, kv_heads: FloatArray, *, key_dim: int, value_dim: int, kv_bytes_per_token: FloatArray
) -> str:
    """The kernel that engines take: by whether heads share cached ones, and by bits of a cached number.

    Examples
    --------
    >>> one = np.array(1.0)
    >>> kernel_name(32 * one, 8 * one, key_dim=128, value_dim=128, kv_bytes_per_token=4096 * one)
    'grouped'
    >>> kernel_name(128 * one, one, key_dim=576, value_dim=512, kv_bytes_per_token=576 * one)
    'latent_8bit'
    """
    checks.integer("key_dim", key_dim, low=1)
    checks.integer("value_dim", value_dim, low=1)
    if (kv_heads > heads).any():
        raise InputError(f"kv_heads must be at most heads {heads.flat[0]:g}, got {kv_heads.flat[0]:g}")
    latent = bool((kv_heads == 1).all()) and key_dim > value_dim
    numbers = kv_heads * (key_dim if latent else key_dim + value_dim)
    narrow = "_8bit" if bool((kv_bytes_per_token < 1.5 * numbers).all()) else ""
    kind = "latent" if latent else "single" if bool((kv_heads == heads).all()) else "grouped"
    return kind + narrow
