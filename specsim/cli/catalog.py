"""`specsim catalog`: the GPUs and models that specsim knows, with the source of each row."""

from __future__ import annotations

import dataclasses

import click

from specsim import catalog as rows
from specsim.cli.output import emit, envelope, json_option, table
from specsim.errors import InputError
from specsim.units import human


@click.group()
def catalog() -> None:
    """List and show GPUs and models."""


@catalog.command("list")
@json_option
def list_rows(as_json: bool) -> None:
    """All rows, one line each."""
    gpus = [rows.hardware(name) for name in rows.hardware_names()]
    models = [rows.model(name) for name in rows.model_names()]
    gpu_table = table(
        ["hardware", "memory", "bandwidth", "dense peak"],
        [
            (
                gpu.name,
                human(gpu.memory_bytes, "B"),
                human(gpu.bandwidth_bytes_per_second, "B/s"),
                human(gpu.peak(gpu.best_dtype), "FLOP/s"),
            )
            for gpu in gpus
        ],
    )
    model_table = table(
        ["model", "parameters", "weights", "KV per token"],
        [
            (
                model.name,
                human(model.parameters),
                human(model.weight_bytes, "B"),
                human(model.kv_bytes_per_token, "B"),
            )
            for model in models
        ],
    )
    result = {"hardware": [gpu.name for gpu in gpus], "models": [model.name for model in models]}
    emit(envelope("catalog list", inputs={}, result=result), as_json=as_json, tables=[gpu_table, model_table])


@catalog.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """One row with everything it holds and where it comes from."""
    result = _row(name)
    lines = table(["field", "value"], [(key, str(value)) for key, value in result.items()], title=name)
    emit(envelope("catalog show", inputs={"name": name}, result=result), as_json=as_json, tables=[lines])


def _row(name: str) -> dict[str, object]:
    if name in rows.hardware_names():
        return dataclasses.asdict(rows.hardware(name))
    if name in rows.model_names():
        shape = rows.model(name)
        derived = ("parameters", "weight_bytes", "kv_bytes_per_token")
        return dataclasses.asdict(shape) | {key: getattr(shape, key) for key in derived}
    known = ", ".join([*rows.hardware_names(), *rows.model_names()])
    raise InputError(f"catalog row {name!r} is unknown; known: {known}")
