"""Wrong laws for the token that replaces a rejected draft."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.verifiers.chain import leftover, or_target, without


class FromP(TableDecoder):
    """Drawn from p."""

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return turn.p[some, depth]


class PWithoutDraft(TableDecoder):
    """Drawn from p without the draft, though drafts are judged by p / q."""

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return without(turn.p[some, depth], turn.draft[some, depth])


class Absolute(TableDecoder):
    """Drawn from |p - q|."""

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return or_target(np.abs(turn.p[some, depth] - turn.q[some, depth]), turn.p[some, depth])


class Reversed(TableDecoder):
    """Drawn from (q - p)+."""

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return or_target(np.maximum(turn.q[some, depth] - turn.p[some, depth], 0), turn.p[some, depth])


class NotNormalised(TableDecoder):
    """Drawn from (p - q)+ as if it summed to 1: what is missing goes to the last id."""

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        steps = np.cumsum(self.residual(turn, some, depth), axis=-1)
        return np.asarray(np.minimum((steps <= turn.coins[some, -1:]).sum(axis=-1), steps.shape[-1] - 1))


class NextRows(TableDecoder):
    """Made from the rows of the next position."""

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        after = np.minimum(depth + 1, turn.drafted[some] - 1)
        return leftover(turn.p[some, depth + 1], turn.q[some, after], turn.draft[some, depth])


class Argmax(TableDecoder):
    """The likeliest token of (p - q)+."""

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        return np.asarray(self.residual(turn, some, depth).argmax(axis=-1))


FAULTS = {
    "residual.from_p": FromP,
    "residual.p_without_draft": PWithoutDraft,
    "residual.absolute_difference": Absolute,
    "residual.reversed": Reversed,
    "residual.not_normalised": NotNormalised,
    "residual.next_rows": NextRows,
    "residual.argmax": Argmax,
}
