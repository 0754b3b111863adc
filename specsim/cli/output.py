"""What every command shares: the `--json` envelope, and results on stdout with all else on stderr."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
from rich.console import Console
from rich.table import Table

SCHEMA = 1

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Add `--json`: print the result as one JSON object, unrounded, in SI units."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object, in SI units.")(command)


def seed_option(command: Command) -> Command:
    """Add `--seed`."""
    return click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random generator.")(command)


def envelope(
    command: str, *, inputs: Mapping[str, Any], result: Any, assumptions: Sequence[str] = ()
) -> dict[str, Any]:
    """The JSON object that every command prints: schema, command, inputs, result, assumptions, version.

    Examples
    --------
    >>> envelope("tau", inputs={"gamma": 4}, result={"E_tokens": 2.0})["schema"]
    1
    """
    body = {
        "schema": SCHEMA,
        "command": command,
        "inputs": inputs,
        "result": result,
        "assumptions": list(assumptions),
        "version": metadata.version("specsim"),
    }
    plain: dict[str, Any] = json.loads(to_json(body))
    return plain


def to_json(body: Any, *, indent: int | None = None) -> str:
    """Strict JSON: numpy values become numbers and lists, non-finite numbers become null."""
    return json.dumps(_plain(body), indent=indent, allow_nan=False, ensure_ascii=False)


def emit(outcome: Mapping[str, Any], *, as_json: bool, tables: Sequence[Table | str] = ()) -> None:
    """Print the outcome: the JSON object, or sentences and tables for people."""
    if as_json:
        click.echo(to_json(outcome))
        return
    width = None if Console().is_terminal else 120
    console = Console(width=width, highlight=False, markup=False, emoji=False)  # names may hold [brackets]
    for part in tables:
        console.print(part)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> Table:
    """A table whose first column is left-aligned and whose other columns are right-aligned."""
    built = Table(title=title, title_justify="left", header_style="bold")
    for position, column in enumerate(columns):
        built.add_column(column, justify="left" if position == 0 else "right")
    for row in rows:
        built.add_row(*row)
    return built


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
