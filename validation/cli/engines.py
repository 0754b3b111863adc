"""`specsim validate engines`: decoders that others wrote, each in its own environment, held to their target's law."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from specsim import checks
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.errors import InputError, SpecsimError

ALL = "all"
RESULTS = Path(__file__).resolve().parents[1] / "results" / "engines"
ALONE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
"""Of an engine's process: one core, so that results are comparable, and no model from anywhere."""
COLUMNS = ["case", "T", "gamma", "tokens", "verdict", "as expected", "smallest TV"]


class EngineError(SpecsimError):
    """An engine's process ended without saying what it found."""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME ...|all]")
@click.option("--list", "is_list", is_flag=True, help="Only name the engines and what is installed for them.")
@click.option("--environments", type=click.Path(file_okay=False, path_type=Path), help="Folder; by default your cache.")
@click.option("--tokens", type=click.IntRange(min=1), help="Budget of every case, instead of its own.")
@click.option("--case", "wanted", default="", help="Only cases whose name holds this.")
@click.option("--fresh", is_flag=True, help="Repeat cases that the results hold already.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=RESULTS, help="Folder of results, one file each."
)
@seed_option
@json_option
def engines(
    names: tuple[str, ...],
    is_list: bool,
    environments: Path | None,
    tokens: int | None,
    wanted: str,
    fresh: bool,
    out: Path,
    seed: int,
    as_json: bool,
) -> int:
    """Run engines that others wrote. Exit code 1 where a case ends otherwise than expected, 3 where one breaks."""
    from validation.claims.engines import ENGINES, engine
    from validation.claims.engines.environment import ready
    from validation.claims.engines.run import outcome
    from validation.decoder.load import user_cache

    modules = {name: engine(name) for name in _chosen(names, ENGINES, is_list=is_list)}
    inputs = {"names": names, "list": is_list, "tokens": tokens, "case": wanted, "fresh": fresh, "seed": seed}
    if is_list:
        needs = {name: module.ENVIRONMENT for name, module in modules.items()}
        lines = [f"{name}: {' '.join((*need.requirements, *need.bare))}" for name, need in needs.items()]
        emit(envelope("validate engines", inputs=inputs, result={"engines": needs}), as_json=as_json, tables=lines)
        return 0
    folder = environments or user_cache() / "engines"
    options = ["--seed", str(seed), "--case", wanted, *(["--fresh"] if fresh else [])]
    options += ["--tokens", str(tokens)] if tokens else []
    found = {
        name: run_in(ready(name, module.ENVIRONMENT, folder=folder), name, out / f"{name}.json", options)
        for name, module in modules.items()
    }
    said = envelope("validate engines", inputs=inputs, result={"engines": found})
    emit(said, as_json=as_json, tables=[_table(result) for result in found.values()])
    return max(outcome(result["cases"]) for result in found.values())


def run_in(python: Path, name: str, out: Path, options: Sequence[str]) -> dict[str, Any]:
    """Run an engine's cases with another Python and return what it wrote to `out`.

    Raises
    ------
    InputError
        The child refused what it was asked; it has said why on stderr.
    EngineError
        The child ended in any other way than by finishing; `out` keeps the cases until then.
    """
    command = [str(python), "-P", "-m", "validation.claims.engines.run", name, "--out", str(out.resolve()), *options]
    code = subprocess.run(command, stdout=2, env=os.environ | ALONE, check=False).returncode
    if code == InputError.exit_code:
        raise InputError(f"{name} cannot be run like this; its process says why")
    if code:
        raise EngineError(f"the process of {name} ended with code {code}; finished cases are kept in {out}")
    result: dict[str, Any] = json.loads(out.read_text())
    return result


def _chosen(names: Sequence[str], known: Iterable[str], *, is_list: bool) -> list[str]:
    if ALL in names or (is_list and not names):
        return list(known)
    if not names:
        raise InputError(f"name an engine, or {ALL}; known are {', '.join(known)}")
    return [checks.one_of("engine", name, known) for name in names]


def _table(result: dict[str, Any]) -> Table:
    versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items())
    return table(COLUMNS, [_line(row) for row in result["cases"]], title=f"{result['engine']} ({versions})")


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    temperature, gamma = ("-" if row[key] is None else f"{row[key]:g}" for key in ("temperature", "gamma"))
    expected = "yes" if row["as_expected"] else f"no, {row['expected']}"
    return (row["case"], temperature, gamma, str(row["tokens"]), row["verdict"], expected, f"{row['smallest_tv']:.2g}")
