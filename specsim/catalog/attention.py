"""How layers attend and what they cache: ordinary heads, a shared latent, or a state of fixed size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionBlock:
    """Layers that cache and attend alike.

    Parameters
    ----------
    layers : int
        How many there are [1].
    heads, kv_heads : int
        Heads of queries, and of cached keys and values; one latent for all heads counts as one [1].
    key_dim, value_dim : int
        Numbers per head that a pair of tokens multiplies: for the score, and for the sum of values [1].
    kv_bytes_per_token : float
        Keys and values that one layer caches for a token; a latent and its rotary key once, not per head [byte].
    window : int
        Tokens that a token sees at most; 0 is all [1].

    Raises
    ------
    InputError
        A size below 1, or heads that are no multiple of kv_heads.

    Examples
    --------
    >>> local = AttentionBlock(
    ...     layers=5, heads=8, kv_heads=4, key_dim=256, value_dim=256, kv_bytes_per_token=4096.0, window=1024
    ... )
    >>> local.cached_tokens(np.array([100, 5000])), local.flop_per_pair
    (array([ 100, 1024]), 8192)
    """

    layers: int
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    kv_bytes_per_token: float
    window: int = 0

    def __post_init__(self) -> None:
        for size in ("layers", "heads", "kv_heads", "key_dim", "value_dim"):
            checks.integer(size, getattr(self, size), low=1)
        checks.positive("kv_bytes_per_token", self.kv_bytes_per_token)
        checks.integer("window", self.window)
        multiple("heads", self.heads, of="kv_heads", value=self.kv_heads)

    @property
    def flop_per_pair(self) -> int:
        """One scored token attending to one cached token, in one layer, over all heads [FLOP]."""
        return 2 * self.heads * (self.key_dim + self.value_dim)

    def cached_tokens(self, context: int | IntArray | FloatArray) -> FloatArray:
        """Tokens that a layer reads when `context` came before, of the same shape [1]."""
        seen = np.asarray(context)
        return np.minimum(seen, self.window) if self.window else seen

    def sharded(self, tensor_parallel: int) -> AttentionBlock:
        """What one of `tensor_parallel` devices attends to.

        Raises
        ------
        InputError
            A number of devices that does not divide the heads, or that neither divides the cached heads nor is a
            multiple of them: engines refuse those too.

        Notes
        -----
        Heads are divided. Cached heads are divided while they last, then each device holds a copy of one; a latent is
        copied to every device.

        Examples
        --------
        >>> block = AttentionBlock(layers=1, heads=32, kv_heads=8, key_dim=64, value_dim=64, kv_bytes_per_token=2048.0)
        >>> block.sharded(4).kv_bytes_per_token, block.sharded(16).kv_bytes_per_token
        (512.0, 256.0)
        """
        devices = checks.integer("tensor_parallel", tensor_parallel, low=1)
        multiple("heads", self.heads, of="tensor_parallel", value=devices)
        if devices < self.kv_heads:
            multiple("kv_heads", self.kv_heads, of="tensor_parallel", value=devices)
        else:
            multiple("tensor_parallel", devices, of="kv_heads", value=self.kv_heads)
        kept = max(1, self.kv_heads // devices)
        return replace(
            self,
            heads=self.heads // devices,
            kv_heads=kept,
            kv_bytes_per_token=self.kv_bytes_per_token * kept / self.kv_heads,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention:
    """Multi-head latent attention: all heads read one compressed latent and one rotary key per token.

    Parameters
    ----------
    q_rank, kv_rank : int
        Ranks of the compressed queries (0: not compressed) and of the cached latent [1].
    rope_dim, nope_dim, value_dim : int
        Per head: rotary and other numbers of queries and keys, numbers of values [1].

    Notes
    -----
    Passes that score few tokens multiply the latent itself [1], with the up-projection absorbed into queries and
    outputs: a pair of tokens costs kv_rank + rope_dim for the score and kv_rank for the values, per head.

    References
    ----------
    [1] DeepSeek-V2, arXiv 2405.04434, section 2.1.

    Examples
    --------
    >>> LatentAttention(q_rank=1536, kv_rank=512, rope_dim=64, nope_dim=128, value_dim=128).cached
    576
    """

    q_rank: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int

    def __post_init__(self) -> None:
        checks.integer("q_rank", self.q_rank)
        for size in ("kv_rank", "rope_dim", "nope_dim", "value_dim"):
            checks.integer(size, getattr(self, size), low=1)

    @property
    def cached(self) -> int:
        """Numbers that one layer caches for a token [1]."""
        return self.kv_rank + self.rope_dim


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearAttention:
    """Gated delta net: layers that hold a state of fixed size for each sequence and cache no keys and values.

    Parameters
    ----------
    layers : int
        How many layers are of this kind [1].
    key_heads, key_dim, value_heads, value_dim : int
        Heads and numbers per head of keys (and queries) and of values [1].
    kernel : int
        Width of the short convolution before it [1].
    bytes_per_state : float
        Of one number of the state, which is kept in float32 as a rule [byte].

    Examples
    --------
    >>> LinearAttention(layers=36, key_heads=16, key_dim=128, value_heads=32, value_dim=128).channels
    8192
    """

    layers: int
    key_heads: int
    key_dim: int
    value_heads: int
    value_dim: int
    kernel: int = 4
    bytes_per_state: float = 4.0

    def __post_init__(self) -> None:
        for size in ("layers", "key_heads", "key_dim", "value_heads", "value_dim", "kernel"):
            checks.integer(size, getattr(self, size), low=1)
        checks.positive("bytes_per_state", self.bytes_per_state)

    @property
    def channels(self) -> int:
        """Channels that the convolution runs over: queries, keys and values [1]."""
        return 2 * self.key_heads * self.key_dim + self.values

    @property
    def values(self) -> int:
        """Numbers of all value heads [1]."""
        return self.value_heads * self.value_dim

    def state_bytes(self, bytes_per_number: float) -> float:
        """State of one sequence in one layer, the convolution's last inputs at `bytes_per_number` [byte]."""
        return self.values * self.key_dim * self.bytes_per_state + self.channels * (self.kernel - 1) * bytes_per_number


def multiple(name: str, number: int, *, of: str, value: int) -> None:
    """Refuse a number that is no multiple of another."""
    if number % value:
        raise InputError(f"{name} must be a multiple of {of} {value}, got {number}")
