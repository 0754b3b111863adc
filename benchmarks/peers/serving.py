"""The peer's side: answers requests on stdin, one JSON object a line, with how long its queries took.

Runs with the peer's Python and needs the standard library only. A request is a seed and the name of a call.
"""

from __future__ import annotations

import json
import platform
import random
import sys
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import NamedTuple

BATCHES, CONTEXTS = (1, 256), (1, 30_000)
"""Smallest and largest of the scenarios asked for, as in the lists of `benchmarks.sweep`."""


class Call(NamedTuple):
    """One way to ask a peer.

    `prepare` makes inputs that were not asked before, which is not timed, and returns what runs the queries and says
    how many estimates they gave; `computes` and `lacks` compare an estimate with a scenario of specsim.
    """

    prepare: Callable[[random.Random], Callable[[], int]]
    computes: str
    lacks: str


def serve(package: str, calls: Mapping[str, Call]) -> None:
    """Say what can be asked, then answer until stdin ends."""
    _say(
        package=package,
        version=metadata.version(package),
        python=platform.python_version(),
        calls={name: {"computes": call.computes, "lacks": call.lacks} for name, call in calls.items()},
    )
    for line in sys.stdin:
        seed, name = line.strip().split(" ", 1)
        run = calls[name].prepare(random.Random(int(seed)))
        wall, cpu = time.perf_counter(), time.process_time()
        queries = run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        _say(
            queries=queries,
            wall_seconds=wall,
            cpu_seconds=cpu,
            queries_per_wall_second=queries / wall,
            queries_per_cpu_second=queries / cpu,
        )


def _say(**body: object) -> None:
    print(json.dumps(body), flush=True)
