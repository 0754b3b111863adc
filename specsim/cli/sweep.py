"""`specsim sweep`: every combination of inputs, to a file or as a table."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.console import Console
from rich.progress import Progress

from specsim import checks
from specsim.cli.chart import chart_options, check_chart, save_chart
from specsim.cli.output import emit, envelope, json_option, table, to_json
from specsim.errors import InputError
from specsim.files import ready_folder, write_whole
from specsim.sweep import AXES, EFFICIENCIES, sweep, sweep_list
from specsim.units import significant

FLOATS = ("alpha",)
WORDS = ("model", "hardware", "method")
SHOWN = 20
TEXT = {".csv", ".jsonl"}


@click.command("sweep")
@click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values of an input, separated by commas, or FIRST:LAST:STEP. " + f"Inputs: {', '.join(AXES)}.",
)
@click.option("--list", "listed", type=click.Path(path_type=Path), help="CSV of scenarios, one a row, instead of axes.")
@click.option("--efficiency", default="default", show_default=True, help=f"One of {', '.join(EFFICIENCIES)}.")
@click.option("--out", type=click.Path(path_type=Path), help="Write all rows: .csv or .jsonl.")
@click.option(
    "--resume", type=click.Path(path_type=Path), help="Folder that keeps what is done, to go on after a stop."
)
@click.option("--workers", type=int, default=1, show_default=True, help="Processes.")
@chart_options
@json_option
def sweep_command(
    axes: tuple[str, ...],
    listed: Path | None,
    efficiency: str,
    out: Path | None,
    resume: Path | None,
    workers: int,
    chart: Path | None,
    theme: str,
    as_json: bool,
) -> None:
    """Every combination of inputs, as rows of tokens per round, seconds, speedup and throughput."""
    if bool(axes) == (listed is not None):
        raise InputError("give either --axis or --list")
    checks.one_of("efficiency", efficiency, EFFICIENCIES)
    if out is not None and out.suffix not in TEXT:
        raise InputError(f"out must end in {' or '.join(sorted(TEXT))}, got {out.name}")
    check_chart(chart, theme=theme)
    asked = _axes(axes) if listed is None else _read(listed)
    if chart is not None:
        from specsim.cli.drawn import swept_besides

        swept_besides(asked)
    if out is not None:
        ready_folder(out.parent)  # before the work, not after it
    frame = _swept(asked, efficiency=efficiency, resume=resume, workers=workers)
    if out is not None:
        write_whole(out, _text(frame, out.suffix))
    if chart is not None:
        from specsim.cli.drawn import sweep_chart

        save_chart(sweep_chart(frame, efficiency=efficiency, theme=theme), chart)
    best = frame[frame["fits"]].nlargest(SHOWN, "speedup")
    result: dict[str, Any] = {"rows": len(frame), "out": out, "best": best.to_dict(orient="records")}
    inputs = {"axes": list(axes), "list": listed, "efficiency": efficiency, "workers": workers, "chart": chart}
    where = f", written to {out}" if out else ""
    columns = [name for name in frame if frame[name].nunique(dropna=False) > 1 or name in ("speedup", "E_tokens")]
    rows = [[_cell(value) for value in row] for row in best[columns].itertuples(index=False)]
    ranking = table([str(name) for name in columns], rows)
    shown = "The fastest that fit the memory:" if rows else "None fits the memory."
    emit(
        envelope("sweep", inputs=inputs, result=result),
        as_json=as_json,
        tables=[f"{len(frame)} scenarios{where}. {shown}", *([ranking] if rows else [])],
    )


def _swept(
    asked: dict[str, list[Any]] | pd.DataFrame, *, efficiency: str, resume: Path | None, workers: int
) -> pd.DataFrame:
    pool: Any = nullcontext() if checks.integer("workers", workers, low=1) == 1 else ProcessPoolExecutor(workers)
    shown = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with shown as bar, pool as executor:
        task = bar.add_task("sweep", total=None)
        options: dict[str, Any] = {
            "efficiency": efficiency,
            "executor": executor if isinstance(executor, Executor) else None,
            "progress": lambda done, total: bar.update(task, completed=done, total=total),
            "folder": resume,
        }
        return sweep(asked, **options) if isinstance(asked, dict) else sweep_list(asked, **options)


def _axes(texts: tuple[str, ...]) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {}
    for name, values in map(_axis, texts):
        if name in axes:
            raise InputError(f"axis {name} must be given once, with all its values")
        axes[name] = values
    return axes


def _axis(text: str) -> tuple[str, list[Any]]:
    """Name and values.

    Examples
    --------
    >>> _axis("gamma=1:7:2"), _axis("alpha=0.5,0.7")
    (('gamma', [1, 3, 5, 7]), ('alpha', [0.5, 0.7]))
    """
    name, sign, values = text.partition("=")
    checks.one_of("axis", name, AXES)
    if not sign or not values:
        raise InputError(f"axis must be NAME=VALUES, got {text!r}")
    if name in WORDS:
        return name, values.split(",")
    try:
        if ":" in values:
            first, last, step = (int(part) for part in values.split(":"))
            return name, list(range(first, last + 1, step))
        return name, [float(part) if name in FLOATS else int(part) for part in values.split(",")]
    except ValueError:
        kind = "numbers" if name in FLOATS else "whole numbers, or FIRST:LAST:STEP"
        raise InputError(f"axis {name} must have {kind}, got {values!r}") from None


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is no CSV: {error}") from None


def _text(frame: pd.DataFrame, suffix: str) -> str:
    if suffix == ".csv":
        return frame.to_csv(index=False)
    return "".join(f"{to_json(row)}\n" for row in frame.to_dict(orient="records"))


def _cell(value: Any) -> str:
    return significant(value) if isinstance(value, float) else str(value)
