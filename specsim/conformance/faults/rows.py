"""Rows read at the wrong place, and caches that hold the wrong text."""

from __future__ import annotations

import numpy as np

from specsim.checks import IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder

ONE_IN = 50
"""One request in so many hits a wrong prefix-cache entry."""


class ShiftedBack(TableDecoder):
    """Every row is read one place too early."""

    def feed(self, batch: Batch, turn: Turn) -> IntArray:
        seen = super().feed(batch, turn)
        place = batch.cached[turn.rows]
        before = np.where(place > 0, batch.cache[turn.rows, np.maximum(place - 1, 0)], seen[:, 0])
        return np.column_stack((before, seen[:, :-1]))


class ShiftedAhead(TableDecoder):
    """Every row but the last is read one place too late."""

    def feed(self, batch: Batch, turn: Turn) -> IntArray:
        seen = super().feed(batch, turn)
        later = np.minimum(np.arange(seen.shape[1]) + 1, turn.drafted[:, None])
        return np.take_along_axis(seen, later, axis=1)


class RejectedStays(TableDecoder):
    """The cache keeps the draft that was rejected."""

    def fed(self, turn: Turn, accepted: IntArray, emitted: IntArray) -> IntArray:
        fell = (accepted < turn.drafted) & (emitted == accepted + 1)
        return np.where(fell, emitted + 1, emitted)


class WrongPrefix(TableDecoder):
    """2 % of the requests hit the prefix-cache entry of the request beside them."""

    def prefill(self, batch: Batch) -> None:
        super().prefill(batch)
        last = np.maximum(batch.cached - 1, 0)
        beside = np.roll(batch.cache[np.arange(len(last)), last], -1)
        hit = (batch.keys % ONE_IN == 0) & (batch.cached > 0) & (np.roll(batch.cached, -1) > 0)
        batch.cache[hit, last[hit]] = beside[hit]


FAULTS = {
    "rows.shifted_back": ShiftedBack,
    "rows.shifted_ahead": ShiftedAhead,
    "cache.rejected_stays": RejectedStays,
    "cache.wrong_prefix_2_percent": WrongPrefix,
}
