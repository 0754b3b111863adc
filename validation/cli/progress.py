"""Progress bars on stderr for work that reports a title and a fraction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from validation.demo.run import Progress as Report


@contextmanager
def bars() -> Iterator[Report]:
    """One bar per title, in the order of appearance; plain lines where stderr is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def report(title: str, fraction: float) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=1.0)
                if not console.is_terminal:
                    console.print(title)
            progress.update(tasks[title], completed=fraction)

        yield report
