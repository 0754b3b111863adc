"""How much requests differ: what a further run's own chance adds to a prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.calibrate.rows import Mask, Rows
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

QUANTITIES = ("tau", "round_seconds", "speedup")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Spread:
    """Variance of log tau, log round seconds and log speedup of a run of one request, by gamma.

    Parameters
    ----------
    gammas : array (J,)
        Those that at least two requests were decoded with, rising [1].
    variances : array (J, 3)
        In the order of `QUANTITIES` [1].
    drift : float
        Variance between requests of the log seconds of a plain step, which does the same work in all of them: how far
        the machine wanders from one text to the next [1].
    """

    gammas: FloatArray
    variances: FloatArray
    drift: float

    def at(self, gamma: int) -> dict[str, float]:
        """Variances at a gamma: linear in between, held outside [1]."""
        return {
            name: float(np.interp(gamma, self.gammas, self.variances[:, place]))
            for place, name in enumerate(QUANTITIES)
        }


def spread_between_requests(rows: Rows) -> Spread:
    """Linearised: a request moves the log of a ratio of sums by its residual over the mean denominator.

    Raises
    ------
    InputError
        No gamma that two requests were decoded with.
    """
    plain = _influence(rows, rows.total, rows.committed, rows.plain)
    found = {}
    for gamma in np.unique(rows.asked[rows.full]).tolist():
        full = rows.full & (rows.asked == gamma)
        if rows.requests(full) > 1:
            rounds = np.ones(len(full))
            tokens = _influence(rows, rows.committed, rounds, full)
            seconds = _influence(rows, rows.total, rounds, full)
            found[gamma] = (_variance(tokens), _variance(seconds), _joint(tokens - seconds, plain))
    if not found:
        raise InputError("records must hold two requests decoded with the same gamma, got none")
    steps = _influence(rows, rows.total, np.ones(len(rows.plain)), rows.plain)
    return Spread(
        gammas=np.array(list(found), dtype=np.float64),
        variances=np.array(list(found.values())),
        drift=_variance(steps),
    )


def _influence(rows: Rows, top: FloatArray | IntArray, bottom: FloatArray | IntArray, where: Mask) -> FloatArray:
    """Each request's influence on log(sum of top / sum of bottom), NaN for requests without such rows, shape (n,)."""
    above, below = rows.sums(top, where), rows.sums(bottom, where)
    present = rows.sums(where, where) > 0
    ratio = above.sum() / below.sum()
    influence = (above / ratio - below) / below[present].mean() if ratio > 0 else np.zeros(len(above))
    return np.where(present, influence, np.nan)


def _variance(influence: FloatArray) -> float:
    known = influence[~np.isnan(influence)]
    return float(np.var(known, ddof=1)) if len(known) > 1 else 0.0


def _joint(first: FloatArray, second: FloatArray) -> float:
    """Variance of a sum over the same requests, or of two sums over different ones."""
    together = first + second
    paired = (~np.isnan(together)).sum() == (~np.isnan(first)).sum() > 1
    return _variance(together) if paired else _variance(first) + _variance(second)
