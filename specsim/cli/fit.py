"""`specsim fit`: which law do accepted lengths follow, and what would another gamma give?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from specsim import checks
from specsim.acceptance import (
    FAMILIES,
    Comparison,
    CountedAcceptance,
    Fit,
    MeanLengths,
    Prediction,
    compare,
    read_lengths,
)
from specsim.acceptance.table import READINGS
from specsim.cli.output import emit, envelope, json_option, table
from specsim.units import percent, significant

ASSUMPTIONS = (
    "observations are independent; rounds of one text are not quite, so with few texts intervals are too short",
    "beyond the deepest gamma of the data one of the laws not ruled out goes on to hold",
)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--predict-gamma", type=int, help="Gamma to predict tau for; the deepest in the file by default.")
@click.option("--law", "laws", multiple=True, help="Only this law; may be repeated. All by default.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of intervals.")
@click.option(
    "--each",
    default="auto",
    show_default=True,
    help="What a row gamma,tau is: means, rounds, or auto: rounds if all tau are whole and gammas repeat.",
)
@json_option
def fit(file: Path, predict_gamma: int | None, laws: tuple[str, ...], level: float, each: str, as_json: bool) -> None:
    """Fit laws of the accepted length to FILE, choose one, and predict tau at another gamma.

    FILE is a CSV with the columns gamma,tau (and perhaps rounds, behind each mean), tau counting the bonus; or
    depth,reached,accepted.
    """
    for law in laws:
        checks.one_of("law", law, FAMILIES)
    data = read_lengths(file, each=checks.one_of("each", each, READINGS))
    gamma = data.depths if predict_gamma is None else checks.integer("predict-gamma", predict_gamma, low=1)
    compared = compare(data, laws=laws or FAMILIES)
    prediction = compared.predict(gamma, level=level)
    fits = [_fitted(fitted, compared, prediction) for fitted in compared.fits.values()]
    result = {
        "E_tokens": prediction.E_tokens,
        "low": prediction.low,
        "high": prediction.high,
        "gamma": gamma,
        "chosen": compared.chosen.law,
        "left_open": compared.left_open,
        "laws": fits,
        "reading": _reading(data),
    }
    inputs = {"file": file, "predict_gamma": predict_gamma, "laws": laws, "level": level, "each": each}
    emit(
        envelope("fit", inputs=inputs, result=result, assumptions=ASSUMPTIONS),
        as_json=as_json,
        tables=[_reading(data), _choice(compared), _table(fits, prediction), _sentence(prediction)],
    )


def _fitted(fitted: Fit, compared: Comparison, prediction: Prediction) -> dict[str, Any]:
    tokens, low, high = prediction.by_law[fitted.law]
    behind, error = compared.behind[fitted.law]
    return {
        "law": fitted.law,
        "acceptance": fitted.acceptance.name,
        "parameters": {
            name: {"value": value, **_interval(fitted, *fitted.parameter_interval(name, level=prediction.level))}
            for name, value in fitted.parameters.items()
        },
        "log_likelihood": fitted.log_likelihood,
        "held_out_log_likelihood": compared.held_out[fitted.law],
        "behind_best": behind,
        "behind_best_standard_error": error,
        "E_tokens": tokens,
        **_interval(fitted, low, high),
    }


def _interval(fitted: Fit, low: float, high: float) -> dict[str, float | None]:
    """Without an interval where the data cannot tell the parameters from noise."""
    return {"low": low, "high": high} if fitted.is_told else {"low": None, "high": None}


def _reading(data: CountedAcceptance | MeanLengths) -> str:
    if isinstance(data, CountedAcceptance):
        return f"Read as {data.size} rounds, counted to depth {data.depths}."
    noise = "of unknown noise" if data.rounds is None else f"of {sum(data.rounds)} rounds"
    return f"Read as {data.size} means of tau {noise}, at {len(data.edges)} gammas up to {data.depths}."


def _choice(compared: Comparison) -> str:
    others = [law for law in compared.left_open if law != compared.chosen.law]
    rest = f"not ruled out either: {', '.join(others)}" if others else "the others are ruled out, or too rich to tell"
    return f"Chosen by held-out likelihood: {compared.chosen.law}, {compared.chosen.acceptance.name}; {rest}."


def _table(fits: Sequence[Mapping[str, Any]], prediction: Prediction) -> Table:
    interval = f"{percent(prediction.level, digits=0)} interval"
    rows = [
        (
            fitted["law"],
            "\n".join(f"{name} {_shown(value)}" for name, value in fitted["parameters"].items()),
            "-" if math.isinf(fitted["behind_best"]) else f"{fitted['behind_best']:.2f}",
            _shown(fitted, "E_tokens"),
        )
        for fitted in fits
    ]
    columns = ["law", f"parameters, {interval}", "held-out nats behind the best"]
    return table([*columns, f"tau at gamma {prediction.gamma}, {interval}"], rows)


def _shown(values: Mapping[str, Any], name: str = "value") -> str:
    if values["low"] is None:
        return f"{values[name]:.4f} (-)"
    return f"{values[name]:.4f} ({values['low']:.4f} to {values['high']:.4f})"


def _sentence(prediction: Prediction) -> str:
    return (
        f"tau at gamma {prediction.gamma}: {significant(prediction.E_tokens, digits=5)} tokens per round, bonus "
        f"included; {percent(prediction.level, digits=0)} interval over all laws not ruled out "
        f"{significant(prediction.low, digits=5)} to {significant(prediction.high, digits=5)}."
    )
