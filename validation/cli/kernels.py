"""`specsim kernels`: laws of GPU kernels, fitted to measured tables and judged on unseen shapes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import track

from specsim import checks
from specsim.cli.output import emit, envelope, json_option, table, to_json
from specsim.files import write_whole
from specsim.units import percent

if TYPE_CHECKING:
    from validation.kernels.run import EngineLaws

SOURCE = (
    "Shapes are held out whole: (n, k) of a multiplication; heads, their size and the window of attention; sizes of a "
    "mixture; bytes of an all-reduce.",
    "Errors: multiplications of up to 1024 rows, attention to caches above 200 MB, a dense step's kernels alone.",
)

tables_option = click.option(
    "--tables", type=click.Path(file_okay=False, path_type=Path), help="Instead of the installed package's."
)
gpu_option = click.option("--gpu", "gpu_name", help="One GPU, by its catalogue name; all by default.")
engine_option = click.option("--engine", help="vllm, sglang or trtllm; all by default.")
workers_option = click.option("--workers", type=int, default=1, show_default=True, help="Processes that fit.")


@click.group()
def kernels() -> None:
    """Laws of GPU kernels: fit them to measured tables, and say how well they predict shapes left out."""


@kernels.command()
@gpu_option
@engine_option
@tables_option
@workers_option
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the files.")
@json_option
def fit(gpu_name: str | None, engine: str | None, tables: Path | None, workers: int, out: Path, as_json: bool) -> None:
    """Fit every law and write the catalogue's coefficients, one TOML file per GPU."""
    from validation.kernels.report import catalogue_file

    found = _found(gpu_name, engine, tables, workers, every_version=False)
    files = {}
    for name, laws in groupby(found, key=lambda each: each.gpu.name):  # a file is written once its GPU is done
        files[name] = out / f"{name}.toml"
        write_whole(files[name], catalogue_file(laws))
    inputs = {"gpu": gpu_name, "engine": engine, "tables": tables, "out": out}
    outcome = envelope("kernels fit", inputs=inputs, result={"files": files}, assumptions=SOURCE)
    emit(outcome, as_json=as_json, tables=[f"{name}: {file}" for name, file in files.items()])


@kernels.command()
@gpu_option
@engine_option
@tables_option
@workers_option
@click.option("--stored", is_flag=True, help="What the catalogue holds of the newest versions; fits nothing.")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Also write the JSON object here.")
@json_option
def report(
    gpu_name: str | None,
    engine: str | None,
    tables: Path | None,
    workers: int,
    stored: bool,
    save: Path | None,
    as_json: bool,
) -> None:
    """Errors on shapes that the fit had not seen, beside those of the datasheet's roofline, for every version."""
    from validation.kernels.report import error_rows

    if stored:
        rows = _stored_rows(gpu_name, engine)
    else:
        rows = [
            row for each in _found(gpu_name, engine, tables, workers, every_version=True) for row in error_rows(each)
        ]
    inputs = {"gpu": gpu_name, "engine": engine, "tables": tables, "stored": stored}
    outcome = envelope("kernels report", inputs=inputs, result={"rows": rows}, assumptions=SOURCE)
    if save is not None:
        write_whole(save, to_json(outcome, indent=1))
    columns = ["GPU", "engine", "law", "shapes", "rows", "error", "95 % interval", "datasheet"]
    emit(outcome, as_json=as_json, tables=[table(columns, [_line(row) for row in rows]), *SOURCE])


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    interval = f"{percent(row['error_low'])} to {percent(row['error_high'])}"
    engine = f"{row['engine']} {row['version']}"
    sizes = (str(row["shapes"]), str(row["rows"]))
    return (row["gpu"], engine, row["law"], *sizes, percent(row["error"]), interval, percent(row["naive"]))


def _found(
    gpu_name: str | None, engine: str | None, tables: Path | None, workers: int, *, every_version: bool
) -> Iterator[EngineLaws]:
    """Fit what was asked for, in several processes where wanted, under a progress bar on stderr."""
    from validation.kernels.gpus import ENGINES, GPUS, gpu
    from validation.kernels.run import engine_laws, jobs
    from validation.kernels.tables import tables_folder

    folder = tables_folder(tables)
    gpus = [gpu(gpu_name).folder] if gpu_name else list(GPUS)
    engines = [checks.one_of("engine", engine, ENGINES)] if engine else list(ENGINES)
    todo = jobs(folder, gpus=gpus, engines=engines, every_version=every_version)
    processes, one = checks.integer("workers", workers, low=1), partial(engine_laws, folder)
    console = Console(stderr=True)
    with ProcessPoolExecutor(processes) if processes > 1 else nullcontext() as pool:
        found = pool.map(one, todo) if pool else map(one, todo)
        yield from track(found, "fitting", total=len(todo), console=console, disable=not console.is_terminal)


def _stored_rows(gpu_name: str | None, engine: str | None) -> list[dict[str, Any]]:
    from specsim.roofline.fitted import fitted_names, stored_errors

    names = [gpu_name] if gpu_name else fitted_names()
    rows = [row for name in names for row in stored_errors(name)]
    return [row for row in rows if engine in (None, row["engine"])]
