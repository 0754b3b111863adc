"""The benchmark's side: a peer in a process of its own, asked over pipes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import click

ONE_THREAD = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Took:
    """What a run gave, and how long it took.

    Parameters
    ----------
    count : int
        Scenarios or estimates [1].
    wall_seconds, cpu_seconds : float
        Elapsed, and of all processors together [s].
    """

    count: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def wall_per_item(self) -> float:
        """Elapsed time of one [s]."""
        return self.wall_seconds / self.count

    @property
    def cpu_per_item(self) -> float:
        """Processor time of one [s]."""
        return self.cpu_seconds / self.count


class Peer:
    """One process of a peer; it waits between requests and takes no processor then.

    Parameters
    ----------
    python, script : path
        Interpreter of the environment that the peer is installed in, and what it runs.
    """

    def __init__(self, python: Path, script: Path) -> None:
        self._process = subprocess.Popen(
            [os.fspath(python), os.fspath(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        self.name = script.stem
        try:
            self.about = self._read()
        except click.ClickException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # closes its stdin, at which it ends

    def ask(self, call: str, *, seed: int) -> None:
        """Send a request."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seed} {call}\n")
        self._process.stdin.flush()

    def answer(self) -> Took:
        """Wait for what was asked."""
        body = self._read()
        return Took(count=body["queries"], wall_seconds=body["wall_seconds"], cpu_seconds=body["cpu_seconds"])

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise click.ClickException(f"{self.name} ended; stderr says why")
        body: dict[str, Any] = json.loads(line)
        return body


def asked(processes: Sequence[Peer], call: str, seed: int) -> Took:
    """The same call in several processes at once, each with other inputs; the slowest says how long it took."""
    for place, peer in enumerate(processes):
        peer.ask(call, seed=seed * len(processes) + place)
    answers = [peer.answer() for peer in processes]
    return Took(
        count=sum(answer.count for answer in answers),
        wall_seconds=max(answer.wall_seconds for answer in answers),
        cpu_seconds=sum(answer.cpu_seconds for answer in answers),
    )
