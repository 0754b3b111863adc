"""The child's side: runs an engine's cases in the engine's environment and keeps every result once it is there.

`python -m validation.claims.engines.run NAME --out FILE`; `specsim validate engines` makes the environment, calls it.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from specsim.cli.output import SCHEMA, to_json
from specsim.conformance.plan import LEVEL
from specsim.conformance.verdict import Verdict
from specsim.errors import InputError
from specsim.files import write_whole
from validation.claims.engines import engine
from validation.claims.engines.protocol import CRASHES, Case, Engine

SETUP = ("case", "drafter", "rule", "temperature", "gamma", "model", "budget")
"""What a stored row must share with a case in order to count as its result."""
DEVICE = ("cpu", "physical_cores", "logical_cores", "threads")
MEASURED = ("tokens", "requests", "verdict", "test", "hypothesis", "where", "smallest_tv")
AS_EXPECTED, OTHERWISE, BROKEN = 0, 1, 3


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option("--tokens", type=click.IntRange(min=1), help="Budget of every case, instead of its own.")
@click.option("--case", "wanted", default="", help="Only cases whose name holds this.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--fresh", is_flag=True, help="Repeat cases that the file holds already.")
def main(name: str, out: Path, tokens: int | None, wanted: str, seed: int, fresh: bool) -> None:
    """Run the cases of an engine and write them to a JSON file. Exit code 0 once all are there, 2 for bad input."""
    try:
        run(name, engine(name), out, tokens=tokens, wanted=wanted, seed=seed, fresh=fresh)
    except InputError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(InputError.exit_code)


def run(
    name: str,
    module: Engine,
    out: Path,
    *,
    tokens: int | None = None,
    wanted: str = "",
    seed: int = 0,
    fresh: bool = False,
) -> dict[str, Any]:
    """Run what `out` does not hold yet, and write it after every case.

    Parameters
    ----------
    name, module
        The engine.
    out
        JSON file; rows of the same engine, versions, seed and setup are kept.
    tokens
        Budget of every case, instead of its own [1].
    wanted
        Only cases whose name holds this are run.
    seed
        Of plans.
    fresh
        Whether cases that are there are run again.

    Raises
    ------
    InputError
        No case has such a name; a file that is no result, or cannot be written.
    """
    cases = module.cases()
    if not any(wanted in case.name for case in cases):
        raise InputError(
            f"case must be part of a name of {name}'s cases, got {wanted!r}: {[one.name for one in cases]}"
        )
    head = _head(name, module, seed=seed)
    rows = _kept(out, head, cases, tokens=tokens)
    for case in cases:
        if wanted in case.name and (fresh or case.name not in rows):
            rows[case.name] = _row(case, tokens=tokens or case.tokens, seed=seed)
            print(line(rows[case.name]), file=sys.stderr, flush=True)
        write_whole(out, to_json({**head, "cases": [rows[one.name] for one in cases if one.name in rows]}, indent=1))
    return json.loads(out.read_text())


def outcome(rows: Sequence[dict[str, Any]]) -> int:
    """Exit code: 0 when every case ended as expected, 3 when one crashed that should not have, 1 otherwise."""
    wrong = [row for row in rows if not row["as_expected"]]
    if any(row["verdict"] == CRASHES for row in wrong):
        return BROKEN
    return OTHERWISE if wrong else AS_EXPECTED


def line(row: dict[str, Any]) -> str:
    """One case for people."""
    expected = "as expected" if row["as_expected"] else f"EXPECTED {row['expected']}"
    why = f": {row['hypothesis']}" if row["hypothesis"] else ""
    return f"{row['case']}: {row['verdict']} after {row['tokens']} tokens, {row['seconds']:.0f} s, {expected}{why}"


def _head(name: str, module: Engine, *, seed: int) -> dict[str, Any]:
    from validation.timing import fingerprint, pin_threads

    pin_threads(1)
    device = fingerprint()
    return {
        "schema": SCHEMA,
        "engine": name,
        "versions": {package: metadata.version(package) for package in module.ENVIRONMENT.packages},
        "python": device["python"],
        "device": {key: device[key] for key in DEVICE},
        "seed": seed,
        "level": LEVEL,
    }


def _kept(out: Path, head: dict[str, Any], cases: Sequence[Case], *, tokens: int | None) -> dict[str, dict[str, Any]]:
    """Rows of `out` that are results of these cases under the same head; expectations are taken from the cases."""
    if not out.exists():
        return {}
    try:
        stored = json.loads(out.read_text())
        same = all(stored[key] == head[key] for key in ("engine", "versions", "seed", "level"))
        rows = {row["case"]: row for row in stored["cases"]}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{out} must hold results of an engine; remove it to begin anew") from None
    kept = {}
    for case in cases:
        row, setup = rows.get(case.name), _setup(case, tokens=tokens or case.tokens)
        if same and row and all(row[key] == setup[key] for key in SETUP) and row["verdict"] != CRASHES:
            kept[case.name] = _judged(case, setup, {key: row[key] for key in MEASURED}, row["seconds"])
    return kept


def _row(case: Case, *, tokens: int, seed: int) -> dict[str, Any]:
    start = perf_counter()
    try:
        verdict = case.run(tokens, seed)
    except Exception as error:  # whatever an engine raises is its result
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        verdict = Verdict(outcome=CRASHES, tokens=0, requests=0, level=LEVEL, hypothesis=text)
    measured = {"verdict": verdict.outcome, **{key: getattr(verdict, key) for key in MEASURED if key != "verdict"}}
    return _judged(case, _setup(case, tokens=tokens), measured, perf_counter() - start)


def _setup(case: Case, *, tokens: int) -> dict[str, Any]:
    own = {key: getattr(case, key) for key in ("drafter", "rule", "temperature", "gamma", "model")}
    return {"case": case.name, **own, "budget": tokens}


def _judged(case: Case, setup: dict[str, Any], measured: dict[str, Any], seconds: float) -> dict[str, Any]:
    judged = {
        "expected": case.expect,
        "as_expected": measured["verdict"] == case.expect,
        "seconds": round(seconds, 1),
        "note": case.note,
    }
    return {**setup, **measured, **judged, **({"finding": case.finding} if case.finding else {})}


if __name__ == "__main__":
    main()
