"""The batch from which speculation no longer pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from specsim.acceptance import Acceptance
from specsim.calibrate import measured_speedup
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.records import RoundRecord
from validation.claims.fitting import Fit, fit
from validation.claims.iid_formula import judged
from validation.claims.pass_seconds import PassLaw, fit_passes
from validation.claims.prediction import Row, control, predicted
from validation.claims.protocol import ClaimResult, Settings

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.text import Request
    from validation.demo.bench import Bench

GAMMA = 3
LONG = 11
"""Drafts of rounds that are only timed: few sequences with long drafts load a pass as many with short ones do."""
LONG_ROUNDS = 2
ROUNDS = 4
TURNS, LEAST_TURNS = 3, 2
"""Each of `ROUNDS` rounds of every batch, with new prompts: a machine that wanders does so for all batches alike. A
larger budget buys turns as long as there are prompts, then rounds."""


class Batches(NamedTuple):
    """Sequences side by side: those calibrated with, each in as many groups, and those held out."""

    calibrated: Mapping[int, int]
    held_out: tuple[int, ...]

    @property
    def prompts(self) -> int:
        """Prompts of a turn: one for each text that is calibrated with, and those that held-out batches share [1]."""
        return sum(batch * groups for batch, groups in self.calibrated.items()) + max(self.held_out)

    def within(self, widest: float) -> Batches:
        """Those up to a largest batch.

        Raises
        ------
        InputError
            None is left to hold out.
        """
        if min(self.held_out) > widest:
            raise InputError(f"batch must be at least {min(self.held_out)} for the crossover, got {widest}")
        calibrated = {batch: groups for batch, groups in self.calibrated.items() if batch <= widest}
        return Batches(calibrated, tuple(batch for batch in self.held_out if batch <= widest))


BATCHES = {
    "cpu": Batches({1: 4, 2: 2, 4: 3}, (6, 8, 10, 12, 16)),
    "cuda": Batches({1: 4, 8: 2, 32: 2}, (48, 64, 96, 128, 192)),
}


class Play(NamedTuple):
    """Rounds of a full batch, in every turn anew."""

    name: str | None
    """The drafter; None for plain decoding."""
    batch: int
    first: int = 0
    """Place in the turn of the first prompt."""
    gamma: int = GAMMA
    rounds: int = ROUNDS


Key = tuple[str | None, int]
"""Drafter and batch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossover:
    """Speedup at larger batches, and the batch at which it falls below 1, follow from decoding at small ones.

    Notes
    -----
    Calibrated at small batches are acceptance by depth, the seconds of a round without its drafts as a `PassLaw`, and
    those of its drafts as a line in the batch. A pass is as wide as the longest draft of its batch; how often a text
    drafts is counted round by round, since all texts of a batch are as far. All batches take turns; each turn has
    prompts of its own, and held-out batches others than those calibrated with. Rounds are played with full batches
    only, and texts go on beyond their end. The fault is to take the speedup of batch 1 for that of every batch.
    """

    name: ClassVar[str] = "crossover"

    def run(self, settings: Settings) -> ClaimResult:
        """Decode at small batches, state the speedup at large ones, and decode with those."""
        from validation.claims.speculation import open_bench, open_target, planted

        loaded = open_target(settings, is_timed=True)
        bench = open_bench(loaded, drafter=settings.drafter, tokens=1)
        player = Player(bench, loaded.prompt_tokens)
        names = [name for name in bench.proposers if name != "early exit"]  # the slowest to measure, one of its kind
        batches = BATCHES[loaded.model.device.type].within(settings.widest)
        seen, fresh = _played(player, names, batches, settings=settings)
        parts = {name: Parts.of(seen, name) for name in names}
        rows = [
            _row(name, batch, part, fresh=fresh, seed=settings.seed)
            for name, part in parts.items()
            for batch in batches.held_out
        ]
        top = max(batches.held_out)
        points = {name: _measured(name, seen, rows, seed=settings.seed) for name in names}
        fault = "the speedup of batch 1 at every batch"
        controls = [control(fault, planted(rows, lambda row: _alone(parts, row)), level=settings.level)]
        result = predicted(
            self.name,
            rows,
            model=loaded.name,
            settings=settings,
            controls=controls,
            figures=dict(_figures(parts, points, top=top)),
            also=[
                {"proposer": name, "batch": batch, "quantity": "speedup", "calibrated": value}
                for name, found in points.items()
                for batch, value in found.items()
                if batch in batches.calibrated
            ],
        )
        told = (told_crossover(name, parts[name].crossover(top=top), found) for name, found in points.items())
        return replace(result, detail="; ".join((result.detail, *told)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Parts:
    """What small batches determine of one drafter.

    Parameters
    ----------
    acceptance, proposed
        By depth; P(at least k tokens proposed) in each round of a text, shape (rounds, GAMMA) [1].
    law, law_fit
        Seconds of a round without its drafts, and how well they follow the law.
    draft_fit
        Seconds of the drafts of a round against (1, batch).
    between
        Variance of log tau from one request to the next [1].
    requests
        Calibrated on [1].
    context
        Cached tokens of a text, on average [token].
    """

    acceptance: Acceptance
    proposed: FloatArray
    law: PassLaw
    law_fit: Fit
    draft_fit: Fit
    between: float
    requests: int
    context: int

    @classmethod
    def of(cls, seen: Mapping[Key, list[list[RoundRecord]]], name: str) -> Parts:
        """From runs by drafter and batch."""
        own = [run for (drafter, _), runs in seen.items() if drafter == name for run in runs]
        short = [record for run in own for record in run if record.gamma == GAMMA]
        counts = judged((record for run in own for record in run), depths=GAMMA)
        law, law_fit = fit_passes(*_points(run for runs in seen.values() for run in runs))
        drafts = [run for run in own if run[0].gamma == GAMMA]
        lines = np.array([(1.0, run[0].batch) for run in drafts])
        seconds = np.array([np.median([record.draft_seconds for record in run]) for run in drafts])
        tokens = _by_request(drafts)
        return cls(
            acceptance=Acceptance.by_depth(counts.by_depth.tolist()),
            proposed=_proposed(short),
            law=law,
            law_fit=law_fit,
            draft_fit=fit(lines, seconds),
            between=float(np.var(tokens, ddof=1) / np.mean(tokens) ** 2),
            requests=len(tokens),
            context=round(np.mean([record.context_tokens for record in short])),
        )

    def speedup(self, batch: int) -> float:
        """Over plain decoding of the same batch [1]."""
        tau = 1 + float(self.proposed.mean(axis=0) @ self.acceptance.survival(GAMMA))
        widest = np.pad(1 - (1 - self.proposed) ** batch, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
        passes = self.law.pass_seconds(tokens=np.arange(1, GAMMA + 2), batch=batch, context=self.context)
        rest = float(-np.diff(widest.mean(axis=0)) @ np.asarray(passes))
        draft = float(np.array([1.0, batch]) @ self.draft_fit.coefficients)
        return tau * float(self.law.pass_seconds(tokens=1, batch=batch, context=self.context)) / (rest + draft)

    def interval(self, batch: int, *, texts: int) -> tuple[float, float]:
        """Where the speedup of so many further texts will lie with probability 0.95."""
        tau = self.between * (1 / texts + 1 / self.requests)
        plain = self.law_fit.spread**2  # the plain step and the round both stray from the law
        return self.law_fit.interval(self.speedup(batch), also=tau + plain + self.draft_fit.spread**2)

    def crossover(self, *, top: int) -> int | None:
        """The largest batch up to `top` at which speculation pays, 0 for none; None where it pays at `top`."""
        paying = [batch for batch in range(1, top + 1) if self.speedup(batch) >= 1]
        return None if top in paying else max(paying, default=0)


class Player:
    """Plays the first rounds of full batches, each request with a prompt of its own.

    Parameters
    ----------
    bench
        Target, drafters and sampling.
    prompt_tokens
        From a message to the prompt; messages that no trained head saw come first.
    """

    def __init__(self, bench: Bench, prompt_tokens: Callable[[str], Sequence[int]]) -> None:
        from validation.train.text import unseen_prompts

        self._bench = bench
        self._prompt_tokens = prompt_tokens
        self._messages = list(unseen_prompts())

    @property
    def prompts(self) -> int:
        """Different ones that there are [1]."""
        return len(self._messages)

    def play(self, asked: Play, *, first: int) -> list[RoundRecord]:
        """Records of texts that answer the messages from `first` on."""
        from validation.decoder.loop import stream

        longest = (asked.rounds + 1) * (asked.gamma + 1)
        requests = [self._request(place, tokens=longest) for place in range(first, first + asked.batch)]
        proposer = self._bench.proposers[asked.name] if asked.name else None
        steps = stream(self._bench.target, proposer, requests, gamma=asked.gamma if asked.name else 0)
        return [step.record for step in islice(steps, asked.rounds * asked.batch)]

    def _request(self, place: int, *, tokens: int) -> Request:
        """Without an end of text, so that batches stay full."""
        from validation.decoder.text import Request

        prompt = self._prompt_tokens(self._messages[place])
        return Request(prompt=prompt, name=str(place), max_tokens=tokens, sampling=self._bench.sampling)


def _played(
    player: Player, names: Sequence[str], batches: Batches, *, settings: Settings
) -> tuple[dict[Key, list[list[RoundRecord]]], dict[Key, list[RoundRecord]]]:
    """Runs of calibrated batches, and those of the held-out ones."""
    rounds = settings.scaled(TURNS * ROUNDS, least=LEAST_TURNS * ROUNDS)
    turns = min(rounds // ROUNDS, player.prompts // batches.prompts)
    schedule = list(_schedule(names, batches, rounds=rounds // turns))
    runs: list[list[RoundRecord]] = [[] for _ in schedule]
    for turn in range(turns):
        for place, play in enumerate(schedule):
            runs[place] += player.play(play, first=turn * batches.prompts + play.first)
            settings.progress((turn + (place + 1) / len(schedule)) / turns)
    seen: dict[Key, list[list[RoundRecord]]] = {}
    for play, run in zip(schedule, runs, strict=True):
        seen.setdefault((play.name, play.batch), []).append(run)
    fresh = {key: seen.pop(key)[0] for key in list(seen) if key[1] in batches.held_out}
    return seen, fresh


def _schedule(names: Sequence[str], batches: Batches, *, rounds: int = ROUNDS) -> Iterator[Play]:
    """What is played in a turn: of calibrated batches groups of short drafts and one of long ones."""
    first = 0
    for batch, groups in batches.calibrated.items():
        for _ in range(groups):
            for name in (None, *names):
                yield Play(name, batch, first, rounds=rounds)
            first += batch
        for name in names:
            yield Play(name, batch, first - batch, gamma=LONG, rounds=LONG_ROUNDS)
    for batch in batches.held_out:
        for name in (None, *names):
            yield Play(name, batch, first, rounds=rounds)


def _proposed(records: Sequence[RoundRecord]) -> FloatArray:
    """P(at least k tokens proposed) by round of a text, shape (rounds, GAMMA) [1]."""
    drafted: dict[int, list[int]] = {}
    for record in records:
        drafted.setdefault(record.round, []).append(record.drafted)
    depths = np.arange(1, GAMMA + 1)
    return np.array([(np.array(drafted[turn])[:, None] >= depths).mean(axis=0) for turn in sorted(drafted)])


def _points(runs: Iterator[list[RoundRecord]]) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Tokens, batch, context and median seconds without drafts: of every run, by the width of the pass."""
    points = []
    for run in runs:
        widths: dict[int, list[tuple[float, float]]] = {}
        for _, each in groupby(run, key=lambda record: record.round):
            texts = list(each)
            rest = texts[0].seconds - texts[0].draft_seconds
            width = 1 + max(record.drafted for record in texts)
            widths.setdefault(width, []).append((rest, float(np.mean([record.context_tokens for record in texts]))))
        for width, found in widths.items():
            seconds, context = np.median(np.array(found), axis=0)
            points.append((width, run[0].batch, round(context), seconds))
    tokens, batch, context, seconds = (np.array(axis) for axis in zip(*points, strict=True))
    return tokens, batch, context, seconds


def _by_request(runs: Sequence[list[RoundRecord]]) -> FloatArray:
    """Tokens per round of every request."""
    committed: dict[str, list[int]] = {}
    for record in (record for run in runs for record in run):
        committed.setdefault(record.request, []).append(record.committed)
    return np.array([np.mean(counts) for counts in committed.values()])


def _row(name: str, batch: int, part: Parts, *, fresh: Mapping[Key, list[RoundRecord]], seed: int) -> Row:
    records = fresh[name, batch]
    low, high = part.interval(batch, texts=len({record.request for record in records}))
    return Row(
        setting={"proposer": name, "gamma": GAMMA, "batch": batch},
        quantity="speedup",
        predicted=part.speedup(batch),
        low=low,
        high=high,
        measured=measured_speedup(records, fresh[None, batch], seed=seed).value,
        n=len(records),
    )


def _alone(parts: Mapping[str, Parts], row: Row) -> float:
    return parts[row.setting["proposer"]].speedup(1)


def _measured(
    name: str, seen: Mapping[Key, list[list[RoundRecord]]], rows: Sequence[Row], *, seed: int
) -> dict[int, float]:
    """Measured speedup by batch, calibrated and held out."""
    found = {}
    for batch in sorted({batch for _, batch in seen}):
        own = [record for run in seen[name, batch] if run[0].gamma == GAMMA for record in run]
        plain = [record for run in seen[None, batch] for record in run]
        found[batch] = measured_speedup(own, plain, seed=seed).value
    return found | {row.setting["batch"]: row.measured for row in rows if row.setting["proposer"] == name}


def bracket(speedups: Mapping[int, float]) -> tuple[int, int | None]:
    """The largest measured batch that pays, 0 for none, and the next one measured; None where there is none.

    Examples
    --------
    >>> bracket({1: 1.4, 4: 1.1, 8: 0.9}), bracket({1: 1.4, 4: 1.1}), bracket({1: 0.8})
    ((4, 8), (4, None), (0, 1))
    """
    pays = max((batch for batch, speedup in speedups.items() if speedup >= 1), default=0)
    return pays, min((batch for batch in speedups if batch > pays), default=None)


def told_crossover(name: str, foretold: int | None, speedups: Mapping[int, float]) -> str:
    """Both crossovers in words.

    Examples
    --------
    >>> told_crossover("ngram", 6, {1: 1.4, 4: 1.1, 8: 0.9})
    'ngram pays up to batch 6 as predicted, up to 4 and below 8 as measured'
    >>> told_crossover("ngram", None, {1: 1.4, 4: 1.1})
    'ngram pays beyond batch 4 as predicted, beyond 4, the largest measured'
    """
    pays, above = bracket(speedups)
    top = max(speedups)
    expected = f"beyond batch {top}" if foretold is None else f"up to batch {foretold}"
    found = f"beyond {top}, the largest measured" if above is None else f"up to {pays} and below {above} as measured"
    return f"{name} pays {expected} as predicted, {found}"


def _figures(
    parts: Mapping[str, Parts], points: Mapping[str, Mapping[int, float]], *, top: int
) -> Iterator[tuple[str, float]]:
    """The crossover of each drafter as predicted and as bracketed; bounds alone where it lies beyond `top`."""
    for name, part in parts.items():
        foretold, (pays, above) = part.crossover(top=top), bracket(points[name])
        side = "above" if foretold is None else "at"
        yield f"crossover_predicted_{side}[{name}]", top if foretold is None else foretold
        yield f"crossover_measured_from[{name}]", pays
        if above is not None:
            yield f"crossover_measured_below[{name}]", above
