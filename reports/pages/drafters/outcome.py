"""A drafter report as the one object that its page and its JSON file are made of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from reports import cells
from reports.pages.drafters.frames import frames
from reports.pages.drafters.study import Study
from specsim.capacity import Candidate
from specsim.capacity.candidate import MAX_CROSSOVER_BATCH
from specsim.cli.output import envelope
from specsim.units import percent, significant


def drafter_outcome(found: Study) -> dict[str, Any]:
    """The envelope: answer, headline, all frames, assumptions.

    Returns
    -------
    dict
        As `specsim report drafters --json` prints it; numbers in SI units, None where there is none.
    """
    built = frames(found)
    sources = {one.name: one.assumed.source for one in found.drafters if one.assumed is not None}
    built["drafters"] = built["drafters"].assign(source=built["drafters"]["method"].map(sources))
    rows = {name: _records(frame) for name, frame in built.items()}
    result = {
        "answer": answer(found),
        "load": load(found),
        "headline": _headline(found, rows["drafters"]),
        "constraint": found.plan.constraint,
        "rejected": dict(found.plan.rejected),
        "frames": rows,
    }
    return envelope("report drafters", inputs=asdict(found.scenario), result=result, assumptions=found.plan.assumptions)


def answer(found: Study) -> str:
    """The report in a sentence.

    Examples
    --------
    >>> from reports.pages.drafters.study import study
    >>> from reports.scenario import ReportScenario
    >>> busy = ReportScenario(model="Llama-3.1-8B", hardware="H100-SXM", batch=512, context=64, methods=["rest"])
    >>> answer(study(busy))
    'Do not speculate: at batch 512 no drafter looked at beats plain decoding.'
    """
    best = found.plan.best
    if best.variant is None:
        return f"Do not speculate: at batch {best.workload.batch} no drafter looked at beats plain decoding."
    interval = best.interval
    assert interval is not None
    sure = "" if interval.low > 1 else " That it gains at all is not certain."
    return (
        f"Speculate with {best.name}, {_shape(best)}: {significant(best.speedup)} times as fast as plain decoding "
        f"(95 % interval {significant(interval.low)} to {significant(interval.high)}), and {_until(best)}.{sure}"
    )


def load(found: Study) -> str:
    """What is served on what, in a line."""
    place, workload = found.place, found.plan.workload
    machine = f"{place.tensor_parallel} × {place.hardware.name}" if place.tensor_parallel > 1 else place.hardware.name
    return (
        f"{place.target.name} on {machine}, batch {workload.batch}, {cells.count(workload.context)} tokens of context"
    )


def _shape(best: Candidate) -> str:
    if best.nodes > best.gamma:
        return f"a tree of {best.nodes} nodes, {best.gamma} deep"
    return f"{best.gamma} drafted tokens a round" if best.gamma > 1 else "one drafted token a round"


def _until(best: Candidate) -> str:
    last = best.crossover_batch
    return f"it gains at every batch up to {MAX_CROSSOVER_BATCH}" if last is None else f"it gains up to batch {last}"


def _headline(found: Study, rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    best, plain = rows[0], next((row for row in rows if not row["gamma"]), None)
    shown = {
        "tokens a round": cells.figure(best["E_tokens"]),
        "tokens/s for each user": _against(best, plain, "user_tokens_per_second"),
        "tokens/s of a GPU": _against(best, plain, "device_tokens_per_second"),
        "a pass waits for": best["bound"],
        "memory on each GPU": percent(best["memory_bytes"] / found.place.hardware.memory_bytes, digits=0),
    }
    if best["price_per_million"] is not None:
        shown["price of a million tokens"] = cells.figure(best["price_per_million"])
    return [{"label": label, "value": value} for label, value in shown.items()]


def _against(best: dict[str, Any], plain: dict[str, Any] | None, name: str) -> str:
    if plain is None or plain is best:
        return cells.count(best[name])
    return f"{cells.count(best[name])} (plain {cells.count(plain[name])})"


def _records(frame: Any) -> list[dict[str, Any]]:
    """Rows with None where there is no number."""
    plain = frame.astype(object).where(frame.notna(), None)
    rows: list[dict[str, Any]] = plain.to_dict(orient="records")
    return rows
