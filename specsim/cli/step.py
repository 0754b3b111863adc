"""`specsim step`: seconds of one forward pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from specsim import checks
from specsim.catalog import Matrix, ModelShape
from specsim.cli import parts
from specsim.cli.chart import chart_options, check_chart, save_chart
from specsim.cli.output import emit, envelope, json_option, table
from specsim.errors import InputError
from specsim.roofline import Efficiency, Roofline
from specsim.units import human, significant

BYTES_PER_WEIGHT = 2.0
WIDTH = 4096
IDEAL = Efficiency.ideal()


@click.command()
@click.option("--model", help="Catalogue name, or a Hugging Face config.json.")
@click.option("--weight-bytes", type=float, help="Instead of a model: bytes of 2-byte weights, and nothing else.")
@parts.options(*parts.machine_options())
@click.option("--tokens", type=int, default=1, show_default=True, help="Tokens scored per sequence.")
@click.option("--batch", type=int, default=1, show_default=True, help="Sequences in the pass.")
@chart_options
@json_option
def step(
    model: str | None,
    weight_bytes: float | None,
    hardware: str,
    context: int,
    tensor_parallel: str | None,
    ideal: bool,
    kernels: str | None,
    tokens: int,
    batch: int,
    chart: Path | None,
    theme: str,
    as_json: bool,
) -> None:
    """Seconds of one forward pass, the limit that sets them, and what the datasheet would promise."""
    check_chart(chart, theme=theme)
    shape = _shape(model, weight_bytes)
    one_pass = parts.roofline(shape, hardware, ideal=ideal, kernels=kernels, tensor_parallel=tensor_parallel)
    counts = {"tokens": tokens, "batch": batch, "context": context}
    bound = one_pass.bound(**counts)
    seconds = float(one_pass.pass_seconds(**counts))
    result = _answer(one_pass, counts) | {
        "tokens_per_second": batch / seconds,
        "bound": bound,
        "parts": one_pass.parts(**counts),
        "ideal": _answer(replace(one_pass, efficiency=IDEAL), counts),
        "efficiency": one_pass.efficiency,
    }
    inputs: dict[str, Any] = {"model": model, "weight_bytes": weight_bytes, "hardware": hardware} | counts
    inputs |= {"tensor_parallel": one_pass.tensor_parallel, "ideal": ideal, "kernels": kernels, "chart": chart}
    if chart is not None:
        from specsim.cli.drawn import step_chart

        save_chart(step_chart(one_pass, counts, ridge=result["ridge_tokens"], theme=theme), chart)
    rate = f", {batch / seconds:.1f} tokens/s of plain decoding" if tokens == 1 else ""
    scored = f"{tokens} token(s) in each of {batch} sequence(s){rate}"
    sentence = f"{human(seconds, 's', digits=4)} to score {scored}: {bound}-bound."
    outcome = envelope("step", inputs=inputs, result=result, assumptions=[one_pass.efficiency.source])
    emit(outcome, as_json=as_json, tables=[sentence, _beside(result), _parts(result["parts"])])


def _shape(model: str | None, weight_bytes: float | None) -> str | ModelShape:
    if (model is None) == (weight_bytes is None):
        raise InputError("give one of --model and --weight-bytes")
    if weight_bytes is None:
        return str(model)
    outputs = max(1, round(checks.positive("weight-bytes", weight_bytes) / BYTES_PER_WEIGHT / WIDTH))
    weights = Matrix(
        part="other", outputs=outputs, inputs=WIDTH, count=1, bytes_per_weight=BYTES_PER_WEIGHT, split="outputs"
    )
    return ModelShape(
        name=f"weights of {human(weight_bytes, 'B')}",
        layers=0,
        hidden=WIDTH,
        heads=1,
        kv_heads=1,
        head_dim=WIDTH,
        intermediate=1,
        vocabulary=1,
        tied_embeddings=True,
        source="given as bytes",
        others=(weights,),
        shared=("embedding",),
        has_lm_head=False,
    )


def _answer(one_pass: Roofline, counts: dict[str, int]) -> dict[str, Any]:
    """Seconds, passes in a second, and where passes turn compute-bound."""
    seconds = float(one_pass.pass_seconds(**counts))
    return {
        "step_seconds": seconds,
        "passes_per_second": 1 / seconds,
        "ridge_tokens": one_pass.ridge_tokens,
    }


def _beside(result: dict[str, Any]) -> Any:
    rows = [
        (
            name,
            human(answer["step_seconds"], "s", digits=4),
            f"{answer['passes_per_second']:.1f}",
            "none" if answer["ridge_tokens"] is None else f"{answer['ridge_tokens']:.1f}",
        )
        for name, answer in {result["efficiency"].source: result, IDEAL.source: result["ideal"]}.items()
    ]
    return table(["", "pass", "passes/s", "ridge, tokens in flight"], rows)


def _parts(parts_of_pass: dict[str, float]) -> Any:
    total = sum(parts_of_pass.values())
    rows = [
        (name.replace("_", " "), human(seconds, "s"), f"{significant(100 * seconds / total)} %")
        for name, seconds in sorted(parts_of_pass.items(), key=lambda part: -part[1])
        if seconds
    ]
    return table(["part of the pass", "seconds", "share"], rows)
