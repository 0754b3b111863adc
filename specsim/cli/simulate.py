"""`specsim simulate`: rounds of draft and verify, as counts or as the rows that a decoder would write; a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from specsim import checks
from specsim.checks import IntArray
from specsim.cli import parts
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.cli.simulate_serving import serving
from specsim.drafters import RatioDrafter
from specsim.errors import InputError
from specsim.records import write_records
from specsim.roofline import Staircase
from specsim.scenario import Scenario
from specsim.simulate import (
    TokenSource,
    first_round_pmf,
    read_source,
    simulate_accepted,
    simulate_records,
    simulate_source,
)
from specsim.tau import expected_tokens
from specsim.units import percent, significant
from specsim.verifiers import VERIFIERS

INDEPENDENT = "rounds are independent"
DEPENDENT = "the standard error takes rounds to be independent, which those of one text are not"
LOSSY = "{} is lossy: its text does not follow the target's law; specsim accept says how far it is from it"


@click.group()
def simulate() -> None:
    """Monte Carlo of rounds, and of a server under load."""


simulate.add_command(serving)


@simulate.command()
@parts.law_options
@click.option(
    "--laws",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Play with tokens instead: a .npz with arrays p and q, (G+1, V) and (G, V) by depth, or (V, V) by last token.",
)
@click.option("--verifier", default="rejection", show_default=True, help="Rule that judges the drafts, with --laws.")
@click.option("--draft", default="sampled", show_default=True, help="sampled or argmax drafts, with --laws.")
@click.option("--rounds-per-text", type=int, default=100, show_default=True, help="Rounds of a text, with --laws.")
@click.option("--gamma", type=int, required=True, help="Drafted tokens per round.")
@click.option("--rounds", type=int, default=1_000_000, show_default=True, help="Rounds to play.")
@seed_option
@json_option
def rounds(
    alpha: str | None,
    decay: tuple[float, ...] | None,
    beta: tuple[float, ...] | None,
    markov: tuple[float, ...] | None,
    file: Path | None,
    verifier: str,
    draft: str,
    rounds_per_text: int,
    gamma: int,
    rounds: int,
    seed: int,
    as_json: bool,
) -> None:
    """How many drafts were accepted in each of many rounds, by a law of acceptance or by --laws of tokens."""
    checks.integer("rounds", rounds, low=1)
    law = {"alpha": alpha, "decay": decay, "beta": beta, "markov": markov}
    inputs: dict[str, Any] = {**law, "gamma": gamma, "rounds": rounds, "seed": seed}
    if file is None:
        acceptance = parts.law(alpha=alpha, decay=decay, beta=beta, markov=markov)
        counts = simulate_accepted(acceptance, gamma=gamma, rounds=rounds, seed=seed)
        played = _Played(counts, exact=expected_tokens(acceptance, gamma=gamma), assumptions=[INDEPENDENT])
    else:
        if any(value is not None for value in law.values()):
            raise InputError("give either --laws or one of --alpha, --decay, --beta and --markov")
        inputs |= {"laws": file, "verifier": verifier, "draft": draft, "rounds_per_text": rounds_per_text}
        played = _with_tokens(
            read_source(file),
            gamma=gamma,
            rounds=rounds,
            each=rounds_per_text,
            seed=seed,
            verifier=verifier,
            draft=draft,
        )
    _emit_counts(played, inputs=inputs, as_json=as_json)


class _Played(NamedTuple):
    counts: IntArray
    exact: float | None
    assumptions: list[str]


def _with_tokens(
    source: TokenSource, *, gamma: int, rounds: int, each: int, seed: int, verifier: str, draft: str
) -> _Played:
    length = min(checks.integer("rounds-per-text", each, low=1), rounds)
    counts = simulate_source(
        source,
        gamma=gamma,
        requests=-(-rounds // length),
        rounds_per_request=length,
        seed=seed,
        verifier=verifier,
        draft=draft,
    )
    lossy = [] if VERIFIERS[verifier].is_lossless else [LOSSY.format(verifier)]
    if source.start and length > 1:
        return _Played(counts, exact=None, assumptions=[DEPENDENT, *lossy])
    law = first_round_pmf(source, gamma=gamma, verifier=verifier, draft=draft)
    return _Played(counts, exact=1 + float(law @ np.arange(law.size)), assumptions=[INDEPENDENT, *lossy])


def _emit_counts(played: _Played, *, inputs: Mapping[str, Any], as_json: bool) -> None:
    counts, exact, assumptions = played
    total, lengths = int(counts.sum()), np.arange(counts.size)
    mean = float(counts @ lengths) / total
    error = float(np.sqrt(counts @ (lengths - mean) ** 2)) / total
    result = {"counts": counts, "E_tokens": 1 + mean, "standard_error": error, "E_tokens_exact": exact}
    sentence = (
        f"{significant(1 + mean, digits=5)} ± {significant(error, digits=2)} tokens per round over {total} rounds"
        + ("." if exact is None else f"; exact: {significant(exact, digits=5)}.")
    )
    lines = [(str(length), str(count), percent(count / total)) for length, count in enumerate(counts)]
    emit(
        envelope("simulate rounds", inputs=inputs, result=result, assumptions=assumptions),
        as_json=as_json,
        tables=[sentence, *assumptions[1:], table(["accepted drafts", "rounds", "share"], lines)],
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
    checks.integer("requests", requests, low=1)
    checks.integer("rounds", rounds, low=1)
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
