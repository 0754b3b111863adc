"""`specsim simulate`: rounds of draft and verify, as counts or as the rows that a decoder would write."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from specsim import checks
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.drafters import RatioDrafter
from specsim.records import write_records
from specsim.roofline import Staircase
from specsim.scenario import Scenario
from specsim.simulate import simulate_accepted, simulate_records
from specsim.tau import expected_tokens
from specsim.units import percent, significant


@click.group()
def simulate() -> None:
    """Monte Carlo of rounds."""


@simulate.command()
@click.option("--alpha", required=True, help="Acceptance probability, or several by depth: 0.8,0.7,0.6.")
@click.option("--gamma", type=int, required=True, help="Drafted tokens per round.")
@click.option("--rounds", type=int, default=1_000_000, show_default=True, help="Rounds to play.")
@seed_option
@json_option
def rounds(alpha: str, gamma: int, rounds: int, seed: int, as_json: bool) -> None:
    """How many drafts were accepted in each of many independent rounds."""
    checks.integer("rounds", rounds, low=1)
    acceptance = parts.acceptance(alpha)
    exact = expected_tokens(acceptance, gamma=gamma)
    counts = simulate_accepted(acceptance, gamma=gamma, rounds=rounds, seed=seed)
    lengths = np.arange(gamma + 1)
    mean = float(counts @ lengths) / rounds
    spread = float(np.sqrt(counts @ (lengths - mean) ** 2 / rounds / rounds))
    result = {
        "counts": counts,
        "E_tokens": 1 + mean,
        "standard_error": spread,
        "E_tokens_exact": exact,
    }
    sentence = (
        f"{significant(1 + mean, digits=5)} ± {significant(spread, digits=2)} tokens per round over {rounds} rounds; "
        f"exact: {significant(exact, digits=5)}."
    )
    lines = [(str(length), str(count), percent(count / rounds)) for length, count in enumerate(counts)]
    inputs = {"alpha": alpha, "gamma": gamma, "rounds": rounds, "seed": seed}
    assumptions = ["rounds are independent"]
    emit(
        envelope("simulate rounds", inputs=inputs, result=result, assumptions=assumptions),
        as_json=as_json,
        tables=[sentence, table(["accepted drafts", "rounds", "share"], lines)],
    )


@simulate.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--alpha", required=True, help="Acceptance probability, or several by depth: 0.8,0.7,0.6.")
@click.option("--gammas", default="2,6", show_default=True, help="Drafted tokens per round; plain rows are added.")
@click.option("--c", type=float, default=0.1, show_default=True, help="Seconds of a drafter step over a target step.")
@click.option("--step-seconds", type=float, default=0.02, show_default=True, help="Seconds of a pass over any tokens.")
@click.option("--requests", type=int, default=20, show_default=True, help="Texts per gamma.")
@click.option("--rounds", type=int, default=50, show_default=True, help="Rounds per text.")
@seed_option
@json_option
def records(
    out: Path,
    alpha: str,
    gammas: str,
    c: float,
    step_seconds: float,
    requests: int,
    rounds: int,
    seed: int,
    as_json: bool,
) -> None:
    """Write rows to OUT (.jsonl or .jsonl.gz) that `specsim calibrate` reads, plain decoding among them."""
    chosen = [0, *parts.integers("gammas", gammas)]
    scenarios = [
        Scenario(
            target=Staircase(tokens=(1, 65), seconds=(step_seconds, step_seconds), source="flat"),
            drafter=RatioDrafter(c=c, step_seconds=step_seconds),
            acceptance=parts.acceptance(alpha),
            gamma=gamma,
        )
        for gamma in chosen
    ]
    rows = [
        record
        for position, scenario in enumerate(scenarios)
        for record in simulate_records(scenario, requests=requests, rounds_per_request=rounds, seed=seed + position)
    ]
    path = write_records(out, rows)
    inputs = {
        "alpha": alpha,
        "gammas": chosen,
        "c": c,
        "step_seconds": step_seconds,
        "requests": requests,
        "rounds": rounds,
        "seed": seed,
    }
    result = {"path": path, "rows": len(rows)}
    sentence = f"{len(rows)} rows written to {path}."
    emit(envelope("simulate records", inputs=inputs, result=result), as_json=as_json, tables=[sentence])
