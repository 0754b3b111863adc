"""A serving study as commands run it, and as the one object that they print."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from math import floor, log10
from typing import Any

from rich.console import Console
from rich.progress import Progress

from specsim import checks
from specsim.cli.output import envelope
from specsim.cli.serving_options import StudyOptions
from specsim.simulate.serving import Study, saturation, study
from specsim.units import significant

SHARES = (0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2)
"""Of what plain decoding can answer: the loads that are looked at where none are given."""
ASSUMPTIONS = (
    "first come, first served; prompts in chunks beside the rounds; the last admitted is preempted and begins again",
    "rounds are priced at the mean context of their batch; the drafter's own pass over prompts is left out",
    "percentiles leave out the tenth of the requests that came first, and the tenth that came last",
)


def run_study(options: StudyOptions) -> Study:
    """The study at the rates asked for, or around what plain decoding can answer."""
    checks.integer("workers", options.workers, low=1)
    rates = options.given_rates()
    servers = options.servers()
    if rates is None:
        rates = usual_rates(saturation(next(iter(servers.values())), options.requests))
    pool: Any = nullcontext() if options.workers == 1 else ProcessPoolExecutor(options.workers)
    shown = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with shown as bar, pool as executor:
        task = bar.add_task("serving", total=None)
        return study(
            servers,
            options.requests,
            rates=rates,
            promise=options.promise,
            seed=options.seed,
            executor=executor if isinstance(executor, Executor) else None,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def usual_rates(most: float) -> list[float]:
    """Loads around the most that can be answered, in two digits [1/s].

    Examples
    --------
    >>> usual_rates(21.7)
    [2.2, 6.5, 11.0, 15.0, 18.0, 22.0, 26.0]
    """
    return [round(share * most, 1 - floor(log10(share * most))) for share in SHARES]


def study_outcome(command: str, options: StudyOptions, found: Study, *, with_timelines: bool = False) -> dict[str, Any]:
    """The envelope: the answer in a sentence, and the frames of the study as rows."""
    frames = {"loads": found.loads, "latencies": found.latencies}
    frames |= {"timelines": found.timelines} if with_timelines else {}
    result = {
        "answer": answer(options, found),
        "load": load(options),
        "promise": found.promise,
        "most_requests_per_second": {policy: found.most(policy) for policy in found.loads["policy"].unique()},
        "frames": {name: _records(frame) for name, frame in frames.items()},
    }
    inputs = {name: value for name, value in vars(options).items() if name not in ("place", "assumed")}
    assumptions = [
        options.place.efficiency.source,
        f"acceptance {options.law.name}: {options.assumed.source}",
        *ASSUMPTIONS,
    ]
    return envelope(command, inputs=inputs, result=result, assumptions=assumptions)


def load(options: StudyOptions) -> str:
    """What is served on what, in a line."""
    place = options.place
    machine = f"{place.tensor_parallel} x {place.hardware.name}" if place.tensor_parallel > 1 else place.hardware.name
    spread = f", spread {options.spread:g}" if options.spread else ""
    return (
        f"{place.target.name} with {options.method} on {machine}; prompts of {options.prompt:g} tokens, answers of "
        f"{options.output:g}{spread}"
    )


def answer(options: StudyOptions, found: Study) -> str:
    """Up to which load each policy keeps the promise."""
    highest = float(found.loads["requests_per_second"].max())
    kept = [f"{policy} {_most(found.most(policy), highest)}" for policy in found.loads["policy"].unique()]
    return (
        f"A first token within {options.first_token:g} s and {1e3 * options.per_token:g} ms for each further one, kept "
        f"to 95 % of requests: {', '.join(kept)}."
    )


def _most(rate: float | None, highest: float) -> str:
    if rate is None:
        return "at none of these loads"
    return f"{'at least' if rate == highest else 'up to'} {significant(rate, digits=2)} requests/s"


def _records(frame: Any) -> list[Mapping[str, Any]]:
    """Rows with None where there is no number."""
    rows: list[Mapping[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return rows


def percentiles(seconds: Sequence[float]) -> str:
    """Times in one unit, that of the last.

    Examples
    --------
    >>> percentiles([0.03, 0.2, 1.5]), percentiles([0.0303, 0.2]), percentiles([])
    ('0.03/0.2/1.5 s', '30.3/200 ms', 'none')
    """
    if not len(seconds):
        return "none"
    unit, scale = ("ms", 1e3) if seconds[-1] < 1 else ("s", 1.0)
    shown = [f"{scale * value:.3g}" if scale * value < 1000 else f"{scale * value:.0f}" for value in seconds]
    return f"{'/'.join(shown)} {unit}"
