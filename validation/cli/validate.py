"""`specsim validate`: the claims about the decoder, one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.table import Table

from specsim import checks
from specsim.cli.main import run as specsim
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.errors import InputError
from validation.cli.engines import engines
from validation.cli.train import train


def main() -> NoReturn:
    """`specsim-validation`: `specsim validate` under a name of its own."""
    sys.exit(specsim(["validate", *sys.argv[1:]]))


@click.group()
def validate() -> None:
    """Claims about the decoder: what they say, and whether they stand."""


validate.add_command(engines)
validate.add_command(train)


@validate.command("list")
@json_option
def list_claims(as_json: bool) -> None:
    """All claims, one line each."""
    from validation.claims import CLAIMS, summary

    lines = {name: summary(claim) for name, claim in CLAIMS.items()}
    outcome = envelope("validate list", inputs={}, result={"claims": lines})
    emit(outcome, as_json=as_json, tables=[f"{name}: {line}" for name, line in lines.items()])


@validate.command()
@click.argument("names", nargs=-1, metavar="NAME...|all")
@click.option("--target", help="Local folder or hub name; by default SmolLM2-135M-Instruct from the package index.")
@click.option("--drafter", help="A draft model of the same vocabulary, or a trained head's file.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda or auto.")
@click.option("--budget", type=float, default=1.0, show_default=True, help="Multiplies sizes; 1 is half a minute each.")
@click.option("--batch", type=click.IntRange(min=1), help="Most sequences side by side; lower it on a small device.")
@click.option("--level", type=float, default=1e-6, show_default=True, help="False-alarm rate of each claim.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for DEVICE/CLAIM.json, one file a claim, written as soon as it is known.",
)
@click.option("--resume", is_flag=True, help="Leave out claims whose result --out has already.")
@seed_option
@json_option
def run(
    names: tuple[str, ...],
    target: str | None,
    drafter: str | None,
    device: str,
    budget: float,
    batch: int | None,
    level: float,
    out: Path | None,
    resume: bool,
    seed: int,
    as_json: bool,
) -> int:
    """Run claims; all of them by default. Exit code 1 where one falls, or where its planted faults were not caught.

    With --target and --drafter the claims are about that pair. Of several claims, one that cannot be put to the target
    is left out and named.
    """
    from validation.claims import CLAIMS, LeftOutError, Settings
    from validation.claims.results import Results
    from validation.cli.progress import bars
    from validation.timing import fingerprint, physical_cores, pin_threads

    if resume and out is None:
        raise InputError("resume needs out, the folder that has results")
    wanted = list(CLAIMS) if names in ((), ("all",)) else [checks.one_of("claim", name, CLAIMS) for name in names]
    inputs = {"names": wanted, "target": target, "drafter": drafter, "device": device, "budget": budget}
    inputs |= {"batch": batch}
    pin_threads()
    results = Results(out, inputs=inputs | {"level": level, "seed": seed}, device=fingerprint())
    known = results.known(wanted) if resume else {}
    left_out: dict[str, str] = {}
    with bars() as progress:
        for name in wanted:
            if name in known:
                continue
            settings = Settings(
                seed=seed,
                level=level,
                budget=budget,
                model=target,
                drafter=drafter,
                device=device,
                batch=batch,
                workers=physical_cores(),
                progress=partial(progress, name),
            )
            try:
                known[name] = results.keep(CLAIMS[name].run(settings))
            except LeftOutError as error:
                if len(wanted) == 1:
                    raise
                left_out[name] = str(error)
    rows = [known[name] for name in wanted if name in known]
    result = {"claims": rows, "left_out": left_out, "device": fingerprint()}
    outcome = envelope("validate run", inputs=inputs | {"level": level, "seed": seed}, result=result)
    missing = [f"{name} left out: {why}" for name, why in left_out.items()]
    emit(outcome, as_json=as_json, tables=[*_shown(rows), *missing])
    return 0 if all(row["passed"] for row in rows) else 1


def _shown(rows: Sequence[Mapping[str, Any]]) -> Iterator[str | Table]:
    """A sentence for each claim, and its planted faults where there is one claim."""
    for row in rows:
        yield (
            f"{row['test']} {row['verdict']} on {row['model']}: p-value {row['pvalue']:.2g} "
            f"over {row['n']} {row['unit']}. {row['detail']}"
        )
    if len(rows) == 1 and rows[0]["controls"]:
        yield table(
            ["planted fault", "n", "p-value", "caught"],
            [
                (one["fault"], str(one["n"]), f"{one['pvalue']:.2g}", "yes" if one["caught"] else "no")
                for one in rows[0]["controls"]
            ],
        )


@validate.command()
@json_option
def fetch(as_json: bool) -> int:
    """Fetch the default model (98 MB) and keep it for later. Exit code 1 where it cannot be had."""
    from validation.decoder.load import load

    loaded = load()
    outcome = envelope("validate fetch", inputs={}, result={"model": loaded.name, "is_real": loaded.is_real})
    emit(outcome, as_json=as_json, tables=[loaded.notice or f"{loaded.name} is ready."])
    return 0 if loaded.is_real else 1
