"""Betting against a decoder: an e-process that may be watched after every token and stopped at any time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.directions import CAUSES, available, centred, ranges, scores
from specsim.stats.observed import Observed
from specsim.stats.power import LEVEL, POWER, betting_tv
from specsim.stats.result import TestResult

STAKES = (-0.8, -0.2, -0.05, 0.05, 0.2, 0.8)
"""The best stake of a fault that is just caught in n tokens goes as 1 / sqrt(n): about 0.7 at 1k, 0.05 at 256k."""

ROUNDING = 1e-9
"""Range over size below which a score is constant: what is left is rounding, and nothing to bet on."""
DIRECTIONS = ("q", "sign", "residual", "overlap", "log_p", "argmax_p", "argmax_q", "previous", "seen")


@dataclass(frozen=True, kw_only=True, slots=True)
class BettingProcess:
    """A mixture of 54 bets, 9 directions x 6 stakes, with equal capital; start with `BettingProcess()`.

    Parameters
    ----------
    tolerance : float
        Total variation by which each token's law may be off without being a fault [1].
    n : int
        Tokens so far [1].
    log_wealth : array (9, 6)
        Logarithm of each bet's capital over its initial one [1].
    peak : float
        Logarithm of the largest value of the mixture so far, at least 0 [1].
    path : array (M,)
        Logarithm of the mixture after each token of the last update [1].
    moments : array (9, 2)
        Sums over tokens of E_p |gain| and E_p gain^2 of each direction, gain = (g - E_p g) / R [1].

    Raises
    ------
    InputError
        A tolerance outside [0, 1].

    Notes
    -----
    A token multiplies the capital of stake s in direction g by (1 + s (g(x) - E_p g) / R) / (1 + |s| tolerance), R the
    range of g over the row (8 for log p): never negative, of mean 1 under p, and at most 1 under any law within
    `tolerance` of it. So the mixture E is a nonnegative supermartingale under the null, and by Ville's inequality the
    probability that it ever reaches 1 / level is at most `level`: exact in finite samples, for any stopping rule,
    whatever the laws and their order, if only each token's law is known before it. A direction whose laws are missing
    does not bet.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> tokens = observe([0] * 100, log_p=np.log(np.full((100, 2), 0.5)))
    >>> process = BettingProcess().update(tokens)
    >>> process.n, process.rejects(1e-6), process.crossing(1e-6)
    (100, True, 53)

    """

    tolerance: float = 0.0
    n: int = 0
    log_wealth: FloatArray = field(default_factory=lambda: np.zeros((len(DIRECTIONS), len(STAKES))))
    peak: float = 0.0
    path: FloatArray = field(default_factory=lambda: np.empty(0))
    moments: FloatArray = field(default_factory=lambda: np.zeros((len(DIRECTIONS), 2)))

    def __post_init__(self) -> None:
        checks.probability("tolerance", self.tolerance)

    def update(self, observed: Observed) -> BettingProcess:
        """The process after these tokens too, in the order given."""
        factors, moments = _log_factors(observed, self.tolerance)
        running = self.log_wealth + np.cumsum(factors, axis=0)
        path = _log_mean(running)
        return replace(
            self,
            n=self.n + len(observed),
            log_wealth=running[-1] if len(observed) else self.log_wealth,
            peak=max(self.peak, float(path.max(initial=0.0))),
            path=path,
            moments=self.moments + moments,
        )

    @property
    def log_e(self) -> float:
        """Logarithm of the mixture now [1]."""
        return float(_log_mean(self.log_wealth[None])[0])

    def rejects(self, level: float) -> bool:
        """Whether the mixture has reached 1 / `level` at any time."""
        return self.peak >= -math.log(_level(level))

    def crossing(self, level: float) -> int | None:
        """Tokens at which the mixture first reached 1 / `level` in the last update; None if it did not."""
        reached = np.flatnonzero(self.path >= -math.log(_level(level)))
        return self.n - self.path.size + int(reached[0]) + 1 if reached.size else None

    def smallest_tv(self, *, level: float, power: float) -> float:
        """Total variation of the faults that are caught with that power, of faults along the best seen direction [1].

        Faults as in :func:`~specsim.stats.power.betting_tv`; 1 if no direction bets.
        """
        bets = self.log_wealth.size
        sizes = (
            betting_tv(spread=spread, variance=variance, n=self.n, bets=bets, level=level, power=power)
            for spread, variance in self.moments
            if variance > 0
        )
        return min(sizes, default=1.0)

    def result(self) -> TestResult:
        """The state as a result: the p-value, min(1, 1 / largest E so far), holds at any stopping time."""
        best, stake = np.unravel_index(int(self.log_wealth.argmax()), self.log_wealth.shape)
        direction, sign = DIRECTIONS[best], 1 if STAKES[stake] > 0 else -1
        return TestResult(
            test="betting",
            statistic=self.log_e,
            pvalue=math.exp(-self.peak),
            n=self.n,
            detail=CAUSES[direction, sign],
            log_evalue=self.peak,
            smallest_tv=self.smallest_tv(level=LEVEL, power=POWER),
            details={"direction": direction, "stake": STAKES[stake], "log_e": self.log_e},
        )


def betting(observed: Observed, *, tolerance: float = 0.0) -> TestResult:
    """The outcome of a new :class:`BettingProcess` on these tokens.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> betting(observe([0] * 100, log_p=np.log(np.full((100, 2), 0.5)))).passed(1e-6)
    False

    """
    return BettingProcess(tolerance=tolerance).update(observed).result()


def _log_factors(observed: Observed, tolerance: float) -> tuple[FloatArray, FloatArray]:
    """Logarithm of what each token does to each bet, shape (N, 9, 6), and sums of the gains' moments, (9, 2)."""
    stakes = np.array(STAKES)
    factors, moments = np.zeros((len(observed), len(DIRECTIONS), len(STAKES))), np.zeros((len(DIRECTIONS), 2))
    bettable = available(observed)
    for i, direction in enumerate(DIRECTIONS):
        if direction in bettable:
            gains = _gains(observed, direction)
            seen = np.take_along_axis(gains, observed.cell[:, None], axis=1)
            factors[:, i] = np.log1p(seen * stakes) - np.log1p(np.abs(stakes) * tolerance)
            moments[i, 0] = np.einsum("nk,nk->", observed.p, np.abs(gains))
            moments[i, 1] = np.einsum("nk,nk,nk->", observed.p, gains, gains)
    return factors, moments


def _gains(observed: Observed, direction: str) -> FloatArray:
    """(g - E_p g) / range of g for every cell, in [-1, 1]; 0 where g is constant but for rounding."""
    g = scores(observed, direction)
    span = ranges(g, direction)
    varies = span > ROUNDING * np.abs(g).max(axis=1, keepdims=True)
    gains: FloatArray = np.divide(centred(g, observed.p), span, out=np.zeros_like(g), where=varies)
    return gains.clip(-1.0, 1.0)


def _log_mean(logs: FloatArray) -> FloatArray:
    flat = logs.reshape(len(logs), len(DIRECTIONS) * len(STAKES))
    top = flat.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(flat - top).mean(axis=1)))


def _level(level: float) -> float:
    value = checks.probability("level", level)
    if value == 0:
        raise InputError("level must be in (0, 1], got 0")
    return value
