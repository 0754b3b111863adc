"""Predicted before, measured after: what the claims that predict numbers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from specsim import checks
from specsim.stats import TestResult
from validation.claims.protocol import ClaimResult, Control, Settings, verdict

STATED = 0.95
"""Level of every interval that a claim states before it measures [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One held-out setting: a number stated before it was measured.

    Parameters
    ----------
    setting : Mapping
        What was set, by name.
    quantity : str
        What was predicted, with its SI unit in the name.
    predicted, low, high : float
        The prediction and its interval for the measured value.
    measured : float
    n : int
        Measurements behind it [1].

    Examples
    --------
    >>> row = Row(setting={"gamma": 2}, quantity="tau", predicted=2.0, low=1.8, high=2.2, measured=2.1, n=40)
    >>> row.is_inside, round(row.error, 3)
    (True, -0.048)
    """

    setting: Mapping[str, Any]
    quantity: str
    predicted: float
    low: float
    high: float
    measured: float
    n: int

    def __post_init__(self) -> None:
        checks.number("low", self.low, high=self.high)
        checks.positive("measured", self.measured)

    @property
    def is_inside(self) -> bool:
        """Whether the interval held."""
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> float:
        """Relative error of the prediction [1]."""
        return self.predicted / self.measured - 1

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(self.setting) | {
            "quantity": self.quantity,
            "predicted": self.predicted,
            "low": self.low,
            "high": self.high,
            "measured": self.measured,
            "error": self.error,
            "inside": self.is_inside,
            "n": self.n,
        }


def intervals_hold(rows: Sequence[Row], *, name: str) -> TestResult:
    """Do stated intervals hold as often as they say? One-sided binomial test of how many do.

    Notes
    -----
    Null: each interval holds with probability 0.95 or more, independently. Settings that share a calibration fail
    together more often than that, so the level of a claim is small and `figures` say how many held.

    Examples
    --------
    >>> row = Row(setting={}, quantity="tau", predicted=2.0, low=1.8, high=2.2, measured=3.0, n=4)
    >>> intervals_hold([row] * 4, name="tau").pvalue < 1e-4
    True
    """
    checks.integer("number of held-out settings", len(rows), low=1)
    held = sum(row.is_inside for row in rows)
    return TestResult(
        test=name,
        statistic=float(held),
        pvalue=float(stats.binom.cdf(held, len(rows), STATED)),
        n=len(rows),
        detail=f"{held} of {len(rows)} stated intervals held",
    )


def median_abs_error(rows: Sequence[Row]) -> float:
    """Median size of the relative errors [1]."""
    return float(np.median([abs(row.error) for row in rows]))


def control(fault: str, rows: Sequence[Row], *, level: float) -> Control:
    """Predictions made with a fault planted, judged as the real ones."""
    outcome = intervals_hold(rows, name=fault)
    return Control(fault=fault, n=len(rows), pvalue=outcome.pvalue, caught=not outcome.passed(level))


def predicted(
    name: str,
    rows: Sequence[Row],
    *,
    model: str,
    settings: Settings,
    controls: Sequence[Control],
    figures: Mapping[str, float] | None = None,
    also: Sequence[Mapping[str, Any]] = (),
) -> ClaimResult:
    """The result of a claim that predicts numbers.

    Parameters
    ----------
    name, model, settings, controls, figures
        As of `ClaimResult`.
    rows
        Held-out settings, at least one.
    also
        Further rows to keep, that were not held out.
    """
    result, error = intervals_hold(rows, name=name), median_abs_error(rows)
    held = int(result.statistic)
    return ClaimResult(
        test=name,
        model=model,
        n=len(rows),
        unit="held-out settings",
        pvalue=result.pvalue,
        level=settings.level,
        verdict=verdict(result, level=settings.level, controls=controls),
        statistic=result.statistic,
        controls=tuple(controls),
        figures={"inside_interval": held, "share_inside": held / len(rows), **(figures or {})},
        median_abs_error=error,
        rows=(*(row.as_dict() for row in rows), *also),
        detail=f"{result.detail}; median absolute error {error:.1%}",
    )
