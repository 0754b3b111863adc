"""How many tokens to draft: the choice, and what it loses against the best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import stats

from specsim import checks
from specsim.calibrate import Calibration
from specsim.checks import FloatArray
from specsim.records import RoundRecord
from specsim.stats import TestResult, combine
from validation.claims.protocol import ClaimResult, Control, Settings, verdict

if TYPE_CHECKING:
    from validation.claims.speculation import Study

FAULT = "the drafter's passes forgotten"
Logs = Mapping[int, FloatArray]
"""Log speedup of every request, by gamma."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BestGamma:
    """The gamma that the calibrated model picks is the fastest measured one, or all but as fast.

    Parameters
    ----------
    tolerance : float
        Share of the speed that a choice may lose without being wrong: optima are flat [1].

    Notes
    -----
    0 stands for plain decoding and is among the choices. Judged for each drafter by a one-sided t-test over requests of
    what its pick loses against the fastest gamma. Picking the fastest out of noise makes a right pick look a little
    worse than it is, which the tolerance covers.
    """

    tolerance: float = 0.05
    name: ClassVar[str] = "best_gamma"

    def __post_init__(self) -> None:
        checks.number("tolerance", self.tolerance, low=0, high=0.5)

    def run(self, settings: Settings) -> ClaimResult:
        """Pick by the model, measure every gamma, and pick by a model whose drafts cost nothing."""
        from validation.claims.speculation import GAMMAS, study

        found = study(settings, is_timed=True)
        logs = {name: log_speedups(found, name) for name in found.calibrations}
        foretold = {name: speedups(one, GAMMAS) for name, one in found.calibrations.items()}
        free = {name: speedups(one, GAMMAS, drafts_cost=0.0) for name, one in found.calibrations.items()}
        picks, wrong = ({name: _largest(one) for name, one in made.items()} for made in (foretold, free))
        result, fault = (losing(self.name, logs, made, tolerance=self.tolerance) for made in (picks, wrong))
        controls = (Control(fault=FAULT, n=fault.n, pvalue=fault.pvalue, caught=not fault.passed(settings.level)),)
        lost = {name: 1 - float(np.exp(-np.nanmean(_lost(one, picks[name])))) for name, one in logs.items()}
        return ClaimResult(
            test=self.name,
            model=found.model,
            n=result.n,
            unit="requests",
            pvalue=result.pvalue,
            level=settings.level,
            verdict=verdict(result, level=settings.level, controls=controls),
            statistic=result.statistic,
            controls=controls,
            figures={"largest_loss": max(lost.values())},
            rows=tuple(
                {
                    "proposer": name,
                    "predicted_gamma": picks[name],
                    "measured_gamma": _fastest(one),
                    "speed_lost": lost[name],
                    "predicted_speedup": foretold[name][picks[name]],
                    "measured_speedup": float(np.exp(np.nanmean(one[picks[name]]))),
                }
                for name, one in logs.items()
            ),
            detail="; ".join(
                f"{name}: picked {picks[name]}, fastest {_fastest(one)}, lost {max(0.0, lost[name]):.1%}"
                for name, one in logs.items()
            ),
        )


def speedups(calibration: Calibration, gammas: Iterable[int], *, drafts_cost: float = 1.0) -> dict[int, float]:
    """Predicted over plain decoding by gamma, 0 among them; with drafts at a share of their cost [1]."""
    found = {0: 1.0}
    for gamma in gammas:
        cost, foretold = calibration.scenario(gamma).cost, calibration.predict(gamma).speedup.value
        found[gamma] = foretold * cost.seconds / (cost.seconds - (1 - drafts_cost) * cost.draft_seconds)
    return found


def log_speedups(found: Study, name: str) -> dict[int, FloatArray]:
    """Of every request over plain decoding of the same prompt in the same phase, by gamma; NaN without full rounds."""
    from validation.demo.bench import PLAIN, Setting, rows

    requests = sorted({run.prompt.name for run in found.held_out})
    logs: dict[int, FloatArray] = {0: np.zeros(len(requests))}
    for runs in (found.calibrated, found.held_out):
        plain = _speeds(rows(runs, PLAIN), requests, gamma=0)
        for gamma in sorted({run.setting.gamma for run in runs if run.setting.proposer == name}):
            logs[gamma] = _speeds(rows(runs, Setting(proposer=name, gamma=gamma)), requests, gamma=gamma) - plain
    return logs


def losing(name: str, logs: Mapping[str, Logs], picks: Mapping[str, int], *, tolerance: float) -> TestResult:
    """Does a pick lose more than the tolerance against the fastest? One-sided t-test over requests, by drafter.

    Examples
    --------
    >>> logs = {"x": {0: np.zeros(4), 2: np.array([0.5, 0.51, 0.49, 0.5])}}
    >>> losing("a", logs, {"x": 2}, tolerance=0.05).pvalue, losing("a", logs, {"x": 0}, tolerance=0.05).pvalue < 1e-4
    (1.0, True)
    """
    each = [
        _losing(drafter, _lost(one, picks[drafter]), allowed=-float(np.log1p(-tolerance)))
        for drafter, one in logs.items()
    ]
    return combine(each, test=name)


def _losing(drafter: str, lost: FloatArray, *, allowed: float) -> TestResult:
    known = lost[~np.isnan(lost)]
    if np.ptp(known) == 0:  # the pick is the fastest: no spread, no chance
        pvalue = float(known[0] <= allowed)
    else:
        pvalue = float(stats.ttest_1samp(known, allowed, alternative="greater").pvalue)
    return TestResult(test=drafter, statistic=float(known.mean()), pvalue=pvalue, n=len(known))


def _speeds(records: Sequence[RoundRecord], requests: Sequence[str], *, gamma: int) -> FloatArray:
    """Log tokens per second of full rounds, by request."""
    full = [one for one in records if one.gamma == gamma and one.committed > one.accepted]
    speeds = []
    for request in requests:
        own = [one for one in full if one.request == request]
        seconds = sum(one.seconds for one in own)
        speeds.append(np.log(sum(one.committed for one in own) / seconds) if own else np.nan)
    return np.array(speeds)


def _fastest(logs: Logs) -> int:
    return _largest({gamma: float(np.nanmean(values)) for gamma, values in logs.items()})


def _largest(speed: Mapping[int, float]) -> int:
    """The gamma of the largest speed; the smallest of equals [1]."""
    return max(sorted(speed), key=lambda gamma: speed[gamma])


def _lost(logs: Logs, pick: int) -> FloatArray:
    return np.asarray(logs[_fastest(logs)] - logs[pick])
