"""`specsim crossover`: up to which batch does speculation pay?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from specsim import checks
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, table
from specsim.drafters import RatioDrafter
from specsim.errors import InfeasibleError
from specsim.scenario import Scenario
from specsim.speedup import best_gamma, crossover_batch, speedup
from specsim.units import significant

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@click.command()
@parts.pass_options
@click.option("--alpha", required=True, help="Acceptance probability, or several by depth: 0.8,0.7,0.6.")
@click.option("--gamma", type=int, required=True, help="Drafted tokens per round.")
@click.option("--c", type=float, default=0.0, show_default=True, help="Seconds of a drafter step over a target step.")
@click.option("--max-batch", type=int, default=512, show_default=True, help="Largest batch looked at.")
@json_option
def crossover(
    model: str,
    hardware: str,
    context: int,
    ideal: bool,
    alpha: str,
    gamma: int,
    c: float,
    max_batch: int,
    as_json: bool,
) -> int:
    """The largest batch at which speculation is not slower than plain decoding.

    Exit code 1 where it is slower at every batch looked at.
    """
    checks.integer("gamma", gamma, low=1)
    target = parts.roofline(model, hardware, ideal=ideal)
    scenario = Scenario(
        target=target,
        drafter=RatioDrafter(c=c, step=target, context=context),
        acceptance=parts.acceptance(alpha),
        gamma=gamma,
        context=context,
    )
    last = crossover_batch(scenario, max_batch=max_batch)
    longest = parts.deepest(alpha, limit=16)
    curve = [_at(scenario, batch=batch, max_gamma=longest) for batch in BATCHES if batch <= max_batch]
    result = {
        "crossover_batch": last,
        "compute_bound_batch": target.compute_bound_batch(tokens=gamma + 1, context=context),
        "curve": curve,
    }
    inputs = {
        "model": model,
        "hardware": hardware,
        "context": context,
        "ideal": ideal,
        "alpha": alpha,
        "gamma": gamma,
        "c": c,
        "max_batch": max_batch,
    }
    rows = [(str(row["batch"]), significant(row["speedup"]), str(row["best_gamma"])) for row in curve]
    emit(
        envelope("crossover", inputs=inputs, result=result, assumptions=[target.efficiency.source]),
        as_json=as_json,
        tables=[
            _sentence(last, gamma=gamma, max_batch=max_batch),
            table(["batch", f"speedup, gamma {gamma}", "best gamma"], rows),
        ],
    )
    return InfeasibleError.exit_code if last == 0 else 0


def _at(scenario: Scenario, *, batch: int, max_gamma: int) -> dict[str, Any]:
    here = replace(scenario, batch=batch)
    return {"batch": batch, "speedup": speedup(here), "best_gamma": best_gamma(here, max_gamma=max_gamma)}


def _sentence(last: int | None, *, gamma: int, max_batch: int) -> str:
    if last is None:
        return f"Drafting {gamma} tokens still pays at batch {max_batch}, the largest looked at."
    if last == 0:
        return f"Drafting {gamma} tokens is slower than plain decoding at every batch up to {max_batch}."
    return f"Drafting {gamma} tokens pays up to batch {last}."
