"""Requests: when they come, and how many tokens each brings and asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

LONGEST = 10
"""Times the mean at which lengths are cut: servers have a longest sequence [1]."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Traffic:
    """Requests in the order in which they arrive.

    Parameters
    ----------
    arrival_seconds : array (N,)
        Never falling, at least 0 [s].
    prompt_tokens, output_tokens : array of int (N,)
        Tokens that come with a request, and that are generated for it, at least 1 [1].

    Raises
    ------
    InputError
        No requests, lengths that differ, times that fall, a count below 1.

    Examples
    --------
    >>> Traffic(arrival_seconds=[0.0, 0.5], prompt_tokens=[100, 50], output_tokens=[10, 20]).size
    2
    """

    arrival_seconds: FloatArray
    prompt_tokens: IntArray
    output_tokens: IntArray

    def __post_init__(self) -> None:
        times = checks.array("arrival_seconds", self.arrival_seconds, ndim=1)
        counts = {
            name: checks.integers(name, getattr(self, name), low=1) for name in ("prompt_tokens", "output_tokens")
        }
        if not len(times):
            raise InputError("traffic must have one request at least, got none")
        for name, count in counts.items():
            if count.shape != times.shape:
                raise InputError(f"{name} must hold one number for each of {len(times)} requests, got {count.shape}")
            object.__setattr__(self, name, count)
        steps = np.diff(times, prepend=0.0)
        if (steps < 0).any():
            place = int(np.argmax(steps < 0))
            raise InputError(f"arrival_seconds[{place}] must be at least the one before and 0, got {times[place]:g}")
        object.__setattr__(self, "arrival_seconds", times)

    @property
    def size(self) -> int:
        """Requests, N [1]."""
        return len(self.arrival_seconds)

    @property
    def longest(self) -> int:
        """Most tokens of a request, prompt and output together [1]."""
        return int((self.prompt_tokens + self.output_tokens).max())


def poisson_traffic(
    requests: int,
    *,
    requests_per_second: float,
    prompt_tokens: float,
    output_tokens: float,
    seed: int,
    spread: float = 0.0,
) -> Traffic:
    """Requests that come independently of each other, at a constant rate on average.

    Parameters
    ----------
    requests : int
        How many [1].
    requests_per_second : float
        Rate of the Poisson process [1/s].
    prompt_tokens, output_tokens : float
        Means, at least 1 [1].
    seed : int
        The requests depend on this: another rate gives the same ones, faster or slower, and more of them begin with
        the same ones.
    spread : float
        Standard deviation of both lengths over their means: log-normal, cut at ten times the mean; 0 makes all alike
        [1].

    Returns
    -------
    Traffic

    Raises
    ------
    InputError
        A number below its least.

    Notes
    -----
    Lengths are rounded to whole tokens and at least 1, which moves the mean where it is near 1.

    Examples
    --------
    >>> poisson_traffic(3, requests_per_second=2.0, prompt_tokens=100, output_tokens=20, seed=0).prompt_tokens
    array([100, 100, 100])
    """
    count = checks.integer("requests", requests, low=1)
    rate = checks.positive("requests_per_second", requests_per_second)
    checks.integer("seed", seed)
    gaps, *lengths = (np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(3))
    prompts, outputs = (
        _lengths(checks.number(name, mean, low=1), spread=checks.non_negative("spread", spread), count=count, rng=rng)
        for (name, mean), rng in zip(
            (("prompt_tokens", prompt_tokens), ("output_tokens", output_tokens)), lengths, strict=True
        )
    )
    arrivals = np.cumsum(gaps.exponential(size=count)) / rate
    return Traffic(arrival_seconds=arrivals, prompt_tokens=prompts, output_tokens=outputs)


def _lengths(mean: float, *, spread: float, count: int, rng: np.random.Generator) -> IntArray:
    """Log-normal with a mean and a coefficient of variation, in whole tokens."""
    variance = np.log1p(spread**2)
    drawn = mean * np.minimum(LONGEST, rng.lognormal(-variance / 2, np.sqrt(variance), count))
    return np.asarray(np.maximum(1, np.rint(drawn)).astype(np.int64))
