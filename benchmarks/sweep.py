"""Scenarios per second of a sweep, beside other tools' estimates: `OMP_NUM_THREADS=1 python -m benchmarks.sweep`.

A scenario is a whole row: tokens per round, draft, verify and round seconds, a plain step, speedup and tokens/s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from benchmarks.peers.client import Peer, Took, asked
from benchmarks.peers.serving import BATCHES, CONTEXTS
from benchmarks.timing import LEVEL, Ratio, median_interval, options, ratio
from specsim.cli.output import emit, envelope, table
from specsim.sweep import sweep, sweep_list
from specsim.units import human, significant

SHARED = {
    "model": ["Llama-3.1-8B", "Llama-3.1-70B"],
    "hardware": ["H100-SXM", "H200-SXM"],
    "method": ["eagle3", "pard"],
}
"""Of the factorial and the mixed list; both parts have a fit of their own."""
MESH = {"gamma": range(1, 9), "batch": range(16, 257, 16), "context": range(1_000, 16_001, 1_000)}
ALPHAS = (0.3, 0.95)
LEAST = int(np.prod([len(values) for values in (*SHARED.values(), *MESH.values())]))
EFFICIENCIES = {"fitted": "default", "assumed": "assumed", "ideal": "ideal"}
WORKERS = (1, 2)
POOLS = ("threads", "processes")
PEERS = {"ridgepoint": "ridgepoint_query.py", "aiconfigurator": "aiconfigurator_query.py"}
NOTES = (
    "a scenario: tau, draft, verify, round and plain seconds, speedup, tokens/s; all differ; returned as a DataFrame",
    "factorial and mixed list: two models, two GPUs, two methods; list: one of each, which one worker computes",
    "aims with two workers: 3 M scenarios/s; 10 times ridgepoint; 100 times aiconfigurator",
)
RATIO_NOTE = "times as fast as a peer, one worker by seconds of the processor, two by the clock on the wall"
HOW_TO_GET_PEERS = (
    "without peers; to compare, in a Python 3.11 environment of its own: pip install ridgepoint aiconfigurator-core, "
    "then give --peer-python PATH/bin/python"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Something timed with so many workers; `run` takes the repeat's number."""

    what: str
    workers: int
    run: Callable[[int], Took]

    @property
    def name(self) -> str:
        """Its own in a run."""
        return f"{self.what}, {self.workers} worker{'s' if self.workers > 1 else ''}"


