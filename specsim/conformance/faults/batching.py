"""Requests that get in each other's way, drafts that are not what they seem, ends that are missed."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.stopping import ended_by_eos, ended_by_sequence
from specsim.distributions import one_hot
from specsim.distributions.draw import draw
from specsim.stats.rows import BoolArray
from specsim.verifiers.chain import or_target

GREEDY_SHARE = 0.05


class GreedyRounds(TableDecoder):
    """5 % of the rounds are greedy."""

    def target_rows(self, batch: Batch, turn: Turn) -> FloatArray:
        rows = super().target_rows(batch, turn)
        greedy = batch.uniforms(turn.rows, 1)[:, 0] < GREEDY_SHARE
        certain = one_hot(rows.argmax(axis=-1), vocabulary=rows.shape[-1])
        return np.where(greedy[:, None, None], certain, rows)


class NextRequest(TableDecoder):
    """The token after the drafts goes to the next request of the batch."""

    def verify(self, batch: Batch, turn: Turn) -> tuple[IntArray, IntArray]:
        accepted, token = super().verify(batch, turn)
        return accepted, np.roll(token, 1)


class GreedyDraftSoftQ(TableDecoder):
    """Drafts are the argmax of q, and judged as draws from q."""

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        return np.asarray(turn.proposed[:, place].argmax(axis=-1))


class VocabularyOffByOne(TableDecoder):
    """Drafts are draws from q with their ids moved by one; q is not moved."""

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        return np.asarray((super().propose(batch, turn, place) + 1) % self.models.vocabulary)


class NeverEos(TableDecoder):
    """Drafts are never end-of-text tokens, though q gives them probability."""

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        every = np.broadcast_to(np.arange(self.models.vocabulary), turn.proposed[:, place].shape)
        rows = np.where(ended_by_eos(batch, turn.rows, every), 0.0, turn.proposed[:, place])
        return draw(or_target(rows, turn.proposed[:, place]), turn.u[:, place])


class EosInsideBlock(TableDecoder):
    """Only the last token of a round may be an end-of-text token."""

    def stops(self, batch: Batch, rows: IntArray, block: IntArray, size: IntArray) -> BoolArray:
        at_end = np.arange(block.shape[1]) == size[:, None] - 1
        return np.asarray((ended_by_eos(batch, rows, block) & at_end) | ended_by_sequence(batch, rows, block))


class SequenceInsideBlock(TableDecoder):
    """Stop sequences are looked for at the end of a round only."""

    def stops(self, batch: Batch, rows: IntArray, block: IntArray, size: IntArray) -> BoolArray:
        at_end = np.arange(block.shape[1]) == size[:, None] - 1
        return np.asarray(ended_by_eos(batch, rows, block) | (ended_by_sequence(batch, rows, block) & at_end))


FAULTS = {
    "batch.greedy_rounds_5_percent": GreedyRounds,
    "batch.token_of_next_request": NextRequest,
    "draft.greedy_with_soft_q": GreedyDraftSoftQ,
    "draft.vocabulary_off_by_one": VocabularyOffByOne,
    "draft.never_eos": NeverEos,
    "stop.eos_inside_block": EosInsideBlock,
    "stop.sequence_inside_block": SequenceInsideBlock,
}
