"""Laws made with the state of another row: nucleus, penalties, grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.table_laws import NONE, TableLaws
from specsim.distributions import History
from specsim.stats.rows import BoolArray
from specsim.verifiers.chain import leftover, normalised, or_target


class _WithRaw(TableDecoder):
    """Keeps the target's rows without some parameter beside those with it."""

    raw: FloatArray
    dropped: ClassVar[Mapping[str, Any]]

    def target_rows(self, batch: Batch, turn: Turn) -> FloatArray:
        seen = self.feed(batch, turn)
        without = tuple(replace(one, **self.dropped) for one in batch.kinds)
        if ("raw", "target", without) not in self._laws:
            self._laws["raw", "target", without] = TableLaws(self.models, "target", without)
        self.raw = self.target_laws(batch, turn, seen, self._laws["raw", "target", without])
        return self.merged(batch, turn, seen, self.target_laws(batch, turn, seen, self.laws("verify", batch)))

    def merged(self, batch: Batch, turn: Turn, seen: IntArray, rows: FloatArray) -> FloatArray:
        return rows


class ResidualWithoutTopP(_WithRaw):
    """The residual is made from rows without top-p."""

    dropped: ClassVar[Mapping[str, Any]] = {"top_p": None}

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return leftover(self.raw[some, depth], turn.q[some, depth], turn.draft[some, depth])


class TopPNotRenormalised(_WithRaw):
    """Top-p cuts the target's rows, but what is left keeps its old probabilities."""

    dropped: ClassVar[Mapping[str, Any]] = {"top_p": None}

    def merged(self, batch: Batch, turn: Turn, seen: IntArray, rows: FloatArray) -> FloatArray:
        return np.where(rows > 0, self.raw, 0.0)


class NucleusOfFirstRow(_WithRaw):
    """The nucleus of the first row is applied to all rows."""

    dropped: ClassVar[Mapping[str, Any]] = {"top_p": None}

    def merged(self, batch: Batch, turn: Turn, seen: IntArray, rows: FloatArray) -> FloatArray:
        cut = np.array([one.top_p is not None for one in batch.kinds])[batch.kind[turn.rows]]
        kept = np.where(rows[:, :1] > 0, self.raw, 0.0)
        return np.where(cut[:, None, None], normalised(or_target(kept, self.raw)), rows)


class GrammarOneRowLate(_WithRaw):
    """The grammar's mask of each row is that of the row before."""

    dropped: ClassVar[Mapping[str, Any]] = {"allowed_after": ()}

    def merged(self, batch: Batch, turn: Turn, seen: IntArray, rows: FloatArray) -> FloatArray:
        size = self.models.vocabulary
        tables = np.stack([one.allowed(size, is_early=False) for one in batch.kinds])[batch.kind[turn.rows]]
        late = np.take_along_axis(tables, (seen // size % size)[..., None], axis=1)
        bound = np.array([bool(one.allowed_after) for one in batch.kinds])[batch.kind[turn.rows]]
        return np.where(bound[:, None, None], normalised(or_target(np.where(late, self.raw, 0.0), self.raw)), rows)


class PenaltiesFrozen(TableDecoder):
    """Penalties on the target's rows do not count the drafts of the round."""

    def verify_history(self, batch: Batch, turn: Turn, some: IntArray) -> History:
        return batch.history(turn.rows[some], np.full_like(turn.draft[some], NONE))


class LastTokenCounts(TableDecoder):
    """Only the last token of a round enters the penalties."""

    def counted(self, kept: BoolArray, emitted: IntArray) -> BoolArray:
        return np.asarray(kept & (np.arange(kept.shape[1]) == emitted[:, None] - 1))


class LeastLengthOfRound(TableDecoder):
    """The ban on end-of-text before `min_tokens` is decided at the start of a round."""

    def is_early(self, batch: Batch, rows: IntArray, count: int) -> BoolArray:
        early = super().is_early(batch, rows, count)
        return np.broadcast_to(early[:, :1], early.shape)


FAULTS = {
    "parameters.top_p_ignored_in_residual": ResidualWithoutTopP,
    "parameters.top_p_not_renormalised": TopPNotRenormalised,
    "parameters.nucleus_of_first_row": NucleusOfFirstRow,
    "parameters.grammar_one_row_late": GrammarOneRowLate,
    "parameters.penalties_frozen_in_round": PenaltiesFrozen,
    "parameters.penalties_count_last_of_round": LastTokenCounts,
    "stop.min_tokens_of_round": LeastLengthOfRound,
}
