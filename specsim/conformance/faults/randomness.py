"""Random numbers that are used twice, shared, or too coarse."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.distributions.draw import draw
from specsim.stats.rows import BoolArray
from specsim.verifiers.noise import CoupledNoise

GRID = 256


class OnePerRound(TableDecoder):
    """One coin for all drafts of a round."""

    def stands(self, batch: Batch, turn: Turn) -> BoolArray:
        return turn.coins[:, :1] < self.chance(turn)


class ResidualReuses(TableDecoder):
    """The residual is drawn by inverse CDF with the coin that caused the rejection."""

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        return draw(self.residual(turn, some, depth), turn.coins[some, depth])


class AcceptReusesDraft(TableDecoder):
    """The coin of a draft is the number that drew it."""

    def stands(self, batch: Batch, turn: Turn) -> BoolArray:
        return turn.u < self.chance(turn)


class GumbelReused(TableDecoder):
    """Drafts and residual are drawn by a race of exponential clocks, both with the same clocks."""

    clocks: FloatArray

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        if place == 0:
            _, depth, size = turn.proposed.shape
            times = CoupledNoise(seed=batch.keys[turn.rows]).times(batch.clock[turn.rows], vocabulary=depth * size)
            self.clocks = times.reshape(turn.proposed.shape)
            batch.clock[turn.rows] += 1
        return _race(self.clocks[:, place], turn.proposed[:, place])

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        return _race(self.clocks[some, depth], self.residual(turn, some, depth))


class Restarted(TableDecoder):
    """The generator starts again in every round."""

    def draft(self, batch: Batch, rows: IntArray) -> Turn:
        batch.clock[rows] = 0
        return super().draft(batch, rows)


class Shared(TableDecoder):
    """Two requests that lie side by side share a stream."""

    def keyed(self, batch: Batch) -> None:
        batch.keys = batch.keys[np.arange(len(batch.keys)) // 2 * 2]


class Coarse(TableDecoder):
    """All numbers lie on a grid of 8 bits."""

    def draft(self, batch: Batch, rows: IntArray) -> Turn:
        turn = super().draft(batch, rows)
        turn.coins = np.floor(turn.coins * GRID) / GRID
        return turn

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        return draw(turn.proposed[:, place], np.floor(turn.u[:, place] * GRID) / GRID)


def _race(clocks: FloatArray, weights: FloatArray) -> IntArray:
    with np.errstate(divide="ignore"):
        return np.asarray((clocks / weights).argmin(axis=-1))


FAULTS = {
    "random.one_per_round": OnePerRound,
    "random.residual_reuses_rejecting": ResidualReuses,
    "random.accept_reuses_drawing": AcceptReusesDraft,
    "random.gumbel_reused_in_residual": GumbelReused,
    "random.restarted_every_round": Restarted,
    "random.shared_by_two_requests": Shared,
    "random.grid_of_8_bits": Coarse,
}
