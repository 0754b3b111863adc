"""The demo, in order: load, time passes, calibrate, predict, measure what was predicted, prove losslessness, place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from specsim.calibrate import Calibration, calibrate
from specsim.files import ready_folder
from specsim.records import RoundRecord, write_records
from specsim.roofline import Staircase
from validation.claims import CLAIMS, ClaimResult, Settings
from validation.decoder.load import Loaded, load
from validation.demo.bench import PLAIN, Bench, Run, Setting, decode_interleaved, rows, set_up
from validation.demo.compare import compare, errors, predict
from validation.demo.place import ASSUMPTION, place
from validation.demo.settings import DemoSettings
from validation.demo.tables import acceptance_rows, answer, headline, part_rows, pit_rows, speedup_rows, text_rows
from validation.timing import fingerprint, pass_rows, physical_cores, pin_threads

Progress = Callable[[str, float], None]
PASS_CONTEXT = 96
"""Cached tokens at which passes are timed: about the middle of the demo's texts [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What the demo found: `result` as the JSON file and the page take it, and what it rests on."""

    result: dict[str, Any]
    assumptions: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every claim of losslessness stood."""
        return all(row["passed"] for row in self.result["lossless"])


def run(settings: DemoSettings, *, out: Path, progress: Progress) -> Outcome:
    """Run the demo; rows are written to `out` as soon as a phase has them.

    Parameters
    ----------
    settings
        Sizes and choices.
    out
        Folder for `calibration.jsonl.gz` and `held_out.jsonl.gz`.
    progress
        Called with the phase's title and the fraction of it that is done.
    """
    pin_threads()
    progress("load the model", 0.0)
    loaded = load(settings.model, dtype=settings.dtype, device=settings.device)
    progress("load the model", 1.0)
    ready_folder(out)
    bench = set_up(loaded, settings)
    passes = _time_passes(bench, settings, progress)
    seen = _decode(bench, settings.calibrate_gammas, seed=settings.seed, report=partial(progress, "calibrate"))
    write_records(out / "calibration.jsonl.gz", _records(seen))
    calibrations = _calibrate(bench, seen, passes=passes, seed=settings.seed)
    predictions = predict(calibrations, settings.gammas)
    unseen = _decode(bench, settings.held_out_gammas, seed=settings.seed, report=partial(progress, "measure"))
    write_records(out / "held_out.jsonl.gz", _records(unseen))
    comparison = [
        *compare(predictions, seen, held_out=False, seed=settings.seed),
        *compare(predictions, unseen, held_out=True, seed=settings.seed),
    ]
    claims = _prove(loaded, settings, progress)
    curves, crossovers = place(calibrations, max_gamma=max(settings.calibrate_gammas))
    result = {
        "answer": answer(comparison, crossovers, is_real=loaded.is_real),
        "headline": headline(comparison, claims),
        "notice": loaded.notice or None,
        "model": {
            "name": loaded.name,
            "is_real": loaded.is_real,
            "parameters": sum(weight.numel() for weight in loaded.model.parameters()),
        },
        "device": fingerprint(),
        "predictions": comparison,
        "errors": errors(comparison),
        "lossless": [claim.as_dict() for claim in claims],
        "numerics": _numerics(claims),
        "pit": pit_rows(claims),
        "acceptance": acceptance_rows(calibrations),
        "passes": [{"dtype": settings.dtype, **row} for row in passes],
        "round_parts": part_rows([*seen, *unseen]),
        "speedup_by_gamma": speedup_rows(calibrations, max(settings.gammas)),
        "placement": curves,
        "crossover": crossovers,
        "texts": text_rows(loaded, unseen),
    }
    return Outcome(result=result, assumptions=_assumptions(settings))


def _time_passes(bench: Bench, settings: DemoSettings, progress: Progress) -> list[dict[str, float | int]]:
    """Seconds of target passes over every number of tokens that a round may score, taken in turns."""
    progress("time passes", 0.0)
    counts = range(1, max(settings.gammas) + 2)
    context = min(PASS_CONTEXT, bench.target.context_limit - max(counts))
    measured = pass_rows(
        bench.target, tokens=counts, context=context, repeats=settings.pass_repeats, warm_up=2, seed=settings.seed
    )
    progress("time passes", 1.0)
    return measured


def _decode(bench: Bench, gammas: Sequence[int], *, seed: int, report: Callable[[float], None]) -> list[Run]:
    """Plain decoding and every drafter at every gamma, in turns."""
    settings = [Setting(proposer=name, gamma=gamma) for gamma in gammas for name in bench.proposers]
    return decode_interleaved(bench, [PLAIN, *settings], seed=seed, progress=report)


def _records(runs: Sequence[Run]) -> list[RoundRecord]:
    return [record for run in runs for record in run.decoding.records]


def _calibrate(
    bench: Bench, runs: Sequence[Run], *, passes: Sequence[Mapping[str, float | int]], seed: int
) -> dict[str, Calibration]:
    """One calibration per drafter, on its own rows, the plain rows, and the timed passes."""
    stairs = Staircase(
        tokens=tuple(int(row["tokens"]) for row in passes),
        seconds=tuple(float(row["seconds"]) for row in passes),
        source=f"timed at {PASS_CONTEXT} cached tokens",
    )
    plain = rows(runs, PLAIN)
    own = {name: [record for record in _records(runs) if record.proposer == name] for name in bench.proposers}
    return {name: calibrate([*plain, *own[name]], staircase=stairs, seed=seed) for name in bench.proposers}


def _prove(loaded: Loaded, settings: DemoSettings, progress: Progress) -> list[ClaimResult]:
    """The claims of losslessness, sized for the demo; claims are about float32, whatever the texts were timed in."""
    sizes = {
        "lossless_table": {"rounds": settings.lossless_rounds},
        "lossless_model": {"tokens": settings.lossless_tokens},
        "greedy_equality": {"tokens": 12},
        "bfloat16_gap": {"tokens": 4},
    }
    shared = loaded if settings.dtype == "float32" else None
    results = []
    for name in sizes:
        title = f"prove {name.replace('_', ' ')}"
        progress(title, 0.0)
        asked = Settings(
            seed=settings.seed,
            loaded=shared,
            model=settings.model,
            device=settings.device,
            workers=physical_cores(),
            progress=partial(progress, title),
        )
        results.append(replace(CLAIMS[name], **sizes[name]).run(asked))
        progress(title, 1.0)
    return results


def _numerics(claims: Sequence[ClaimResult]) -> list[dict[str, Any]]:
    """How far a verifying pass is from one-token passes, per dtype."""
    prefix = "mean_total_variation_"
    return [
        {"dtype": name.removeprefix(prefix), "total_variation": value, "n": claim.n}
        for claim in claims
        for name, value in claim.figures.items()
        if name.startswith(prefix)
    ]


def _assumptions(settings: DemoSettings) -> tuple[str, ...]:
    return (
        f"texts of {settings.tokens} new tokens (half as many with an early exit) at temperature "
        f"{settings.temperature:g}, one at a time; reading the prompt is not in any figure",
        "how many tokens are proposed does not depend on whether they are accepted",
        "acceptance by depth does not depend on gamma",
        "intervals resample whole texts, since rounds of one text are correlated",
        ASSUMPTION,
    )
