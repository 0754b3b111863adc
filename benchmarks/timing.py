"""Timing of things side by side: interleaved, as ratios, with an interval."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
import numpy as np
from scipy import stats

from specsim.cli.output import emit, envelope, json_option, table
from specsim.errors import InputError
from specsim.units import human, significant

LEVEL = 0.95
LEAST_REPEATS = 6
"""The fewest for an interval of the median at 95 %: the whole range of them."""

Tasks = Mapping[str, Callable[[], Any]]
Seconds = Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ratio:
    """One time over another, in the same repeats.

    Parameters
    ----------
    name : str
        What it is about.
    time_of, over : str
        The two things timed.
    seconds : float
        Median time of `name` [s].
    value, low, high : float
        Median of the ratio, and an interval of it from order statistics [1].
    n : int
        Repeats [1].
    """

    name: str
    time_of: str
    over: str
    seconds: float
    value: float
    low: float
    high: float
    n: int


def interleaved(tasks: Tasks, *, repeats: int) -> dict[str, list[float]]:
    """Seconds of each task, one after the other in every repeat, after one repeat that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if repeat:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: Seconds, *, name: str, over: str, time_of: str | None = None) -> Ratio:
    """The time of `name`, or of something else that says more about it, over that of another task."""
    each = np.divide(seconds[time_of or name], seconds[over])
    low, high = median_interval(each)
    return Ratio(
        name=name,
        time_of=time_of or name,
        over=over,
        seconds=float(np.median(seconds[name])),
        value=float(np.median(each)),
        low=low,
        high=high,
        n=each.size,
    )


def median_interval(values: np.ndarray) -> tuple[float, float]:
    """The narrowest pair of order statistics that covers the median with 95 % whatever the law."""
    ordered, n = np.sort(values), len(values)
    inner = max((k for k in range(n // 2) if 2 * stats.binom.cdf(k, n, 0.5) <= 1 - LEVEL), default=0)
    return float(ordered[inner]), float(ordered[n - 1 - inner])


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--repeats` and `--json`; what the command refuses becomes one line and exit code 2."""

    @wraps(command)
    def refusing(*arguments: Any, **named: Any) -> Any:
        try:
            return command(*arguments, **named)
        except InputError as error:
            raise click.UsageError(str(error)) from error

    repeats = click.IntRange(min=LEAST_REPEATS)
    return click.option("--repeats", type=repeats, default=7, show_default=True)(json_option(refusing))


def report(
    name: str, ratios: Sequence[Ratio], *, inputs: Mapping[str, Any], notes: Sequence[str], as_json: bool
) -> None:
    """Print the ratios as a table or as JSON, with what they were measured on."""
    cells = [
        (
            entry.name,
            human(entry.seconds, "s"),
            significant(entry.value),
            f"{significant(entry.low)}..{significant(entry.high)}",
            str(entry.n),
        )
        for entry in ratios
    ]
    columns = ["what", "time", "ratio", f"{LEVEL:.0%}", "n"]
    machine = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "numpy": np.__version__,
    }
    emit(
        envelope(name, inputs=inputs, result={"machine": machine, "ratios": list(ratios)}, assumptions=notes),
        as_json=as_json,
        tables=[table(columns, cells), *notes],
    )