def listed(scenarios: int, shared: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Scenarios in no order; no two have the same acceptance."""
    rng = np.random.default_rng(0)
    numbers = {
        "alpha": rng.permutation(np.linspace(*ALPHAS, scenarios)),
        "gamma": rng.choice(MESH["gamma"], scenarios),
        "batch": rng.integers(*BATCHES, scenarios, endpoint=True),
        "context": rng.integers(*CONTEXTS, scenarios, endpoint=True),
    }
    return pd.DataFrame(numbers | {name: rng.choice(values, scenarios) for name, values in shared.items()})


def swept(run: Callable[[], pd.DataFrame], _: int, *, counts_cpu: bool) -> Took:
    """A sweep; what worker processes take of the processor is not counted, and not a number then."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = len(run())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Took(count=count, wall_seconds=wall, cpu_seconds=cpu if counts_cpu else np.nan)


def own_tasks(scenarios: int, executor: Executor) -> Iterator[Task]:
    """What specsim sweeps, with each efficiency and both numbers of workers."""
    axes: dict[str, Any] = SHARED | MESH | {"alpha": np.linspace(*ALPHAS, scenarios // LEAST)}
    kinds: dict[str, Callable[..., pd.DataFrame]] = {
        "factorial": partial(sweep, axes),
        "list": partial(sweep_list, listed(scenarios, {})),
        "mixed list": partial(sweep_list, listed(scenarios, SHARED)),
    }
    for (kind, run), efficiency, workers in product(kinds.items(), EFFICIENCIES, WORKERS):
        given = partial(run, efficiency=EFFICIENCIES[efficiency], executor=executor if workers > 1 else None)
        counts_cpu = workers == 1 or isinstance(executor, ThreadPoolExecutor)
        yield Task(what=f"{kind}, {efficiency}", workers=workers, run=partial(swept, given, counts_cpu=counts_cpu))


def started(python: Path, stack: ExitStack) -> dict[str, list[Peer]]:
    """As many processes of each peer as the most workers; the stack ends them."""
    folder = Path(__file__).parent / "peers"
    return {
        name: [stack.enter_context(Peer(python, folder / script)) for _ in range(WORKERS[-1])]
        for name, script in PEERS.items()
    }


def peer_tasks(name: str, processes: Sequence[Peer]) -> Iterator[Task]:
    """What a peer is asked, in one process and in two."""
    for call, workers in product(processes[0].about["calls"], WORKERS):
        yield Task(what=f"{name}: {call}", workers=workers, run=partial(asked, processes[:workers], call))


def measured(tasks: Sequence[Task], *, repeats: int) -> dict[str, list[Took]]:
    """One task after the other in every repeat, after one repeat that is not counted."""
    runs: dict[str, list[Took]] = {task.name: [] for task in tasks}
    for repeat in range(repeats + 1):
        for task in tasks:
            took = task.run(repeat)
            if repeat:
                runs[task.name].append(took)
    return runs


def ratios(own: Sequence[Task], peers: Sequence[Task], runs: Mapping[str, Sequence[Took]]) -> list[Ratio]:
    """How many times as fast each sweep is as each call of a peer with as many workers."""
    seconds = {
        task.name: [took.wall_per_item if task.workers > 1 else took.cpu_per_item for took in runs[task.name]]
        for task in (*own, *peers)
    }
    return [
        ratio(seconds, name=mine.name, time_of=theirs.name, over=mine.name)
        for mine, theirs in product(own, peers)
        if mine.workers == theirs.workers
    ]


@click.command()
@click.option("--scenarios", type=click.IntRange(min=LEAST), default=1 << 20, show_default=True, help="In each sweep.")
@click.option("--pool", type=click.Choice(POOLS), default=POOLS[0], show_default=True, help="What two workers are.")
@click.option("--peer-python", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="That has the peers.")
@options
def main(scenarios: int, pool: str, peer_python: Path | None, repeats: int, as_json: bool) -> None:
    """Scenarios per second of a sweep, with peers' estimates per second in the same run."""
    with ExitStack() as stack:
        executor = stack.enter_context((ThreadPoolExecutor if pool == "threads" else ProcessPoolExecutor)(WORKERS[-1]))
        peers = started(peer_python, stack) if peer_python else {}
        own = list(own_tasks(scenarios, executor))
        others = [task for name, processes in peers.items() for task in peer_tasks(name, processes)]
        runs = measured([*own, *others], repeats=repeats)
        about = {name: processes[0].about for name, processes in peers.items()}
    found = ratios(own, others, runs)
    inputs = {"scenarios": scenarios, "pool": pool, "peer_python": peer_python, "repeats": repeats}
    notes = [*NOTES, *([RATIO_NOTE] if about else [HOW_TO_GET_PEERS]), *_peer_notes(about)]
    machine = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "numpy": np.__version__,
        "pandas": pd.__version__,
    }
    rates = {name: _rates(each) for name, each in runs.items()}
    emit(
        envelope(
            "benchmarks.sweep",
            inputs=inputs,
            result={"machine": machine, "peers": about, "rates": rates, "ratios": found},
            assumptions=notes,
        ),
        as_json=as_json,
        tables=[_rate_table(rates), *(_ratio_table(name, found) for name in about), *notes],
    )


def _rates(each: Sequence[Took]) -> dict[str, float]:
    """Medians, and the interval of the rate by the wall [1/s]."""
    wall = 1 / np.array([took.wall_per_item for took in each])
    low, high = median_interval(wall)
    cpu = float(np.median([1 / took.cpu_per_item for took in each]))
    return {"per_second": float(np.median(wall)), "low": low, "high": high, "per_cpu_second": cpu, "n": len(each)}


def _rate_table(rates: Mapping[str, Mapping[str, float]]) -> Any:
    cells = [
        (
            name,
            human(rate["per_second"]),
            f"{human(rate['low'])}..{human(rate['high'])}",
            human(rate["per_cpu_second"]),
            str(rate["n"]),
        )
        for name, rate in rates.items()
    ]
    return table(["what", "per second", f"{LEVEL:.0%}", "per second of a core", "n"], cells)


def _ratio_table(peer: str, found: Sequence[Ratio]) -> Any:
    """A row a sweep, a column a call of this peer."""
    cells: dict[str, dict[str, str]] = {}
    for entry in found:
        name, _, call = entry.time_of.rpartition(",")[0].partition(": ")
        if name == peer:
            interval = f"{significant(entry.low)}..{significant(entry.high)}"
            cells.setdefault(entry.name, {})[call] = f"{significant(entry.value)} ({interval})"
    calls = list(next(iter(cells.values())))
    rows = [(name, *row.values()) for name, row in cells.items()]
    return table(["sweep", *calls], rows, title=f"times as fast as {peer} ({LEVEL:.0%})")


def _peer_notes(about: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {call} ({peer['package']} {peer['version']}) computes {text['computes']}; lacks {text['lacks']}"
        for name, peer in about.items()
        for call, text in peer["calls"].items()
    ]


if __name__ == "__main__":
    main()
