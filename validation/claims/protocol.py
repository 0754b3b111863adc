"""What a claim is asked, what it answers, and how its numbers become a verdict."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from specsim import checks
from specsim.errors import InputError
from specsim.stats import TestResult

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.load import Loaded

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"


class LeftOutError(InputError):
    """A claim that cannot be put to this target, whatever it is told; others can."""


def _silent(fraction: float) -> None:
    """Report to nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What every claim can be told; what is special to one claim is a field of that claim.

    Parameters
    ----------
    seed : int
        Of everything random.
    level : float
        False-alarm rate of the claim as a whole, in (0, 1] [1].
    budget : float
        Sizes are multiplied by it; 1 takes about half a minute a claim on two cores [1].
    model : str | None
        Folder, GGUF file or hub name; None for the default model. See `validation.decoder.load`.
    drafter : str | None
        A draft model of the same vocabulary, or the file of a trained head; None for drafters that come from the target
        itself.
    device : str
        "cpu", "cuda" or "auto".
    cache_dir : Path | None
        Where the default model is kept.
    loaded : Loaded | None
        A float32 model that is already in memory; `model`, `device` and `cache_dir` are then not read.
    batch : int | None
        Most sequences side by side, for a device with little memory; None for what a claim takes by itself [1].
    workers : int
        Processes that a claim may use where its work falls into parts; results do not depend on it [1].
    progress : callable
        Called now and then with the fraction done, rising from 0 to 1.
    """

    seed: int = 0
    level: float = 1e-6
    budget: float = 1.0
    model: str | None = None
    drafter: str | None = None
    device: str = "auto"
    cache_dir: Path | None = None
    loaded: Loaded | None = None
    batch: int | None = None
    workers: int = 1
    progress: Callable[[float], None] = _silent

    def __post_init__(self) -> None:
        checks.integer("seed", self.seed)
        checks.number("level", self.level, low=0, high=1, open_low=True)
        checks.positive("budget", self.budget)
        checks.integer("workers", self.workers, low=1)
        if self.batch is not None:
            checks.integer("batch", self.batch, low=1)

    def executor(self) -> Executor:
        """Where parts of a claim's work run; new processes start afresh, since forking a busy torch is not safe."""
        if self.workers == 1:
            return ThreadPoolExecutor(1)
        return ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))

    @property
    def widest(self) -> float:
        """Most sequences side by side, infinite by default [1]."""
        return math.inf if self.batch is None else self.batch

    def scaled(self, size: int, *, least: int = 1) -> int:
        """A size under the budget, never below `least`."""
        return max(least, round(size * self.budget))


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """A fault planted in the same run, at a size no larger than the run's own: it has to be caught.

    Parameters
    ----------
    fault : str
        What was planted.
    n : int
        Size at which it was looked for, in the claim's unit [1].
    pvalue : float
        Of the claim's own test on the faulty data [1].
    caught : bool
        Whether that is at most the claim's level.
    """

    fault: str
    n: int
    pvalue: float
    caught: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimResult:
    """What a claim found.

    Parameters
    ----------
    test : str
        Name of the claim.
    model : str
        On what it was measured.
    n : int
        How much was measured, in `unit` [1].
    unit : str
        What `n` counts.
    pvalue : float
        Of the claim; a check without chance gives 1 or 0 [1].
    level : float
        False-alarm rate it was judged at [1].
    verdict : str
        "passed"; "failed"; or "inconclusive" when the claim stands but a planted fault was not caught either.
    statistic : float
        Of the test [1].
    smallest_total_variation : float | None
        Smallest departure that this run was sure to catch with probability 0.99; None for checks without chance [1].
    controls : tuple of Control
        Planted faults.
    figures : Mapping[str, float]
        Further numbers.
    histograms : Mapping[str, tuple of int]
        Counts on equal bins of [0, 1] by name, where the claim has any.
    median_abs_error : float | None
        Of predictions on held-out settings, relative; None for claims that predict no number [1].
    rows : tuple of Mapping
        One per setting, for claims that have several: what was predicted and measured, with intervals.
    detail : str
        One line for people.
    """

    test: str
    model: str
    n: int
    unit: str
    pvalue: float
    level: float
    verdict: str
    statistic: float
    smallest_total_variation: float | None = None
    controls: tuple[Control, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    median_abs_error: float | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the claim stands and the run could have refuted it."""
        return self.verdict == PASSED

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, `passed` among them; an infinite statistic becomes None."""
        return {
            "test": self.test,
            "model": self.model,
            "n": self.n,
            "unit": self.unit,
            "pvalue": self.pvalue,
            "passed": self.passed,
            "verdict": self.verdict,
            "level": self.level,
            "statistic": self.statistic if math.isfinite(self.statistic) else None,
            "smallest_total_variation": self.smallest_total_variation,
            "controls": [{"fault": c.fault, "n": c.n, "pvalue": c.pvalue, "caught": c.caught} for c in self.controls],
            "figures": dict(self.figures),
            "histograms": {name: list(counts) for name, counts in self.histograms.items()},
            "median_abs_error": self.median_abs_error,
            "rows": [dict(row) for row in self.rows],
            "detail": self.detail,
        }


class Claim(Protocol):
    """One claim about the decoder: predict, measure, judge; one file and one line in `CLAIMS` each."""

    @property
    def name(self) -> str:
        """The key in `CLAIMS`."""

    def run(self, settings: Settings) -> ClaimResult:
        """Measure and judge."""


def summary(claim: Claim) -> str:
    """The claim in one line: the first of its docstring."""
    return (inspect.getdoc(claim) or claim.name).splitlines()[0]


def verdict(result: TestResult, *, level: float, controls: Sequence[Control]) -> str:
    """Failed if the null falls; inconclusive if it stands but a planted fault stood as well; else passed.

    Examples
    --------
    >>> result = TestResult(test="a", statistic=1.0, pvalue=0.3, n=10)
    >>> verdict(result, level=0.01, controls=[Control(fault="b", n=10, pvalue=0.2, caught=False)])
    'inconclusive'
    """
    if not result.passed(level):
        return FAILED
    return PASSED if all(control.caught for control in controls) else INCONCLUSIVE


def certain(name: str, *, holds: bool, n: int, statistic: float, detail: str = "") -> TestResult:
    """The result of a check without chance: p-value 1 if it holds, 0 if not."""
    return TestResult(test=name, statistic=statistic, pvalue=float(holds), n=n, detail=detail)
