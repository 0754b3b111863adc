"""`specsim demo`: the whole chain on one real model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reports.build import write_page
from reports.pages.demo import page
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, seed_option, table, to_json
from specsim.files import write_whole
from specsim.units import human, percent, significant
from validation.demo.settings import DemoSettings

if TYPE_CHECKING:
    from validation.demo.run import Outcome

DEFAULTS = DemoSettings()


@click.command()
@click.option("--model", help="Local folder or hub name; by default SmolLM2-135M-Instruct from the package index.")
@click.option("--drafter", help="Folder or hub name of an independent drafter; by default a bfloat16 copy.")
@click.option("--dtype", default=DEFAULTS.dtype, show_default=True, help="float32, bfloat16 or auto.")
@click.option("--device", default=DEFAULTS.device, show_default=True, help="cpu, cuda or auto.")
@click.option("--temperature", type=float, default=DEFAULTS.temperature, show_default=True, help="0 is greedy.")
@click.option("--tokens", type=int, default=DEFAULTS.tokens, show_default=True, help="New tokens per text.")
@click.option("--prompts", type=int, default=DEFAULTS.prompt_count, show_default=True, help="Prompts, at least 2.")
@click.option("--gammas", default="1,4", show_default=True, help="Drafted tokens per round to calibrate on.")
@click.option("--held-out", default="2,6", show_default=True, help="Drafted tokens per round to predict, then measure.")
@click.option("--lossless-rounds", type=int, default=DEFAULTS.lossless_rounds, show_default=True, help="On the table.")
@click.option("--lossless-tokens", type=int, default=DEFAULTS.lossless_tokens, show_default=True, help="On the model.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/demo"), show_default=True)
@seed_option
@json_option
def demo(
    model: str | None,
    drafter: str | None,
    dtype: str,
    device: str,
    temperature: float,
    tokens: int,
    prompts: int,
    gammas: str,
    held_out: str,
    lossless_rounds: int,
    lossless_tokens: int,
    out: Path,
    seed: int,
    as_json: bool,
) -> int:
    """Decode, calibrate, predict, measure what was predicted, and prove losslessness; about four minutes.

    Writes report.html, demo.json and the rows of every round to --out. Exit code 1 where a claim of losslessness fell.
    """
    settings = DemoSettings(
        model=model,
        drafter=drafter,
        dtype=dtype,
        device=device,
        temperature=temperature,
        tokens=tokens,
        prompt_count=prompts,
        calibrate_gammas=tuple(parts.integers("gammas", gammas)),
        held_out_gammas=tuple(parts.integers("held-out", held_out)),
        lossless_rounds=lossless_rounds,
        lossless_tokens=lossless_tokens,
        seed=seed,
    )
    found = _run(settings, out)
    inputs = dataclasses.asdict(settings)
    outcome = envelope("demo", inputs=inputs, result=found.result, assumptions=found.assumptions)
    write_whole(out / "demo.json", to_json(outcome, indent=1))
    write_page(out / "report.html", page(outcome))
    emit(outcome, as_json=as_json, tables=_tables(found.result, out))
    return 0 if found.passed else 1


def _run(settings: DemoSettings, out: Path) -> Outcome:
    """Run it under progress bars; torch is loaded only now, so that `--help` and bad options answer at once."""
    from validation.cli.progress import bars
    from validation.demo.run import run

    with bars() as progress:
        return run(settings, out=out, progress=progress)


def _tables(result: dict[str, Any], out: Path) -> list[Any]:
    notice = [result["notice"]] if result["notice"] else []
    ordered = sorted(result["predictions"], key=lambda row: (row["proposer"], row["gamma"]))
    comparison = table(
        ["drafter", "gamma", "held out", "tau", "predicted", "round", "predicted", "speedup", "predicted"],
        [_comparison_row(row) for row in ordered],
        title="Measured, and predicted beforehand with its 95 % prediction interval",
    )
    error = table(
        ["held-out prediction of", "median error", "95 % interval", "inside the stated interval"],
        [
            (
                row["quantity"].replace("_", " "),
                percent(row["median_absolute_error"]),
                f"{percent(row['low'])} to {percent(row['high'])}",
                f"{row['inside_interval']} of {row['n']}",
            )
            for row in result["errors"]
        ],
    )
    claims = table(
        ["claim", "n", "p-value", "planted faults caught", "verdict"],
        [
            (row["test"], f"{row['n']} {row['unit']}", f"{row['pvalue']:.2g}", _caught(row), row["verdict"])
            for row in result["lossless"]
        ],
    )
    files = f"Written: {out / 'report.html'}, {out / 'demo.json'}"
    return [*notice, result["answer"], comparison, error, claims, files]


def _caught(row: dict[str, Any]) -> str:
    return f"{sum(control['caught'] for control in row['controls'])} of {len(row['controls'])}"


def _comparison_row(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["proposer"],
        str(row["gamma"]),
        "yes" if row["held_out"] else "",
        significant(row["tau_measured"]),
        _interval(row, "tau"),
        human(row["round_seconds_measured"], "s"),
        f"{human(row['round_seconds_predicted'], 's')}",
        significant(row["speedup_measured"]),
        _interval(row, "speedup"),
    )


def _interval(row: dict[str, Any], quantity: str) -> str:
    value, low, high = (row[f"{quantity}_predicted{end}"] for end in ("", "_low", "_high"))
    return f"{significant(value)} ({significant(low)} to {significant(high)})"
