"""`specsim plan`: which drafter, how deep, on how many GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from specsim import catalog, checks
from specsim.acceptance import Acceptance
from specsim.capacity import Candidate, Plan, Workload, engine_settings, plan, sensitivities
from specsim.cli import parts
from specsim.cli.chart import chart_options, check_chart, save_chart
from specsim.cli.output import emit, envelope, json_option, table
from specsim.engines import ENGINES
from specsim.errors import InfeasibleError, InputError
from specsim.units import significant


@click.command("plan")
@parts.pass_options
@click.option("--batch", type=int, required=True, help="Sequences decoded at the same time by one replica.")
@click.option("--user-speed", type=float, help="Tokens per second that each user has to get at least.")
@click.option("--method", "methods", multiple=True, help="Drafter to look at; repeat it. All by default.")
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="METHOD=ALPHA",
    help="Your own acceptance of a drafter: eagle3=0.75, or by depth eagle3=0.8,0.7. Others take published figures.",
)
@click.option("--task", help="Picks published acceptance: chat, code, math ... where a drafter has it.")
@click.option("--objective", default="device", show_default=True, help="device: per GPU, the cheapest; user: fastest.")
@click.option("--price", type=float, help="Of a GPU for an hour; tokens are then priced.")
@click.option("--for", "engine", help=f"Settings to paste for an engine: {', '.join(ENGINES)}.")
@click.option("--target-model", help="What that engine is to load, if not the catalogue's name.")
@click.option("--draft-model", help="Drafter's weights for that engine.")
@click.option("--schedule", is_flag=True, help="Let those settings change the depth with the batch size.")
@click.option("--rehearse", is_flag=True, help="Let that engine accept by the assumed law, to time it untrained.")
@chart_options
@json_option
def plan_command(
    model: str,
    hardware: str,
    context: int,
    ideal: bool,
    tensor_parallel: str | None,
    kernels: str | None,
    batch: int,
    user_speed: float | None,
    methods: tuple[str, ...],
    accepted: tuple[str, ...],
    task: str | None,
    objective: str,
    price: float | None,
    engine: str | None,
    target_model: str | None,
    draft_model: str | None,
    schedule: bool,
    rehearse: bool,
    chart: Path | None,
    theme: str,
    as_json: bool,
) -> int:
    """Rank drafters for a model, a GPU and a load; name what limits the best, and how sure its speedup is.

    Exit code 1 where nothing fits or is fast enough; the message says what would be.
    """
    check_chart(chart, theme=theme)
    gpu = catalog.hardware_from(hardware)
    gpu = gpu if price is None else replace(gpu, price_per_hour=checks.non_negative("price", price))
    if engine is not None:
        checks.one_of("engine", engine, ENGINES)
    found = plan(
        catalog.model_from(model),
        gpu,
        Workload(batch=batch, context=context, user_tokens_per_second=user_speed, task=task),
        methods=methods or None,
        acceptance=_acceptance(accepted),
        tensor_parallel=parts.integers("tensor-parallel", tensor_parallel) if tensor_parallel else None,
        efficiency=parts.efficiency(gpu, ideal=ideal, kernels=kernels),
        objective=objective,
    )
    frame = found.frame()
    result: dict[str, Any] = {
        "candidates": _records(frame),
        "best": frame.iloc[0]["method"],
        "constraint": found.constraint,
        "rejected": dict(found.rejected),
        "sensitivities": [asdict(row) | {"swing": row.swing} for row in _sensitivities(found.best)],
    }
    tables = [_sentence(found), _ranking(frame), *_rejected(found), *_sensitivity_table(result["sensitivities"])]
    if engine is not None:
        pasted = _pasted(
            found, engine, target=target_model, draft_model=draft_model, with_schedule=schedule, rehearse=rehearse
        )
        result["settings"] = pasted
        tables += [_settings_text(pasted)]
    inputs = {
        "model": model,
        "hardware": hardware,
        "batch": batch,
        "context": context,
        "user_speed": user_speed,
        "methods": list(methods),
        "accept": list(accepted),
        "task": task,
        "objective": objective,
        "tensor_parallel": tensor_parallel,
        "ideal": ideal,
        "kernels": kernels,
        "price": price,
        "for": engine,
        "chart": chart,
    }
    if chart is not None:
        from specsim.cli.drawn import plan_chart

        save_chart(plan_chart(found, frame, result["sensitivities"], theme=theme), chart)
    emit(
        envelope("plan", inputs=inputs, result=result, assumptions=list(found.assumptions)),
        as_json=as_json,
        tables=tables,
    )
    return 0


def _acceptance(given: tuple[str, ...]) -> dict[str, Acceptance]:
    laws: dict[str, Acceptance] = {}
    for text in given:
        name, sign, values = text.partition("=")
        if not sign:
            raise InputError(f"accept must be METHOD=ALPHA, got {text!r}")
        if name in laws:
            raise InputError(f"accept must be given once for {name}, got {text!r} too")
        law = parts.acceptance(values, beyond="hold")
        laws[name] = replace(law, source="given")  # type: ignore[type-var]
    return laws


def _sensitivities(best: Candidate) -> list[Any]:
    if best.variant is None or best.assumed is None:
        return []
    return sensitivities(best.place, best.variant, best.assumed, best.workload, gamma=best.gamma)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with None where there is no number."""
    return [
        {str(name): None if value is None or value != value else value for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


def _sentence(found: Plan) -> str:
    best = found.best
    if best.variant is None:
        return "Do not speculate: no drafter beats plain decoding here."
    interval = best.interval
    assert interval is not None
    shape = f"a tree of {best.nodes} nodes, {best.gamma} deep" if best.nodes != best.gamma else f"gamma {best.gamma}"
    return (
        f"Speculate with {best.name}, {shape}, on {best.place.tensor_parallel} {best.place.hardware.name}: "
        f"{significant(best.speedup)} times plain decoding ({interval.level:.0%} interval "
        f"{significant(interval.low)} to {significant(interval.high)}), "
        f"{best.user_tokens_per_second:.0f} tokens/s for each user. Limit: {found.constraint}."
    )


def _ranking(frame: pd.DataFrame) -> Any:
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "GPUs": lambda row: str(row["tensor_parallel"]),
        "gamma": lambda row: str(row["gamma"]),
        "nodes": lambda row: str(row["nodes"]),
        "tokens": lambda row: significant(row["E_tokens"]),
        "speedup (95 %)": _speedup,
        "per user": lambda row: f"{row['user_tokens_per_second']:.0f}",
        "per GPU": lambda row: f"{row['device_tokens_per_second']:.0f}",
        "price/1M": lambda row: significant(row["price_per_million"]),
        "to batch": _crossover,
        "bound": lambda row: row["bound"],
    }
    if frame["price_per_million"].isna().all():
        del columns["price/1M"]
    if frame["tensor_parallel"].nunique() == 1:
        del columns["GPUs"]
    rows = [(row["method"], *(cell(row) for cell in columns.values())) for row in _records(frame)]
    return table(["method", *columns], rows)


def _speedup(row: Mapping[str, Any]) -> str:
    if row["gamma"] == 0:
        return "1"
    return f"{significant(row['speedup'])} ({significant(row['speedup_low'])}-{significant(row['speedup_high'])})"


def _crossover(row: Mapping[str, Any]) -> str:
    if row["gamma"] == 0:
        return ""
    last = row["crossover_batch"]
    if last is None:
        return "> 1024"
    return f"{last:.0f}" if last else "none"


def _rejected(found: Plan) -> list[str]:
    return ["\n".join(f"- {name}: {reason}" for name, reason in found.rejected.items())] if found.rejected else []


def _sensitivity_table(rows: list[dict[str, Any]]) -> list[Any]:
    if not rows:
        return []
    cells = [
        (row["name"], f"{row['low_input']} to {row['high_input']}", significant(row["low"]), significant(row["high"]))
        for row in rows
    ]
    return [table(["what moves the best speedup", "from, to", "speedup then", "and then"], cells)]


def _pasted(found: Plan, engine: str, **options: Any) -> dict[str, Any]:
    try:
        pasted = engine_settings(found, engine, **options)
    except InfeasibleError as error:
        return {"engine": engine, "refused": str(error)}
    return asdict(pasted.settings) | {"method": pasted.candidate.name, "gamma": pasted.candidate.gamma}


def _settings_text(pasted: Mapping[str, Any]) -> str:
    if "refused" in pasted:
        return f"No settings: {pasted['refused']}"
    lines = [f"{pasted['engine']} ({pasted['version']}), {pasted['method']} at gamma {pasted['gamma']}:"]
    return "\n".join([*lines, "", pasted["command"], "", *(f"- {note}" for note in pasted["notes"])])
