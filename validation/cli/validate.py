"""`specsim validate`: the claims about the decoder, one by one."""

from __future__ import annotations

from pathlib import Path

import click

from specsim import checks
from specsim.cli.output import emit, envelope, json_option, seed_option, table, to_json
from specsim.files import write_whole


@click.group()
def validate() -> None:
    """Claims about the decoder: what they say, and whether they stand."""


@validate.command("list")
@json_option
def list_claims(as_json: bool) -> None:
    """All claims, one line each."""
    from validation.claims import CLAIMS, summary

    lines = {name: summary(claim) for name, claim in CLAIMS.items()}
    outcome = envelope("validate list", inputs={}, result={"claims": lines})
    emit(outcome, as_json=as_json, tables=[f"{name}: {line}" for name, line in lines.items()])


@validate.command()
@click.argument("name")
@click.option("--model", help="Local folder or hub name; by default SmolLM2-135M-Instruct from the package index.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda or auto.")
@click.option("--budget", type=float, default=1.0, show_default=True, help="Multiplies sizes; 1 is half a minute.")
@click.option("--level", type=float, default=1e-6, show_default=True, help="False-alarm rate of the claim.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the JSON object here.")
@seed_option
@json_option
def run(
    name: str,
    model: str | None,
    device: str,
    budget: float,
    level: float,
    out: Path | None,
    seed: int,
    as_json: bool,
) -> int:
    """Run one claim. Exit code 1 where it falls, or where its planted faults were not caught either."""
    from validation.claims import CLAIMS, Settings
    from validation.cli.progress import bars
    from validation.timing import fingerprint, physical_cores, pin_threads

    claim = CLAIMS[checks.one_of("claim", name, CLAIMS)]
    inputs = {"name": name, "model": model, "device": device, "budget": budget, "level": level, "seed": seed}
    pin_threads()
    with bars() as progress:
        settings = Settings(
            seed=seed,
            level=level,
            budget=budget,
            model=model,
            device=device,
            workers=physical_cores(),
            progress=lambda fraction: progress(name, fraction),
        )
        result = claim.run(settings)
    outcome = envelope("validate run", inputs=inputs, result=result.as_dict() | {"device": fingerprint()})
    if out is not None:
        write_whole(out, to_json(outcome, indent=1))
    controls = table(
        ["planted fault", "n", "p-value", "caught"],
        [(c.fault, str(c.n), f"{c.pvalue:.2g}", "yes" if c.caught else "no") for c in result.controls],
    )
    sentence = (
        f"{name} {result.verdict} on {result.model}: p-value {result.pvalue:.2g} "
        f"over {result.n} {result.unit}. {result.detail}"
    )
    emit(outcome, as_json=as_json, tables=[sentence, *([controls] if result.controls else [])])
    return 0 if result.passed else 1


@validate.command()
@json_option
def fetch(as_json: bool) -> int:
    """Fetch the default model (98 MB) and keep it for later. Exit code 1 where it cannot be had."""
    from validation.decoder.load import load

    loaded = load()
    outcome = envelope("validate fetch", inputs={}, result={"model": loaded.name, "is_real": loaded.is_real})
    emit(outcome, as_json=as_json, tables=[loaded.notice or f"{loaded.name} is ready."])
    return 0 if loaded.is_real else 1
