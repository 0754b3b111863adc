"""Noise that a drafter and a verifier share without talking: a function of the seed, the place in the text, the token.

The noise of a token is its finishing time in a race, exponential with mean 1; the token of least time over probability
wins. That is the Gumbel trick, argmax of log p + Gumbel noise, without a logarithm of p.

References
----------
.. [1] Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 (SplitMix64).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_HIGHEST = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class CoupledNoise:
    """A source of noise that gives the same token the same noise at the same place of the same text, always.

    Parameters
    ----------
    seed : int or array of int, shape (...)
        0..2^63 - 1; texts decoded side by side take one each, for one seed gives them one noise.

    Notes
    -----
    Counter-based: SplitMix64 [1] hashes seed and position into the start of a stream, whose t-th word is that of token
    t. No state is kept, so a position whose draft was rejected gets the same noise again in the next round, and it
    does not matter how many tokens earlier rounds accepted. Two streams overlap with probability 2 V / 2^64.

    Examples
    --------
    >>> noise = CoupledNoise(seed=7)
    >>> draft = noise.sample([0.5, 0.3, 0.2], position=10)
    >>> bool(draft == noise.sample([0.5, 0.3, 0.2], position=10))
    True
    >>> noise.times([10, 11], vocabulary=3).shape
    (2, 3)
    """

    seed: int | IntArray

    def __post_init__(self) -> None:
        _counters("seed", self.seed)

    def of(self, texts: IntArray) -> CoupledNoise:
        """The noise of some of the texts."""
        return CoupledNoise(seed=np.asarray(self.seed)[texts])

    def times(self, position: ArrayLike, *, vocabulary: int) -> FloatArray:
        """Exponential noise of mean 1.

        Parameters
        ----------
        position : array of int, shape (...)
            Tokens before the one to be drawn, the prompt included; broadcasts against the seed.
        vocabulary : int
            V; the noise of a token does not depend on it.

        Returns
        -------
        array, shape (..., V)
            In (0, 37.5) [1].
        """
        with np.errstate(over="ignore"):  # words wrap
            streams = _words(_words(_counters("seed", self.seed), at=0), at=_counters("position", position))
            words = _words(streams[..., None], at=np.arange(vocabulary, dtype=np.uint64))
        words >>= np.uint64(11)
        times = words.astype(np.float64)
        times += 0.5  # never 0 and never 1
        times *= 2.0**-53
        np.log(times, out=times)
        return np.negative(times, out=times)

    def sample(self, p: ArrayLike, *, position: ArrayLike) -> IntArray:
        """Draw a token from each law: the coupled sampler of drafters, of verifiers and of plain decoding alike.

        Parameters
        ----------
        p : array, shape (..., V)
            Laws [1].
        position : array of int, shape (...)
            Tokens before the one to be drawn; leading axes broadcast.

        Returns
        -------
        array of int, shape (...)
            Never an id of probability 0.

        Raises
        ------
        InputError
            A row that is no law; a position that is no count.
        """
        rows = checks.distribution("p", p)
        times = self.times(position, vocabulary=rows.shape[-1])
        scores = np.full(np.broadcast_shapes(times.shape, rows.shape), np.inf)
        with np.errstate(over="ignore"):  # a law of 1e-310 loses, whatever its time
            np.divide(times, rows, out=scores, where=rows > 0)
        return np.asarray(scores.argmin(axis=-1))


def _counters(name: str, values: ArrayLike) -> Words:
    counters = checks.integers(name, values)
    if counters.size and counters.max() > _HIGHEST:
        raise InputError(f"{name} must be at most 2^63 - 1, got {counters.max()}")
    return counters.astype(np.uint64)


def _words(state: Words, *, at: Words | int) -> Words:
    """Word number `at` of the SplitMix64 streams that start at `state`."""
    z = np.asarray(state + (np.asarray(at, dtype=np.uint64) + np.uint64(1)) * _STEP)
    high = np.empty_like(z)  # one scratch array: with V wide rows, allocating is half the time
    for shift, factor in ((30, _FACTORS[0]), (27, _FACTORS[1]), (31, np.uint64(1))):
        np.right_shift(z, np.uint64(shift), out=high)
        z ^= high
        z *= factor
    return z
