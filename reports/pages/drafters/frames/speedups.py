"""Frames of speedups over depth, batch, context and model, and of what moves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from reports.pages.drafters.study import Study
from specsim.acceptance import Acceptance
from specsim.capacity import Candidate, sensitivities, speedup_interval
from specsim.drafters import METHODS, DraftMethod
from specsim.placement import Placement

Rows = Iterator[dict[str, Any]]

DOUBLINGS = [2**k for k in range(10)]
BATCHES = sorted({*DOUBLINGS, *(3 * 2**k for k in range(8))})
CONTEXTS = [2**k for k in range(9, 18)]
CURVES = 3
"""Drafters whose speedup is shown with its band; more bands hide each other."""


def ranking(found: Study) -> pd.DataFrame:
    """The plan's candidates, with what each takes of the memory beyond plain decoding."""
    frame = found.plan.frame()
    load = {"batch": found.scenario.batch, "context": found.scenario.context}
    return frame.assign(extra_memory_bytes=frame["memory_bytes"] - found.place.memory(**load).bytes)


def speedup_by_gamma(found: Study) -> Rows:
    """Speedup of the best drafters at each depth, with its interval."""
    for one in found.shown[:CURVES]:
        assert one.variant is not None
        assert one.assumed is not None
        for gamma, speedup in zip(one.variant.gammas.tolist(), _speedups(found, one).tolist(), strict=True):
            ends = speedup_interval(one.place, one.variant, one.assumed, one.workload, gamma=gamma)
            yield {"proposer": one.name, "gamma": gamma, "speedup": speedup, "low": ends.low, "high": ends.high}


def speedup_by_batch(found: Study) -> Rows:
    """Speedup of the best drafters at the planned depth, over batch sizes."""
    for one in found.shown:
        yield from _over_batches(found.place, _method(one), _law(one), one.gamma, found, {"method": one.name})


def marks(found: Study) -> Rows:
    """Where those lines cross 1, and where verification turns compute-bound."""
    for one in found.shown:
        for mark, batch in (("crossover", one.crossover_batch), ("compute-bound", one.compute_bound_batch)):
            if batch and batch <= BATCHES[-1]:
                rates = found.place.rates(
                    _method(one), acceptance=_law(one), gamma=one.gamma, batch=batch, context=found.scenario.context
                )
                yield {"method": one.name, "batch": batch, "speedup": float(rates.speedup), "mark": mark}


def speedup_map(found: Study) -> Rows:
    """Speedup of the best drafter over batch size and depth."""
    for one in found.drafters[:1]:
        assert one.variant is not None
        for gamma in one.variant.gammas.tolist():
            shared = {"method": one.name, "gamma": gamma}
            yield from _over_batches(found.place, _method(one), _law(one), gamma, found, shared, batches=DOUBLINGS)


def context_map(found: Study) -> Rows:
    """Speedup of the best drafter at its planned depth, over batch size and context."""
    for one in found.drafters[:1]:
        for context in CONTEXTS:
            shared = {"method": one.name, "context": context}
            yield from _over_batches(
                found.place, _method(one), _law(one), one.gamma, found, shared, batches=DOUBLINGS, context=context
            )


def models(found: Study) -> Rows:
    """The best drafter, at its depth and acceptance, on the models that stand beside."""
    beside = found.scenario.beside
    for one in found.drafters[:1] if beside else ():
        for name in (found.scenario.model, *beside):
            place = found.scenario.place_of(name)
            method = METHODS[one.name].default(place.target)
            assert one.assumed is not None
            shared = {"model": place.target.name}
            yield from _over_batches(place, method, one.assumed.acceptance, one.gamma, found, shared)


def inputs(found: Study) -> Rows:
    """What moves the best drafter's speedup."""
    for one in found.drafters[:1]:
        assert one.variant is not None
        assert one.assumed is not None
        for row in sensitivities(one.place, one.variant, one.assumed, one.workload, gamma=one.gamma):
            yield asdict(row) | {"swing": row.swing}


def _method(one: Candidate) -> DraftMethod:
    assert one.method is not None
    return one.method


def _law(one: Candidate) -> Acceptance:
    assert one.variant is not None
    return one.variant.acceptance


def _speedups(found: Study, one: Candidate) -> Any:
    """At every depth that the drafter can draft."""
    assert one.variant is not None
    load = {"batch": found.scenario.batch, "context": found.scenario.context}
    return found.place.rates(_method(one), acceptance=_law(one), gamma=one.variant.gammas, **load).speedup


def _over_batches(
    place: Placement,
    method: DraftMethod,
    law: Acceptance,
    gamma: int,
    found: Study,
    shared: dict[str, Any],
    *,
    batches: list[int] = BATCHES,
    context: int | None = None,
) -> Rows:
    """Rows of `shared`, a batch, its speedup and whether it fits."""
    load = {"gamma": gamma, "batch": np.asarray(batches), "context": context or found.scenario.context}
    speedups = place.rates(method, acceptance=law, **load).speedup
    fits = place.fits(method, **load)
    for batch, speedup, fit in zip(batches, speedups.tolist(), fits.tolist(), strict=True):
        yield {**shared, "batch": batch, "speedup": speedup, "fits": fit}
