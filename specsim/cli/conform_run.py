"""Running `specsim conform` on a source: budget, recording, progress, and what is written in the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TaskID

from specsim.cli.conform_sources import Source, source
from specsim.cli.output import emit, envelope, table
from specsim.cli.parts import Command, options
from specsim.conformance.asking import ask, score
from specsim.conformance.check import check
from specsim.conformance.plan import Plan, plan
from specsim.conformance.report import Follower, junit, picture, write_replay
from specsim.conformance.sources import Recorder, fitting, two_samples
from specsim.conformance.trial import Trial
from specsim.conformance.verdict import Verdict
from specsim.errors import InputError
from specsim.files import write_whole

_PILOT = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """How long a run goes on, and what it leaves.

    Parameters
    ----------
    tokens : int
        To judge, unless there are `seconds` [1].
    seconds : float or None
        A first few requests are timed, and the tokens that fit are judged [s].
    tolerance : float
        Total variation that rounding may take [1].
    seed : int
    record, junit, html, replay : Path or None
        Files to write.
    resume : bool
        Go on with `record`.
    """

    tokens: int
    seconds: float | None = None
    tolerance: float = 0.0
    seed: int = 0
    record: Path | None = None
    resume: bool = False
    junit: Path | None = None
    html: Path | None = None
    replay: Path | None = None


def run_options(command: Command) -> Command:
    """Options of runs on a source."""
    file = click.Path(dir_okay=False, path_type=Path)
    return options(
        click.option(
            "--seconds", type=click.FloatRange(min=0, min_open=True), help="Budget in time instead of --tokens."
        ),
        click.option(
            "--tolerance",
            type=click.FloatRange(0, 1),
            default=0.0,
            show_default=True,
            help="Total variation that rounding may take.",
        ),
        click.option(
            "--record", type=file, help="Write requests, texts and laws as the run goes: JSON Lines, .gz or not."
        ),
        click.option("--resume", is_flag=True, help="Go on with the file of --record."),
        click.option("--junit", type=file, help="Write JUnit XML."),
        click.option("--html", type=file, help="Write a page."),
        click.option("--replay", type=file, help="Write the requests that show a fault, as a recording."),
    )(command)


def judge(chosen: Mapping[str, Any], *, tokens: int, seed: int, as_json: bool) -> int:
    """What the command does with a source: `chosen` holds the options of `source_options` and `run_options`."""
    budget = Budget(
        tokens=tokens, seed=seed, **{one.name: chosen[one.name] for one in fields(Budget) if one.name in chosen}
    )
    given = {name: value for name, value in chosen.items() if value is not None}
    return run_source(
        source(chosen, seed=seed), budget, as_json=as_json, inputs={**given, "tokens": tokens, "seed": seed}
    )


def run_source(made: Source, budget: Budget, *, as_json: bool, inputs: Mapping[str, Any]) -> int:
    """Judge a source, write and print what was found, and return the exit code: 0 conforms, 1 not, 2 inconclusive."""
    if budget.resume and budget.record is None:
        raise InputError("--resume needs --record FILE")
    render = _page() if budget.html is not None else None  # now, so that no run is lost for want of it
    if made.reference is not None:
        return _compare(made, budget, as_json=as_json, inputs=inputs)
    asked, gone = _plan(made, budget)
    decoder, oracle = made.decoder, made.oracle
    assert oracle is not None
    if budget.record is not None:
        recorder = Recorder(
            budget.record,
            decoder=decoder,
            oracle=oracle,
            vocabulary=_size(made),
            resume=budget.resume,
        )
        decoder = oracle = recorder
    follower, begun = Follower(), time.monotonic()
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        shown = _Shown(follower, progress, progress.add_task("checking", total=asked.tokens))
        verdict = check(decoder, oracle, asked, watch=shown)
    result = {**picture(verdict, follower), "left_out": gone, "hypothesis": verdict.hypothesis, "where": verdict.where}
    outcome = envelope(
        "conform", inputs={**inputs, "source": made.name}, result=result, assumptions=_assumptions(budget, gone)
    )
    _write(made, budget, verdict, seconds=time.monotonic() - begun)
    if budget.html is not None and render is not None:
        write_whole(budget.html, render(outcome))
    emit(outcome, as_json=as_json, tables=[verdict.sentence, *_left_out(gone), *_replays(verdict)])
    return verdict.exit_code


class _Shown:
    """A follower whose news are shown."""

    def __init__(self, follower: Follower, progress: Progress, task: TaskID) -> None:
        self.follower, self.progress, self.task = follower, progress, task

    def __call__(self, trial: Trial) -> None:
        self.follower(trial)
        margin = self.follower.bets[-1]["log10_margin"]
        self.progress.update(
            self.task, completed=trial.tokens, description=f"e-value 10^{margin:.1f} of what would reject"
        )


def _plan(made: Source, budget: Budget) -> tuple[Plan, dict[str, str]]:
    if made.plan is not None:
        return replace(made.plan, tolerance=budget.tolerance), {}
    asked, gone = fitting(
        plan(
            tokens=budget.tokens,
            vocabulary=_size(made),
            eos_id=made.eos_id,
            tolerance=budget.tolerance,
            seed=budget.seed,
            is_seeded=made.is_seeded,
        ),
        made.decoder,
        made.oracle,
    )
    if budget.seconds is not None:
        asked = replace(asked, tokens=_tokens_in(budget.seconds, made, asked))
    return asked, gone


def _tokens_in(seconds: float, made: Source, asked: Plan) -> int:
    """Tokens that a budget in time gives, by the pace of a first few requests."""
    begun = time.monotonic()
    requests = asked.requests(0, _PILOT)
    outputs = ask(made.decoder, requests, timeout_seconds=asked.timeout_seconds)
    assert made.oracle is not None
    score(made.oracle, requests, outputs, timeout_seconds=asked.timeout_seconds)
    pace = sum(len(output.tokens) for output in outputs) / (time.monotonic() - begun)
    return max(1, int(pace * seconds))


def _compare(made: Source, budget: Budget, *, as_json: bool, inputs: Mapping[str, Any]) -> int:
    assert made.reference is not None
    asked = plan(tokens=budget.tokens, vocabulary=_size(made), seed=budget.seed)
    parameters = asked.cells[0].parameters
    texts = max(20, budget.tokens // (len(asked.fixed) * parameters.max_tokens))
    found = two_samples(
        made.decoder, made.reference, prompts=asked.fixed, texts=texts, parameters=parameters, seed=budget.seed
    )
    rows = [(name, f"{result.pvalue:.3g}", str(result.n)) for name, result in found.results.items()]
    smallest = min((r.smallest_tv for r in found.results.values() if r.smallest_tv is not None), default=1.0)
    answer = "conforms" if found.conforms else "does not conform"
    sentence = (
        f"{answer}: two samples of {texts * len(asked.fixed)} texts; without the law a total variation below "
        f"{smallest:.2g} between first tokens goes unseen."
    )
    result = {"answer": sentence, "outcome": answer, "tests": found.results, "smallest_tv": smallest}
    emit(
        envelope("conform", inputs=inputs, result=result),
        as_json=as_json,
        tables=[sentence, table(["test", "adjusted p", "n"], rows)],
    )
    return 0 if found.conforms else 1


def _write(made: Source, budget: Budget, verdict: Verdict, *, seconds: float) -> None:
    if budget.junit is not None:
        write_whole(budget.junit, junit(verdict, suite=made.name, seconds=seconds))
    if budget.replay is not None:
        write_replay(budget.replay, verdict, vocabulary=_size(made))


def _page() -> Callable[[Mapping[str, Any]], str]:
    """The function that makes a page of an outcome; other packages than this one hold it."""
    points = metadata.entry_points(group="specsim.pages", name="conformance")
    if not points:
        raise InputError("--html needs the pages of specsim: pip install 'specsim[report]'")
    render: Callable[[Mapping[str, Any]], str] = next(iter(points)).load()
    return render


def _size(made: Source) -> int:
    if made.vocabulary is None:
        raise InputError("--vocabulary must be given for this decoder, got none")
    return made.vocabulary


def _assumptions(budget: Budget, gone: Mapping[str, str]) -> list[str]:
    told = [f"not tested: {name} ({reason})" for name, reason in gone.items()]
    return [f"each token's law may be off by a total variation of {budget.tolerance:g}", *told]


def _left_out(gone: Mapping[str, str]) -> list[Any]:
    return [table(["not tested", "why"], list(gone.items()))] if gone else []


def _replays(verdict: Verdict) -> list[Any]:
    rows = [
        (one.request.id, ", ".join(one.request.tags), str(one.place), str(one.output.tokens[one.place]), one.why)
        for one in verdict.replays
    ]
    return [table(["request", "kind", "place", "token", "why"], rows)] if rows else []
