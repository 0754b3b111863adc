"""`specsim calibrate`: from rows of any decoder to acceptance, drafter and pass costs, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.table import Table

from specsim import checks
from specsim.calibrate import Estimate, Prediction
from specsim.calibrate import calibrate as fit
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.errors import InputError
from specsim.records import RoundRecord, read_records
from specsim.units import human, significant


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--proposer", help="Whose rows, where the file holds several drafters.")
@click.option("--predict-gamma", help="Also predict a further run at these gammas: 4,8.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of every interval.")
@seed_option
@json_option
def calibrate(
    file: Path, proposer: str | None, predict_gamma: str | None, level: float, seed: int, as_json: bool
) -> None:
    """Fit FILE (.jsonl or .jsonl.gz, one RoundRecord a line, plain decoding among them).

    Intervals resample whole texts, so the file needs at least two.
    """
    found = fit(_rows(read_records(file), proposer), level=level, seed=seed)
    gammas = parts.integers("predict-gamma", predict_gamma) if predict_gamma else []
    predictions = [found.predict(gamma) for gamma in gammas]
    inputs = {"file": file, "proposer": found.proposer, "predict_gamma": gammas, "level": level, "seed": seed}
    result = {
        "proposer": found.proposer,
        "gammas": found.gammas,
        "requests": found.requests,
        "estimates": found.estimates,
        "predictions": predictions,
    }
    assumptions = [
        "how many tokens are proposed does not depend on whether they are accepted",
        "acceptance by depth does not depend on gamma",
    ]
    emit(
        envelope("calibrate", inputs=inputs, result=result, assumptions=assumptions),
        as_json=as_json,
        tables=[_estimates(found.estimates, level), *([_predictions(predictions)] if predictions else [])],
    )


def _rows(records: Sequence[RoundRecord], proposer: str | None) -> list[RoundRecord]:
    names = sorted({record.proposer for record in records} - {"none"})
    if proposer is None and len(names) > 1:
        raise InputError(f"the file holds several drafters, choose one with --proposer: {', '.join(names)}")
    if proposer is not None:
        checks.one_of("proposer", proposer, names)
    return [record for record in records if record.proposer in ("none", proposer or names[0] if names else "none")]


def _estimates(estimates: Mapping[str, Estimate], level: float) -> Table:
    rows = [
        (name, _shown(name, one.value), f"{_shown(name, one.low)} to {_shown(name, one.high)}", str(one.n))
        for name, one in estimates.items()
    ]
    return table(["quantity", "value", f"{100 * level:g} % interval", "texts"], rows)


def _shown(name: str, value: float) -> str:
    return human(value, "s") if "seconds" in name else significant(value)


def _predictions(predictions: Sequence[Prediction]) -> Table:
    rows = [
        (str(one.gamma), _range(one.tau), _range(one.round_seconds, unit="s"), _range(one.speedup))
        for one in predictions
    ]
    return table(["gamma", "tau", "round", "speedup"], rows, title="A further run of as many texts")


def _range(one: Estimate, *, unit: str = "") -> str:
    value, low, high = (human(end, unit) if unit else significant(end) for end in (one.value, one.low, one.high))
    return f"{value} ({low} to {high})"
