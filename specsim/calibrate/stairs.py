"""The target's pass as a staircase: the rows' own, or a benchmark's brought to the rows' level."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from specsim.calibrate.estimate import Estimate, from_replicates
from specsim.calibrate.resample import ratio
from specsim.calibrate.rows import Mask, Rows
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.roofline import Staircase

FEW_ROWS = 5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StairsFit:
    """A staircase, its seconds in each replicate, shape (R, steps), and the estimates to report."""

    cost: Staircase
    replicates: FloatArray
    estimates: dict[str, Estimate]

    def pass_replicates(self, tokens: IntArray, *, batch: int, context: int) -> FloatArray:
        """Seconds of passes over `tokens` in each replicate, shape (R, len(tokens)) [s]."""
        self.cost.pass_seconds(tokens=tokens, batch=batch, context=context)
        steps = np.eye(len(self.cost.tokens))
        shares = np.stack([np.interp(tokens, self.cost.tokens, step) for step in steps])
        return np.asarray(self.replicates @ shares)


def scaled_stairs(rows: Rows, staircase: Staircase, *, weights: FloatArray, level: float) -> StairsFit:
    """A benchmark's staircase times the factor that makes it add up to the rows' verify seconds.

    Drafting rounds alone set the factor: they are what it predicts.
    """
    one_batch(rows, staircase.batch)
    where = rows.drafting
    expected = np.zeros(len(where))
    expected[where] = staircase.pass_seconds(tokens=rows.drafted[where] + 1, batch=staircase.batch)
    spent, foreseen = (rows.sums(column, where) for column in (rows.seconds["verify_seconds"], expected))
    factor, factors = ratio(spent, foreseen, weights)
    _must_take_time(factor)
    cost = replace(staircase, scale=staircase.scale * factor)
    seconds = staircase.scale * np.asarray(staircase.seconds)
    estimate = from_replicates(cost.scale, staircase.scale * factors, n=rows.requests(where), level=level)
    return StairsFit(cost=cost, replicates=factors[:, None] * seconds, estimates={"scale": estimate})


def own_stairs(rows: Rows, *, weights: FloatArray, level: float) -> StairsFit:
    """Mean verify seconds by tokens scored, plain rows and drafting rows together.

    Steps with fewer than five rows are left to interpolation, but for the first and the last.
    """
    batch = one_batch(rows, int(rows.batch[0]))
    scored = rows.drafted + 1
    tokens, counts = np.unique(scored, return_counts=True)
    kept = counts >= FEW_ROWS
    kept[[0, -1]] = True
    means, replicates, estimates = [], [], {}
    for step in tokens[kept].tolist():
        here = scored == step
        mean, spread = ratio(rows.sums(rows.seconds["verify_seconds"], here), rows.sums(here, here), weights)
        _must_take_time(mean)
        means.append(mean)
        replicates.append(spread)
        # One request has no spread between requests: its step is reported without an estimate.
        if rows.requests(here) > 1:
            name = f"pass_seconds[{step}]"
            estimates[name] = from_replicates(mean, spread, n=rows.requests(here), level=level)
    cost = Staircase(
        tokens=tuple(tokens[kept].tolist()), seconds=tuple(means), source="means of the calibrated rows", batch=batch
    )
    return StairsFit(cost=cost, replicates=np.stack(replicates, axis=1), estimates=estimates)


def one_batch(rows: Rows, batch: int) -> int:
    """The batch of all rows, which a staircase needs to be one."""
    others: Mask = rows.batch != batch
    if others.any():
        raise InputError(
            f"batch must be {batch} in all rows, got {rows.batch[others][0]}; several batches need model and hardware"
        )
    return batch


def _must_take_time(seconds: float) -> None:
    if seconds <= 0:
        raise InputError("verify_seconds must be above 0 in calibrated rows, got 0")
