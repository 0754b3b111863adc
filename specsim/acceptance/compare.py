"""Which law the data speak for, and tau at another gamma with all that is uncertain about it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from specsim.acceptance.base import Acceptance
from specsim.acceptance.data import Lengths
from specsim.acceptance.fit import FAMILIES, Fit, fit_law
from specsim.checks import FloatArray

SAME = 1e-3
"""How much two scores may differ and still count as equal: what an optimiser leaves undone [nat]."""
LEFT_OPEN = 2.0
"""How far behind the best a law may be, in nats or in standard errors, and still not be ruled out [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """E_tokens at a gamma [1].

    Parameters
    ----------
    gamma : int
        Drafted tokens per round [1].
    E_tokens : float
        By the chosen law, bonus included [1].
    low, high : float
        Ends of the interval over all laws that the data leave open [1].
    level : float
        Of each law's own interval [1].
    by_law : dict
        E_tokens, low and high of every law that was fitted, open or not [1].
    """

    gamma: int
    E_tokens: float
    low: float
    high: float
    level: float
    by_law: dict[str, tuple[float, float, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Laws fitted to the same data.

    Parameters
    ----------
    fits : dict of Fit
        By law, simple ones first.
    held_out : dict of float
        Log density of what was held out, summed; minus infinity where too little is left to fit [nat].
    behind : dict of tuple
        How much less than the best, and the standard error of that [nat].

    Notes
    -----
    Held out is one round of each kind at a time (counts), or one gamma (means). Chosen is the law with the fewest
    parameters within one standard error of the best [1]. Left open are those within two nats or two standard errors:
    laws that agree on the data part where the data end, so an interval for a larger gamma must not rest on one of them.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", Wadsworth 1984, section 3.4.3.

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> compared = compare(Acceptance.from_counts([1000, 700, 490], [700, 490, 343]))
    >>> compared.chosen.law, round(compared.predict(8).E_tokens, 4)
    ('constant', 3.1988)
    """

    fits: dict[str, Fit]
    held_out: dict[str, float]
    behind: dict[str, tuple[float, float]]

    @property
    def chosen(self) -> Fit:
        """The simplest law within one standard error of the best."""
        within = (self.fits[law] for law, (gap, error) in self.behind.items() if gap <= error + SAME)
        return min(within, key=lambda fit: len(fit.point))

    @property
    def left_open(self) -> tuple[str, ...]:
        """Laws that are not ruled out."""
        return tuple(law for law, (gap, error) in self.behind.items() if gap <= LEFT_OPEN * max(1.0, error))

    def predict(self, gamma: int, *, level: float = 0.95) -> Prediction:
        """E_tokens at a gamma that may be beyond the data, with its interval."""
        by_law = {
            law: (fit.expected_tokens(gamma), *fit.tokens_interval(gamma, level=level))
            for law, fit in self.fits.items()
        }
        return Prediction(
            gamma=gamma,
            E_tokens=by_law[self.chosen.law][0],
            low=min(by_law[law][1] for law in self.left_open),
            high=max(by_law[law][2] for law in self.left_open),
            level=level,
            by_law=by_law,
        )


def compare(data: Lengths, *, laws: Iterable[str] = tuple(FAMILIES)) -> Comparison:
    """Fit laws to the same data, and score each on what is held out of it.

    Parameters
    ----------
    data : CountedAcceptance or MeanLengths
        Counts by depth, or means by gamma.
    laws : iterable of str
        Keys of `FAMILIES`.

    Returns
    -------
    Comparison
    """
    fits = {law: fit_law(data, law=law) for law in laws}
    parts = {law: data.held_out(partial(_refit, fit)) for law, fit in fits.items()}
    held_out = {law: float(scores @ weights) if scores.size else -math.inf for law, (scores, weights) in parts.items()}
    best = max(held_out, key=lambda law: held_out[law] if fits[law].is_told else -math.inf)
    behind = {
        law: _behind(parts[best][0], *parts[law]) if fit.is_told else (math.inf, 0.0) for law, fit in fits.items()
    }
    return Comparison(fits=fits, held_out=held_out, behind=behind)


def _refit(fit: Fit, rest: Lengths) -> tuple[Acceptance, int]:
    left = fit_law(rest, law=fit.law, start=fit)
    return left.acceptance, len(left.point)


def _behind(best: FloatArray, scores: FloatArray, weights: FloatArray) -> tuple[float, float]:
    if not np.isfinite(best).all() or best.size == 0:
        return 0.0, 0.0  # nothing could be held out: every law that the data tell stays
    if not np.isfinite(scores).all():
        return math.inf, 0.0
    gap, total = best - scores, float(weights.sum())
    mean = float(weights @ gap) / total
    return mean * total, math.sqrt(float(weights @ (gap - mean) ** 2))
