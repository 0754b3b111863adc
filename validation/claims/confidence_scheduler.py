"""DSpark's prefix scheduler over a loaded batch: throughput foretold from drafts that were judged in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.policies.ranking import RoundSeconds
from specsim.stats import TestResult
from specsim.verifiers import VERIFIERS
from validation.claims.drafting import HELD_OUT, Drafting, Judged, Texts, by_text, coins, is_head, open_drafting, watch
from validation.claims.protocol import ClaimResult, Control, Settings
from validation.claims.scheduling import SCHEDULES, Confidence, ScheduledProposer, early_stopping, law_holds
from validation.claims.statement import Statement, Sums, judged, state
from validation.decoder.proposers import PROPOSERS, Proposer

BINS = 8
CONTEXT = 64
"""Cached tokens at which passes are timed [token]."""
TINY = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfidenceScheduler:
    """Throughput of DSpark's prefix scheduler and of full drafts is foretold, and scheduling keeps the law.

    Parameters
    ----------
    texts, tokens : int
        Texts of either part, times the budget, and new tokens of each [1].
    gamma : int
        Drafted tokens per round and text [1].
    table_texts : int
        Texts of two tokens over the table on which the law is tested [1].

    Notes
    -----
    Drafts are those of a trained head where there is one: they cost so little that the pass which judges them is most
    of a round. Confidence in a draft is the share of drafts that stood where the drafter's largest probability was as
    large, among those that were reached: known before the draft is drawn. Rounds are priced by passes of this target on
    this device, timed beforehand over as many tokens as the batch may judge, so that what is measured of a run is how
    many tokens it commits. Confidence and both throughputs are stated from calibration rounds that judged every draft:
    there the schedule can be drawn up after the fact, and survival under `Rejection` adds up over what it admits (not
    quite: rounds that are cut begin elsewhere in a text than those that are not). Measured are runs on other texts, one
    with all drafts and one with the scheduler in the loop.

    That scheduling keeps the target's law is tested over a table whose first draft decides how likely the second looks,
    the counterexample of DSpark (arXiv 2607.05147, appendix A); the fault there chooses the budget in retrospect.
    """

    texts: int = 32
    tokens: int = 40
    gamma: int = 4
    table_texts: int = 1000
    name: ClassVar[str] = "confidence_scheduler"

    def __post_init__(self) -> None:
        checks.integer("texts", self.texts, low=2)
        checks.integer("gamma", self.gamma, low=1)
        checks.integer("tokens", self.tokens, low=self.gamma + 1)
        checks.integer("table_texts", self.table_texts, low=50)

    def run(self, settings: Settings) -> ClaimResult:
        """Judge all drafts, time passes, state; then run either way, and test the law."""
        pair, wanted = open_drafting(settings), settings.scaled(self.texts, least=8)
        drafter = cheap_drafter(pair, settings)
        batch = min(pair.batch, wanted // 2)
        count = wanted - wanted % batch
        options = {"count": count, "tokens": self.tokens, "seed": settings.seed}
        known, other = Texts(**options), Texts(part=HELD_OUT, **options)
        full = judged_rounds(pair, drafter, known, gamma=self.gamma, batch=batch)
        settings.progress(0.3)
        confidence = calibrated(full)
        seconds = priced(pair, full, gamma=self.gamma, seed=settings.seed)
        foretold = foreseen_throughputs(full, confidence, seconds, count=count)
        statements = {
            way: state(sums, setting={"drafts": way, "batch": batch}, quantity="tokens_per_second", texts=count)
            for way, sums in foretold.items()
        }
        settings.progress(0.5)
        every = judged_rounds(pair, drafter, other, gamma=self.gamma, batch=batch)
        settings.progress(0.7)
        scheduled = ScheduledProposer(drafter, confidence=confidence, schedule=early_stopping(seconds))
        found = judged_rounds(pair, scheduled, other, gamma=self.gamma, batch=batch)
        runs = {"all": every, "scheduled": found}
        measured = {way: throughput(rounds, seconds, count=count).value for way, rounds in runs.items()}
        settings.progress(0.9)
        gain = _gain(statements)
        laws = {name: law_holds(make, texts=self.table_texts, seed=settings.seed) for name, make in SCHEDULES.items()}
        settings.progress(1.0)
        return judged(
            self.name,
            [
                *((statements[way], measured[way]) for way in statements),
                (gain, measured["scheduled"] / measured["all"]),
            ],
            model=pair.name if drafter.name == pair.name else f"{pair.loaded.name}, drafter {drafter.name}",
            settings=settings,
            faults={},
            others=[laws["early stopping"]],
            controls=[_control(laws["retrospective"], level=settings.level)],
            figures={"drafts_judged_per_text_and_round": _judged_drafts(found)},
            note=f"throughput of the scheduler over all drafts {measured['scheduled'] / measured['all']:.2f}",
        )


def cheap_drafter(pair: Drafting, settings: Settings) -> Proposer:
    """A trained head: the one that was named, or that comes with this package; else the drafter of the pair."""
    from validation.heads.shipped import shipped_head

    named = settings.drafter
    path = shipped_head(pair.loaded.model) if named is None else named if is_head(named) else None
    return pair.proposer() if path is None else PROPOSERS["head"](pair.loaded, path=path)


class Round(NamedTuple):
    """Of one text: largest probabilities of the draft laws, and survival given the drafts, shape (G,) each [1]."""

    peaks: FloatArray
    survival: FloatArray


def _look(asked: Mapping[str, Any]) -> Round:
    q = asked["q"]
    return Round(
        peaks=np.zeros(0) if q is None else q.max(axis=-1),
        survival=VERIFIERS["rejection"].survival(asked["p"], asked["tokens"], q=q),
    )


def judged_rounds(pair: Drafting, proposer: Proposer, texts: Texts, *, gamma: int, batch: int) -> list[list[Judged]]:
    """Decode texts: the rounds of a whole batch in which every text had room for all of gamma."""
    found = watch(pair, proposer, texts, gamma=gamma, rule=VERIFIERS["rejection"], look=_look, batch=batch)
    rounds: dict[tuple[int, int], list[Judged]] = {}
    for one in found:
        rounds.setdefault((one.place // batch, one.step.record.round), []).append(one)
    return [some for some in rounds.values() if len(some) == batch]


def calibrated(rounds: Sequence[Sequence[Judged]]) -> Confidence:
    """The share of drafts that stood of those reached, by the drafter's largest probability: never falling, linear."""
    seen = [one.seen for some in rounds for one in some]
    peaks = np.concatenate([each.peaks for each in seen])
    stood = np.concatenate([each.survival for each in seen])
    reached = np.concatenate([np.concatenate(([1.0], each.survival))[:-1] for each in seen])
    parts = np.array_split(np.argsort(peaks), BINS)
    at = np.array([peaks[part].mean() for part in parts])
    means = np.maximum.accumulate([stood[part].sum() / max(reached[part].sum(), TINY) for part in parts])
    return lambda peaks: np.asarray(np.interp(peaks, at, means).clip(0, 1))


