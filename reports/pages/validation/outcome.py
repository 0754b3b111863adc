"""What a validation page says, as the one object that the command prints."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from reports.pages.validation.published import CONTEXT, COST, THEOREM, published_rows
from reports.pages.validation.results import Results, residuals
from specsim.cli.output import envelope
from specsim.units import percent

CONFORMS = "conforms"
RUN = "specsim validate run all --out DIR"
ASSUMPTIONS = (
    "An interval is stated before anything is measured, and means 95 %: of twenty, one fails by chance.",
    "The interval of a published round is that of the passes' times on that GPU; the engine's own work between "
    "passes, and how its kernels are chosen, are not in it.",
    f"Where a source states no context, {CONTEXT} cached tokens are assumed. Published tokens per round are taken as "
    "they are, so that only the cost of a round is compared.",
    "The theorem takes verification to cost one plain pass and acceptance to be the same everywhere; its interval is "
    "what two printed digits of its inputs leave open.",
)


def validation_outcome(found: Results) -> dict[str, Any]:
    """The envelope: answer, headline, and every row of the page."""
    published = [residuals(row) for row in published_rows()]
    result = {
        "answer": answer(found),
        "headline": headline(found, published),
        "claims": found.claims,
        "frames": {
            "controls": found.controls,
            "predictions": found.predictions,
            "bins": found.bins,
            "published": published,
            "cases": found.cases,
        },
        "engines": [{name: engine[name] for name in ("engine", "versions")} for engine in found.engines],
    }
    inputs = {"results": found.folder}
    return envelope("report validation", inputs=inputs, result=result, assumptions=ASSUMPTIONS)


def answer(found: Results) -> str:
    """Claims, predictions and engines in a sentence each."""
    return " ".join(part for part in (_claims(found), _predictions(found.predictions), _engines(found)) if part)


def headline(found: Results, published: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The numbers under the answer."""
    controls, rows, cases = found.controls, found.predictions, found.cases
    caught = sum(bool(control["caught"]) for control in controls)
    costs, theorem = (
        [abs(row["residual"]) for row in published if row["quantity"] == name] for name in (COST, THEOREM)
    )
    shown = {
        "planted faults caught": f"{caught} of {len(controls)}" if controls else "",
        "stated intervals that held": f"{_inside(rows)} of {len(rows)}" if rows else "",
        "median error of predictions": percent(_median_error(rows)) if rows else "",
        "runs on engines as expected": f"{sum(bool(case['as_expected']) for case in cases)} of {len(cases)}"
        if cases
        else "",
        "published cost of a round, median error": percent(statistics.median(costs)),
        "theorem 3.8 on its own paper, median error": percent(statistics.median(theorem)),
    }
    return [{"label": label, "value": value} for label, value in shown.items() if value]


def findings(cases: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Faults of engines that were confirmed by hand: cases that show each, by engine and by what it is.

    Examples
    --------
    >>> findings([{"engine": "e", "case": "a", "finding": "f"}, {"engine": "e", "case": "b", "finding": "f"}])
    {('e', 'f'): ['a', 'b']}
    """
    found: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        if case.get("finding"):
            found.setdefault((str(case["engine"]), str(case["finding"])), []).append(str(case["case"]))
    return found


def _claims(found: Results) -> str:
    if not found.claims:
        return f"No claim about the decoder has a result here yet: {RUN}."
    stand = sum(claim["verdict"] == "passed" for claim in found.claims)
    devices = _several(len(found.devices), "device")
    return f"{stand} of {_several(len(found.claims), 'claim')} on {devices} stand."


def _predictions(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    return f"{_inside(rows)} of {_several(len(rows), 'stated interval')} held."


def _engines(found: Results) -> str:
    cases = found.cases
    if not cases:
        return ""
    conform = sum(case["verdict"] == CONFORMS for case in cases)
    faults = _several(len(findings(cases)), "fault")
    engines = _several(len(found.engines), "engine")
    return f"{conform} of {_several(len(cases), 'run')} on {engines} conform, with {faults} confirmed by hand."


def _inside(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(bool(row["inside"]) for row in rows)


def _median_error(rows: Sequence[Mapping[str, Any]]) -> float:
    """Relative to what was measured, as claims have it [1]."""
    return statistics.median(abs(row["predicted"] / row["measured"] - 1) for row in rows)


def _several(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
