"""`specsim crossover`: up to which batch does speculation pay?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from specsim import checks
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, table
from specsim.drafters import METHODS, Drafter, PlacedDrafter, RatioDrafter
from specsim.errors import InfeasibleError, InputError
from specsim.placement import Placement
from specsim.roofline import Roofline
from specsim.scenario import Scenario
from specsim.speedup import best_gamma, gaining_batches, speedup
from specsim.units import significant

MAX_GAMMA = 16
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@click.command()
@parts.pass_options
@click.option("--alpha", required=True, help="Acceptance probability, or several by depth: 0.8,0.7,0.6.")
@click.option("--gamma", type=int, required=True, help="Drafted tokens per round.")
@click.option("--c", type=float, help="Seconds of a drafter step over a target step.  [default: 0]")
@click.option("--method", help="Instead of --c: a drafter of `specsim plan`, with its own passes and their cost.")
@click.option("--max-batch", type=int, default=512, show_default=True, help="Largest batch looked at.")
@json_option
def crossover(
    model: str,
    hardware: str,
    context: int,
    tensor_parallel: str | None,
    ideal: bool,
    kernels: str | None,
    alpha: str,
    gamma: int,
    c: float | None,
    method: str | None,
    max_batch: int,
    as_json: bool,
) -> int:
    """The batches at which speculation is not slower than plain decoding, and where the pass turns compute-bound.

    Exit code 1 where it is slower at every batch looked at.
    """
    checks.integer("gamma", gamma, low=1)
    target = parts.roofline(model, hardware, ideal=ideal, kernels=kernels, tensor_parallel=tensor_parallel)
    drafter = _drafter(target, c=c, method=method)
    scenario = Scenario(
        target=target, drafter=drafter, acceptance=parts.acceptance(alpha), gamma=gamma, context=context
    )
    ranges = gaining_batches(scenario, max_batch=max_batch)
    longest = parts.deepest(alpha, limit=_max_gamma(drafter))
    curve = [_at(scenario, batch=batch, max_gamma=longest) for batch in BATCHES if batch <= max_batch]
    result: dict[str, Any] = {
        "crossover_batch": _crossover(ranges, max_batch=max_batch),
        "gaining_batches": ranges,
        "compute_bound_batch": target.compute_bound_batch(tokens=int(drafter.target_tokens(gamma)), context=context),
        "curve": curve,
    }
    inputs = {
        "model": model,
        "hardware": hardware,
        "context": context,
        "tensor_parallel": target.tensor_parallel,
        "ideal": ideal,
        "kernels": kernels,
        "alpha": alpha,
        "gamma": gamma,
        "c": c,
        "method": method,
        "max_batch": max_batch,
    }
    rows = [(str(row["batch"]), significant(row["speedup"]), str(row["best_gamma"])) for row in curve]
    emit(
        envelope("crossover", inputs=inputs, result=result, assumptions=[target.efficiency.source]),
        as_json=as_json,
        tables=[
            _sentence(ranges, gamma=gamma, max_batch=max_batch, compute_bound=result["compute_bound_batch"]),
            table(["batch", f"speedup, gamma {gamma}", "best gamma"], rows),
        ],
    )
    return 0 if ranges else InfeasibleError.exit_code


def _drafter(target: Roofline, *, c: float | None, method: str | None) -> Drafter:
    if method is None:
        return RatioDrafter(c=c or 0.0, step=target)
    if c is not None:
        raise InputError("give one of --c and --method, got both")
    place = Placement(
        target=target.model,
        hardware=target.hardware,
        efficiency=target.efficiency,
        tensor_parallel=target.tensor_parallel,
    )
    return place.drafter(METHODS[checks.one_of("method", method, METHODS)].default(target.model))


def _max_gamma(drafter: Drafter) -> int:
    """The deepest looked at: heads and windows cannot go beyond what they were made for."""
    own = drafter.method.max_gamma if isinstance(drafter, PlacedDrafter) else None
    return min(MAX_GAMMA, own or MAX_GAMMA)


def _crossover(ranges: tuple[tuple[int, int], ...], *, max_batch: int) -> int | None:
    """0 where it never pays; None where it still pays at the largest batch looked at."""
    if not ranges:
        return 0
    return None if ranges[-1][1] == max_batch else ranges[-1][1]


def _at(scenario: Scenario, *, batch: int, max_gamma: int) -> dict[str, Any]:
    here = replace(scenario, batch=batch)
    return {"batch": batch, "speedup": speedup(here), "best_gamma": best_gamma(here, max_gamma=max_gamma)}


def _sentence(ranges: tuple[tuple[int, int], ...], *, gamma: int, max_batch: int, compute_bound: int | None) -> str:
    turn = f"turns compute-bound at batch {compute_bound}" if compute_bound else "stays memory-bound at every batch"
    if not ranges:
        return (
            f"Drafting {gamma} tokens is slower than plain decoding at every batch up to {max_batch}; the pass {turn}."
        )
    paying = " and ".join(f"{first} to {last}" for first, last in ranges)
    open_end = f", the largest looked at ({max_batch})" if ranges[-1][1] == max_batch else ""
    return f"Drafting {gamma} tokens pays at batch {paying}{open_end}; the target's pass {turn}."
