"""Counts by depth and request: how often draft k was judged and stood, how often k tokens were proposed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.calibrate.estimate import Estimate, from_counts
from specsim.calibrate.rows import Mask, Rows
from specsim.checks import FloatArray
from specsim.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Depths:
    """Counts of n requests at K depths.

    Parameters
    ----------
    hits, trials : arrays (n, K)
        Counts by request [1].
    replicates : array (R, K)
        Hits over trials in each replicate [1].
    """

    hits: FloatArray
    trials: FloatArray
    replicates: FloatArray

    @property
    def rates(self) -> FloatArray:
        """Hits over trials of all requests, shape (K,) [1]."""
        return np.asarray(self.hits.sum(axis=0) / self.trials.sum(axis=0))

    @property
    def smoothed(self) -> FloatArray:
        """Rates with half counts added, never 0 or 1, shape (K,) [1]."""
        return np.asarray((self.hits.sum(axis=0) + 0.5) / (self.trials.sum(axis=0) + 1))

    @property
    def variances(self) -> FloatArray:
        """Of each smoothed rate if rounds were independent, shape (K,) [1]."""
        return np.asarray(self.smoothed * (1 - self.smoothed) / (self.trials.sum(axis=0) + 1))

    def estimates(self, name: str, weights: FloatArray, *, level: float) -> dict[str, Estimate]:
        """One estimate a depth that at least two requests reached."""
        requests = (self.trials > 0).sum(axis=0)
        return {
            f"{name}[{k + 1}]": from_counts(
                self.hits[:, k], self.trials[:, k], weights, n=int(requests[k]), level=level
            )
            for k in np.flatnonzero(requests > 1).tolist()
        }


def acceptance_depths(rows: Rows, *, weights: FloatArray) -> Depths:
    """Draft k is on trial in rounds that judged it after k - 1 accepted ones, whatever gamma they asked for."""
    drafting = rows.drafting
    return _depths(
        rows,
        [
            (rows.accepted >= k, drafting & (rows.judged >= k) & (rows.accepted >= k - 1))
            for k in range(1, int(rows.asked.max()) + 1)
        ],
        weights=weights,
    )


def proposed_depths(rows: Rows, *, weights: FloatArray) -> Depths:
    """Whether k tokens were proposed, in full rounds that asked for at least k."""
    return _depths(
        rows,
        [(rows.drafted >= k, rows.full & (rows.asked >= k)) for k in range(1, int(rows.asked.max()) + 1)],
        weights=weights,
    )


def _depths(rows: Rows, depths: list[tuple[Mask, Mask]], *, weights: FloatArray) -> Depths:
    trials = np.stack([rows.sums(trial, trial) for _, trial in depths], axis=1)
    hits = np.stack([rows.sums(hit, trial) for hit, trial in depths], axis=1)
    known = int((trials.sum(axis=0) > 0).sum())
    if known == 0:
        raise InputError("records must hold a draft that was judged, got none: nothing tells acceptance")
    trials, hits = trials[:, :known], hits[:, :known]
    rates = hits.sum(axis=0) / trials.sum(axis=0)
    drawn = weights @ trials
    replicates = np.divide(weights @ hits, drawn, out=np.tile(rates, (len(weights), 1)), where=drawn > 0)
    return Depths(hits=hits, trials=trials, replicates=replicates)
