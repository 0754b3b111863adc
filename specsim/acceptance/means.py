"""Mean tokens per round by gamma: what tables publish, and less than counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from specsim import checks
from specsim.acceptance.conversions import constant_alpha_from_tokens
from specsim.acceptance.data import Refit
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

BoolArray = NDArray[np.bool_]
LEAST_VARIANCE = 1e-12
"""Of one mean: keeps likelihoods finite where a law passes through every point [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanLengths:
    """Means of tokens per round, bonus included, at several gammas.

    Parameters
    ----------
    gammas : tuple of int
        Drafted tokens per round, one for each mean; two different ones at least [1].
    E_tokens : tuple of float
        The means, each in [1, gamma + 1] [1].
    rounds : tuple of int, optional
        Rounds behind each mean; without them the noise is estimated from the scatter about the law [1].
    source : str
        Where they come from.

    Raises
    ------
    InputError
        Lengths that differ, a mean that no acceptance gives, or one gamma only.

    Notes
    -----
    A mean of R rounds is taken as normal about the law's E_tokens with the law's variance over R; R is known, or is one
    unknown number for all means. Intervals then follow chi-square, or F with as many degrees of freedom as there are
    means beyond the law's parameters: with no more means than parameters there is no interval.

    Examples
    --------
    >>> means = MeanLengths(gammas=(1, 2), E_tokens=(1.7, 2.19))
    >>> means.rough().round(3)
    array([0.7, 0.7])
    """

    gammas: tuple[int, ...]
    E_tokens: tuple[float, ...]
    rounds: tuple[int, ...] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("E_tokens", "rounds"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.gammas):
                raise InputError(f"{name} must have one value for each of {len(self.gammas)} gammas, got {len(values)}")
        for place, (gamma, tokens) in enumerate(zip(self.gammas, self.E_tokens, strict=True)):
            checks.integer(f"gammas[{place}]", gamma, low=1)
            checks.number(f"E_tokens[{place}]", tokens, low=1, high=gamma + 1)
        for place, rounds in enumerate(self.rounds or ()):
            checks.integer(f"rounds[{place}]", rounds, low=1)
        if len(set(self.gammas)) < 2:
            raise InputError(f"means must be at two gammas at least to tell laws apart, got {sorted(set(self.gammas))}")

    @property
    def depths(self) -> int:
        """The largest gamma [1]."""
        return max(self.gammas)

    @property
    def size(self) -> int:
        """Means [1]."""
        return len(self.gammas)

    @property
    def edges(self) -> tuple[int, ...]:
        """The gammas: between two of them one acceptance is all that can be told."""
        return tuple(sorted(set(self.gammas)))

    def rough(self) -> FloatArray:
        """The constant acceptance that the deepest mean suggests, at every depth, shape (K,) [1]."""
        deepest = int(np.argmax(self.gammas))
        alpha = constant_alpha_from_tokens(self.E_tokens[deepest], gamma=self.depths)
        return np.full(self.depths, alpha)

    def log_likelihood(self, conditional: FloatArray) -> float:
        """Given conditional acceptance by depth, (K,), with the unknown noise, if any, at its best [nat]."""
        squares, variances = _scatter(*self._part(np.ones(self.size, dtype=np.bool_)), conditional)
        if self.rounds is None:
            noise = max(float(squares.mean()), LEAST_VARIANCE)
            return -0.5 * float(np.log(noise * variances).sum())
        return -0.5 * float((squares + np.log(variances)).sum())

    def cutoff(self, level: float, *, parameters: int) -> float:
        """How far twice the log likelihood may fall below its maximum inside an interval [nat]."""
        if self.rounds is not None:
            return float(stats.chi2.ppf(level, 1))
        freedom = self.size - parameters
        return self.size * float(np.log1p(stats.f.ppf(level, 1, freedom) / freedom)) if freedom > 0 else float("inf")

    def held_out(self, refit: Refit) -> tuple[FloatArray, FloatArray]:
        """Leave one gamma out; an unknown noise is that of the means about what the others predict."""
        gammas = np.asarray(self.gammas)
        held = [gammas == gamma for gamma in self.edges] if len(self.edges) > 2 else []
        parts = [self._predicted(out, refit) for out in held]
        if any(part is None for part in parts):
            return np.full(len(held), -np.inf), np.ones(len(held))
        found = [part for part in parts if part is not None]
        noise = 1.0
        if self.rounds is None and found:
            noise = max(float(np.concatenate([squares for squares, _ in found]).mean()), LEAST_VARIANCE)
        scores = [-0.5 * float((squares / noise + np.log(noise * variances)).sum()) for squares, variances in found]
        return np.asarray(scores), np.ones(len(held))

    def _predicted(self, out: BoolArray, refit: Refit) -> tuple[FloatArray, FloatArray] | None:
        """How far the means held out are from the rest's law; None where the rest cannot tell its parameters."""
        gammas, tokens, rounds = self._part(~out)
        rest = replace(
            self,
            gammas=tuple(gammas.tolist()),
            E_tokens=tuple(tokens.tolist()),
            rounds=None if self.rounds is None else tuple(rounds.tolist()),
        )
        law, parameters = refit(rest)
        if parameters > len(rest.edges):
            return None
        return _scatter(*self._part(out), law.conditional(self.depths))

    def _part(self, chosen: BoolArray) -> tuple[IntArray, FloatArray, IntArray]:
        rounds = np.ones(self.size, dtype=np.int64) if self.rounds is None else np.asarray(self.rounds)
        return np.asarray(self.gammas)[chosen], np.asarray(self.E_tokens)[chosen], rounds[chosen]


def _scatter(
    gammas: IntArray, tokens: FloatArray, rounds: IntArray, conditional: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Squared distances of the means from the law in units of the variances of the means, and these."""
    survival = np.cumprod(conditional)
    mean = np.cumsum(survival)[gammas - 1]
    square = np.cumsum((2 * np.arange(1, survival.size + 1) - 1) * survival)[gammas - 1]
    variances = np.maximum(square - mean**2, 0) / rounds + LEAST_VARIANCE
    return (tokens - 1 - mean) ** 2 / variances, variances
