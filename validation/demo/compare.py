"""Predicted before, measured after: one row per drafter and gamma, and what the errors come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specsim.calibrate import (
    Calibration,
    Estimate,
    Prediction,
    measured_round_seconds,
    measured_speedup,
    measured_tau,
)
from specsim.records import RoundRecord
from validation.demo.bench import PLAIN, Run, Setting, rows
from validation.timing import median

QUANTITIES = ("tau", "round_seconds", "speedup")


def predict(calibrations: Mapping[str, Calibration], gammas: Sequence[int]) -> dict[Setting, Prediction]:
    """What a run of the same size will show, for every drafter and gamma."""
    return {
        Setting(proposer=name, gamma=gamma): calibration.predict(gamma)
        for name, calibration in calibrations.items()
        for gamma in gammas
    }


def compare(
    predictions: Mapping[Setting, Prediction], runs: Sequence[Run], *, held_out: bool, seed: int
) -> list[dict[str, Any]]:
    """Rows of predicted and measured tau, round seconds and speedup, each with its interval.

    Parameters
    ----------
    predictions
        By setting; settings without runs are left out.
    runs
        The runs of one phase, plain decoding among them: speedup is over the plain runs of the same phase.
    held_out
        Whether the calibration has not seen these gammas.
    seed
        Of the bootstrap.
    """
    plain = rows(runs, PLAIN)
    played = {run.setting for run in runs}
    return [
        {"proposer": setting.proposer, "gamma": setting.gamma, "held_out": held_out}
        | _sides(prediction, rows(runs, setting), plain, seed=seed)
        for setting, prediction in predictions.items()
        if setting in played
    ]


def errors(comparison: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Relative errors of the held-out predictions: their median with its interval, and how many intervals held.

    A measured value counts as inside when it lies in the interval that was stated before it was measured.
    """
    held_out = [row for row in comparison if row["held_out"]]
    table = []
    for quantity in QUANTITIES:
        sizes = [abs(row[f"{quantity}_predicted"] / row[f"{quantity}_measured"] - 1) for row in held_out]
        inside = [
            row[f"{quantity}_predicted_low"] <= row[f"{quantity}_measured"] <= row[f"{quantity}_predicted_high"]
            for row in held_out
        ]
        middle = median(sizes)
        table.append(
            {
                "quantity": quantity,
                "median_absolute_error": middle.seconds,
                "low": middle.low,
                "high": middle.high,
                "inside_interval": int(np.sum(inside)),
                "n": len(sizes),
            }
        )
    return table


def _sides(
    prediction: Prediction, records: Sequence[RoundRecord], plain: Sequence[RoundRecord], *, seed: int
) -> dict[str, float]:
    measured = {
        "tau": measured_tau(records, seed=seed),
        "round_seconds": measured_round_seconds(records, seed=seed),
        "speedup": measured_speedup(records, plain, seed=seed),
    }
    cells: dict[str, float] = {}
    for quantity in QUANTITIES:
        cells |= _cells(f"{quantity}_predicted", getattr(prediction, quantity))
        cells |= _cells(f"{quantity}_measured", measured[quantity])
    return cells


def _cells(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
