"""Published speedups against the model: the founding paper's theorem, and what rounds cost on GPUs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from specsim import catalog
from specsim.acceptance import Acceptance
from specsim.capacity import Assumed, Variant, Workload, speedup_interval
from specsim.catalog import PublishedAcceptance
from specsim.drafters import METHODS, DFlash, DraftMethod, DynamicTree, Eagle3, RatioDrafter
from specsim.placement import Placement
from specsim.roofline import Efficiency, Staircase
from specsim.scenario import Scenario
from specsim.speedup import speedup

CONTEXT = 1024
"""Cached tokens that are assumed where the source states none [1]."""
PRINTED = 0.005
"""Half of the last digit of acceptances and costs as printed [1]."""
THEOREM, COST = "speedup", "cycle_cost"
Row = dict[str, Any]


def published_rows() -> list[Row]:
    """Rows of `series`, `setting`, `quantity`, what the model predicts and what was published, with their intervals.

    Notes
    -----
    `low` and `high` are what the model's stated errors leave open, for the theorem what rounding of its inputs does;
    `measured_low` and `measured_high` are what rounding of the printed speedup leaves open. A row is `inside` where
    both overlap.

    Examples
    --------
    >>> sorted({row["quantity"] for row in published_rows()})
    ['cycle_cost', 'speedup']
    """
    data = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    rows = [*_theorem_rows(data["theorem"]), *(row for table in data["rounds"] for row in _cost_rows(table))]
    return [row | {"inside": row["low"] <= row["measured_high"] and row["measured_low"] <= row["high"]} for row in rows]


def theorem(alpha: float, c: float, *, gamma: int) -> float:
    """Theorem 3.8 of arXiv 2211.17192, as the library has it: passes of one cost, no overhead [1].

    Examples
    --------
    >>> round(theorem(0.75, 0.02, gamma=7), 2)
    3.16
    """
    flat = Staircase(tokens=(1, gamma + 1), seconds=(1.0, 1.0), source="passes of one cost")
    drafter = RatioDrafter(c=c, step_seconds=1.0)
    return speedup(Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(alpha), gamma=gamma))


def _theorem_rows(table: Mapping[str, Any]) -> Iterator[Row]:
    for row in table["rows"]:
        alpha, c, gamma = row["alpha"], row["c"], row["gamma"]
        yield {
            "series": f"drafts by {row['draft']}",
            "setting": f"{table['target']}, {row['task']}, temperature {row['temperature']}, γ {gamma}",
            "quantity": THEOREM,
            "predicted": theorem(alpha, c, gamma=gamma),
            "low": theorem(alpha - PRINTED, c + PRINTED, gamma=gamma),
            "high": theorem(alpha + PRINTED, c - PRINTED, gamma=gamma),
            "stated": row["stated"],
            **_printed(row["speedup"], step=0.1),
            "source": table["source"],
        }


def _cost_rows(table: Mapping[str, Any]) -> Iterator[Row]:
    """Tau over speedup, published and of the model."""
    drafted = f"{table['nodes']} nodes" if "nodes" in table else f"γ {table['depth']}"
    predicted = {batch: _cost(table, batch=int(batch)) for batch in table["rows"][0]["speedups"]}
    for row in table["rows"]:
        at = f", temperature {row['temperature']}" if "temperature" in row else ""
        for batch, published in row["speedups"].items():
            printed = _printed(published, step=table["step"])
            yield {
                "series": f"{table['method']} for {table['model']} on {table['hardware']}, {table['engine']}",
                "setting": f"{row['task']}{at}, batch {batch}, {drafted}",
                "quantity": COST,
                **predicted[batch],
                "measured": row["tau"] / printed["measured"],
                "measured_low": row["tau"] / printed["measured_high"],
                "measured_high": row["tau"] / printed["measured_low"],
                "source": table["source"],
            }


def _cost(table: Mapping[str, Any], *, batch: int) -> dict[str, float]:
    """Seconds of a round over those of a plain pass, with the interval of the passes; acceptance cancels."""
    place, method, tau = _place(table["model"], table["hardware"]), _method(table), table["rows"][0]["tau"]
    known = Assumed(acceptance=_law(table, tau), error=0.0, source=table["source"])
    asked = {"batch": batch, "context": CONTEXT}
    found = place.rates(method, acceptance=known.acceptance, gamma=table["depth"], **asked)
    variant = Variant(method=method, acceptance=known.acceptance)
    ends = speedup_interval(place, variant, known, Workload(**asked), gamma=table["depth"])
    return {"predicted": tau / float(found.speedup), "low": tau / ends.high, "high": tau / ends.low}


@cache
def _place(model: str, hardware: str) -> Placement:
    gpu = catalog.hardware(hardware)
    return Placement(target=catalog.model(model), hardware=gpu, efficiency=Efficiency.default(gpu))


def _method(table: Mapping[str, Any]) -> DraftMethod:
    method = METHODS[table["method"]].default(catalog.model(table["model"]))
    if isinstance(method, DFlash):
        return replace(method, layers=table.get("layers", method.layers))
    assert isinstance(method, Eagle3)
    return replace(method, tree=DynamicTree(nodes=table["nodes"]))


def _law(table: Mapping[str, Any], tau: float) -> Acceptance:
    """The law of a chain or tree with that many tokens per round."""
    shape = {"nodes": table["nodes"], "depth": table["depth"]} if "nodes" in table else {"gamma": table["depth"]}
    about = {"target": table["model"], "dataset": "", "task": "", "source": table["source"]}
    found = PublishedAcceptance(method=table["method"], confidence="published", tau=tau, **shape, **about)
    return Acceptance.tree(found.ranks, nodes=table["nodes"]) if "nodes" in table else found.acceptance


def _printed(value: float, *, step: float) -> dict[str, float]:
    return {"measured": value, "measured_low": value - step / 2, "measured_high": value + step / 2}
