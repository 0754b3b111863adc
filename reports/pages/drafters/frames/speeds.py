"""The frame of what a GPU gives and what each user gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from reports.pages.drafters.frames.speedups import BATCHES
from reports.pages.drafters.study import Study
from specsim.capacity import Candidate

Rows = Iterator[dict[str, Any]]


def pareto(found: Study) -> pd.DataFrame:
    """What a GPU gives and what each user gets at every batch that fits, each drafter at its best depth."""
    frame = pd.DataFrame([row for one in found.shown for row in _speeds(found, one)] + list(_plain_speeds(found)))
    speeds = frame[["user_tokens_per_second", "device_tokens_per_second"]].to_numpy()
    ahead = (speeds[None] >= speeds[:, None]).all(axis=2) & (speeds[None] > speeds[:, None]).any(axis=2)
    return frame.assign(front=~ahead.any(axis=1))


def _speeds(found: Study, one: Candidate) -> Rows:
    """Each user's and each GPU's tokens per second, by batch."""
    assert one.variant is not None
    assert one.method is not None
    load = {"batch": np.asarray(BATCHES), "context": found.scenario.context}
    rates = found.place.rates(one.method, acceptance=one.variant.acceptance, gamma=one.variant.gammas[:, None], **load)
    best = rates.user_tokens_per_second.argmax(axis=0)
    fits = found.place.fits(one.method, gamma=one.variant.gammas[best], **load)
    for place in np.flatnonzero(fits):
        gamma, batch = int(one.variant.gammas[best[place]]), BATCHES[place]
        yield _speed(found, one.name, gamma, batch, float(rates.user_tokens_per_second[best[place], place]))


def _plain_speeds(found: Study) -> Rows:
    cost, context = found.place.cost(found.place.target), found.scenario.context
    for batch in BATCHES:
        if found.place.memory(batch=batch, context=context).fits:
            seconds = float(cost.pass_seconds(tokens=1, batch=batch, context=context))
            yield _speed(found, "plain", 0, batch, 1 / seconds)


def _speed(found: Study, method: str, gamma: int, batch: int, user: float) -> dict[str, Any]:
    return {
        "method": method,
        "gamma": gamma,
        "batch": batch,
        "user_tokens_per_second": user,
        "device_tokens_per_second": user * batch / found.scenario.tensor_parallel,
    }
