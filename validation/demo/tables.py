"""The tidy rows and the sentence that the demo's page and JSON file show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scipy import stats

from specsim.calibrate import Calibration
from specsim.records import PARTS, to_frame
from specsim.units import human, significant
from validation.claims import ClaimResult
from validation.decoder.load import Loaded
from validation.demo.bench import Run

PIT_LEVEL = 0.99


def answer(comparison: Sequence[Mapping[str, Any]], crossovers: Sequence[Mapping[str, Any]], *, is_real: bool) -> str:
    """The result in one sentence."""
    best = max(comparison, key=lambda row: row["speedup_measured"])
    low, high = significant(best["speedup_measured_low"]), significant(best["speedup_measured_high"])
    measured = (
        f"{significant(best['speedup_measured'])} times plain decoding "
        f"({low} to {high}; predicted {significant(best['speedup_predicted'])})"
    )
    setting = f"{best['proposer']} at gamma {best['gamma']}"
    if best["speedup_measured_low"] > 1:
        verdict = f"Speculate here: {setting} decodes at {measured}"
    elif best["speedup_measured"] > 1:
        verdict = f"Speculation may pay here, this run cannot tell: {setting} decodes at {measured}"
    else:
        verdict = f"Do not speculate here: the best setting, {setting}, decodes at {measured}"
    return f"{verdict}{_elsewhere(crossovers)}." if is_real else f"{verdict} (a random stand-in model, not an answer)."


def headline(comparison: Sequence[Mapping[str, Any]], claims: Sequence[ClaimResult]) -> list[dict[str, str]]:
    """The best setting of each drafter, and what the claims said, as label and value."""
    names = dict.fromkeys(row["proposer"] for row in comparison)
    lines = []
    for name in names:
        best = max((row for row in comparison if row["proposer"] == name), key=lambda row: row["speedup_measured"])
        lines.append(
            {
                "label": f"{name}, best gamma {best['gamma']}",
                "value": f"{significant(best['speedup_measured'])}x measured, "
                f"{significant(best['tau_measured'])} tokens per round, "
                f"{human(best['round_seconds_measured'], 's')} a round",
            }
        )
    stood = sum(claim.passed for claim in claims)
    return [*lines, {"label": "claims that stood", "value": f"{stood} of {len(claims)}"}]


def acceptance_rows(calibrations: Mapping[str, Calibration]) -> list[dict[str, Any]]:
    """Conditional acceptance by depth, all calibrated gammas pooled; depths that two texts reached."""
    return [
        {
            "proposer": name,
            "depth": depth,
            "reached": int(calibration.draws.accepted.trials[:, depth - 1].sum()),
            "accepted": int(calibration.draws.accepted.hits[:, depth - 1].sum()),
            "conditional": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
        }
        for name, calibration in calibrations.items()
        for depth in range(1, max(calibration.gammas) + 1)
        for estimate in [calibration.estimates.get(f"acceptance[{depth}]")]
        if estimate is not None
    ]


def part_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Mean seconds of each part of a round, per drafter and gamma asked for."""
    groups: dict[tuple[str, int], list[Any]] = {}
    for run in sorted(runs, key=lambda run: (run.setting.proposer or "", run.setting.gamma)):
        groups.setdefault((run.setting.proposer or "none", run.setting.gamma), []).extend(run.decoding.records)
    return [
        {"proposer": proposer, "gamma": gamma, "part": part.removesuffix("_seconds"), "seconds": float(mean)}
        for (proposer, gamma), records in groups.items()
        for part, mean in to_frame(records)[list(PARTS)].mean().items()
    ]


def speedup_rows(calibrations: Mapping[str, Calibration], max_gamma: int) -> list[dict[str, Any]]:
    """The predicted speedup at every gamma, with its interval."""
    return [
        {"proposer": name, "gamma": gamma, "speedup": speedup.value, "low": speedup.low, "high": speedup.high}
        for name, calibration in calibrations.items()
        for gamma in range(1, max_gamma + 1)
        for speedup in [calibration.predict(gamma).speedup]
    ]


def pit_rows(claims: Sequence[ClaimResult]) -> list[dict[str, Any]]:
    """Histograms of probability integral transforms with the band that one bin of an honest decoder stays in."""
    return [
        {
            "order": order,
            "bin_low": place / len(counts),
            "bin_high": (place + 1) / len(counts),
            "observed": observed,
            "expected": sum(counts) / len(counts),
            "low": float(low),
            "high": float(high),
        }
        for claim in claims
        for order, counts in claim.histograms.items()
        for low, high in [stats.binom.interval(PIT_LEVEL, sum(counts), 1 / len(counts))]
        for place, observed in enumerate(counts)
    ]


def text_rows(loaded: Loaded, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One text per prompt, each by a drafter in turn."""
    return [
        {
            "kind": run.prompt.kind,
            "prompt": run.prompt.text,
            "text": loaded.tokenizer.decode(run.decoding.tokens),
            "proposer": run.setting.proposer,
            "tokens": len(run.decoding.tokens),
            "rounds": len(run.decoding.records),
        }
        for run in _one_each(runs)
    ]


def _elsewhere(crossovers: Sequence[Mapping[str, Any]]) -> str:
    """What the same acceptance would give on the first GPU, by the expected efficiency."""
    expected = [row for row in crossovers if row["efficiency"] == "expected"]
    if not expected:
        return ""
    best = max((row for row in expected if row["hardware"] == expected[0]["hardware"]), key=lambda r: r["best_speedup"])
    gain = f"{significant(best['best_speedup'])} times with {best['proposer']}"
    return f"; with the same acceptance {best['model']} on one {best['hardware']} would run at {gain}{_until(best)}"


def _until(row: Mapping[str, Any]) -> str:
    last = row["crossover_batch"]
    return f", and gain up to batch {last}" if last else ""


def _one_each(runs: Sequence[Run]) -> Iterator[Run]:
    drafted = [run for run in runs if run.setting.proposer]
    prompts = list(dict.fromkeys(run.prompt for run in drafted))
    for place, prompt in enumerate(prompts):
        own = [run for run in drafted if run.prompt == prompt]
        yield own[place % len(own)]