def priced(pair: Drafting, rounds: Sequence[Sequence[Judged]], *, gamma: int, seed: int) -> RoundSeconds:
    """Seconds of a round by judged tokens, never falling: drafting as in these rounds, and the target's pass."""
    from validation.timing import pass_rows

    batch = len(rounds[0])
    counts = [batch * (1 + depth) for depth in range(gamma + 1)]
    context = min(CONTEXT, pair.target.context_limit - max(counts))
    passes = pass_rows(pair.target, tokens=counts, context=context, repeats=5, warm_up=1, seed=seed)
    draft = np.median([some[0].step.record.draft_seconds for some in rounds])
    rising = np.maximum.accumulate([row["seconds"] for row in passes]) + draft
    return lambda tokens: np.interp(tokens, counts, rising)


def foreseen_throughputs(
    rounds: Sequence[Sequence[Judged]], confidence: Confidence, seconds: RoundSeconds, *, count: int
) -> dict[str, Sums]:
    """Tokens and seconds of rounds that judged all drafts, as they are and as the scheduler would have cut them."""
    schedule = early_stopping(seconds)
    found: dict[str, list[tuple[int, float, float, float]]] = {"all": [], "scheduled": []}
    for some in rounds:
        survival = np.stack([one.seen.survival for one in some])
        chances = np.stack([confidence(one.seen.peaks) for one in some])
        everything = np.full(len(some), survival.shape[1])
        for way, lengths in (("all", everything), ("scheduled", schedule(chances, everything))):
            share = float(seconds(np.array([len(some) + lengths.sum()]))[0]) / len(some)
            for one, stands, length in zip(some, survival, lengths, strict=True):
                kept = stands[:length]
                found[way].append((one.place, 1 + kept.sum(), share, coins(kept)))
    return {way: _sums(rows, count=count) for way, rows in found.items()}


def throughput(rounds: Sequence[Sequence[Judged]], seconds: RoundSeconds, *, count: int) -> Sums:
    """Tokens that rounds committed, and their seconds, shared among the texts of the batch."""
    rows = []
    for some in rounds:
        judged_tokens = len(some) + sum(one.step.record.drafted for one in some)
        share = float(seconds(np.array([judged_tokens]))[0]) / len(some)
        rows += [(one.place, float(one.step.record.committed), share, 0.0) for one in some]
    return _sums(rows, count=count)


def _sums(rows: Sequence[tuple[int, float, float, float]], *, count: int) -> Sums:
    places = np.array([row[0] for row in rows])
    tokens, seconds, chance = by_text([row[1:] for row in rows], places, count).T
    return Sums(top=tokens, bottom=seconds, coins=float(chance.sum() / seconds.sum()))


def _gain(statements: Mapping[str, Statement]) -> Statement:
    """Of the scheduler over all drafts; errors as if the two runs had nothing in common."""
    scheduled, every = statements["scheduled"], statements["all"]
    ratio = scheduled.predicted / every.predicted
    relative = np.hypot(scheduled.error / scheduled.predicted, every.error / every.predicted)
    return replace(scheduled, quantity="gain", predicted=ratio, error=float(ratio * relative))


def _judged_drafts(rounds: Sequence[Sequence[Judged]]) -> float:
    return float(np.mean([one.step.record.drafted for some in rounds for one in some]))


def _control(outcome: TestResult, *, level: float) -> Control:
    return Control(
        fault="budget chosen in retrospect",
        n=outcome.n,
        pvalue=outcome.pvalue,
        caught=not outcome.passed(level),
    )
