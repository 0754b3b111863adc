"""Frames of what passes and rounds take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from reports.pages.drafters.study import Study
from specsim.roofline import Efficiency, Roofline

Rows = Iterator[dict[str, Any]]

SCORED = sorted({*(2**k for k in range(13)), *(3 * 2**k for k in range(11))})
BEYOND_RIDGE = 4
"""Times the ridge that passes are shown: far enough to see that each further token costs the same."""


def passes(found: Study) -> Rows:
    """Seconds of a pass over one sequence, ideal and calibrated."""
    for law, cost in _laws(found):
        scored = sorted({*SCORED, round(min(cost.ridge_tokens or 1, SCORED[-1]))})
        seconds = cost.pass_seconds(tokens=np.asarray(scored), context=found.scenario.context)
        for tokens, one in zip(scored, np.asarray(seconds).tolist(), strict=True):
            yield {"law": law, "tokens": tokens, "seconds": one}


def ridges(found: Study) -> Rows:
    """Where each of these passes turns from memory to compute."""
    for law, cost in _laws(found):
        if (ridge := cost.ridge_tokens) is not None and ridge <= SCORED[-1]:
            seconds = cost.pass_seconds(tokens=round(ridge), context=found.scenario.context)
            yield {"law": law, "tokens": ridge, "seconds": float(seconds)}


def pass_parts(found: Study) -> Rows:
    """Seconds of a pass by component, for ever more tokens in each sequence of the batch."""
    cost, batch = found.place.cost(found.place.target), found.scenario.batch
    most = BEYOND_RIDGE * (cost.ridge_tokens or SCORED[-1])
    for tokens in (2**k for k in range(13) if 2**k * batch <= max(most, batch)):
        for part, seconds in cost.parts(tokens=tokens, batch=batch, context=found.scenario.context).items():
            if seconds:
                yield {"tokens": tokens * batch, "part": part, "seconds": seconds}


def round_parts(found: Study) -> Rows:
    """Where the time of a round goes, sampling within the host's part."""
    host = found.place.efficiency.overhead_seconds
    for one in (*found.shown, *(plain for plain in found.plan.candidates if plain.variant is None)):
        parts = {"draft": one.found.draft_seconds, "verify": one.found.verify_seconds - host, "host": host}
        for part, seconds in parts.items():
            yield {"proposer": one.name, "gamma": one.gamma, "part": part, "seconds": float(seconds)}


def _laws(found: Study) -> list[tuple[str, Roofline]]:
    cost = found.place.cost(found.place.target)
    ideal = Roofline(
        model=cost.model,
        hardware=cost.hardware,
        efficiency=Efficiency.ideal(),
        tensor_parallel=cost.tensor_parallel,
    )
    return [("ideal", ideal), ("calibrated", cost)]
