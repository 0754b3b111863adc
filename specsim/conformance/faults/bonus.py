"""Wrong tokens after drafts that all stand, or after one that fell."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.distributions.draw import draw


class FromQ(TableDecoder):
    """The bonus is the draft's next token, unjudged."""

    def bonus(self, batch: Batch, turn: Turn, some: IntArray) -> FloatArray:
        state, depth, rows = batch.state[turn.rows], turn.draft.shape[1], np.empty_like(turn.p)
        for place in range(depth + 1):
            rows[:, place] = self.draft_rows(batch, turn, state, place, self.laws("draft", batch))
            if place < depth:
                state = self.models.advance(state, turn.draft[:, place])
        return rows[some, turn.drafted[some]]


class PreviousRow(TableDecoder):
    """The bonus is drawn from the row that judged the last draft."""

    def bonus(self, batch: Batch, turn: Turn, some: IntArray) -> FloatArray:
        return turn.p[some, turn.drafted[some] - 1]


class AfterRejection(TableDecoder):
    """One more token after the one that replaces a rejected draft, from the row after that draft."""

    def block(self, batch: Batch, turn: Turn, accepted: IntArray, token: IntArray) -> tuple[IntArray, IntArray]:
        block, size = super().block(batch, turn, accepted, token)
        fell = np.flatnonzero(accepted < turn.drafted)
        block[fell, size[fell]] = draw(turn.p[fell, accepted[fell] + 1], batch.uniforms(turn.rows[fell], 1)[:, 0])
        return block, np.where(accepted < turn.drafted, size + 1, size)


FAULTS = {
    "bonus.from_q": FromQ,
    "bonus.from_previous_row": PreviousRow,
    "bonus.after_rejection": AfterRejection,
}
