"""Decoders that look odd and are lossless: every test must let them pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.traversal import TraversalVerification
from specsim.distributions.draw import draw
from specsim.stats.rows import BoolArray
from specsim.verifiers import Block, Verifier
from specsim.verifiers.chain import leftover, normalised, without


class Coins:
    """A generator that knows its numbers beforehand: one row of coins a request."""

    def __init__(self, coins: FloatArray) -> None:
        self.coins = coins

    def random(self, shape: ArrayLike) -> FloatArray:
        """The coins, if they are as many as are asked for."""
        assert tuple(np.atleast_1d(shape)) == self.coins.shape
        return self.coins


class Reporting(TableDecoder):
    """Speculative sampling that reports log-probabilities."""

    reports_log_probabilities = True


class SampleMatch(TableDecoder):
    """The text is drawn from p, and the draft goes on as long as it guessed the draws."""

    claims = None

    def stands(self, batch: Batch, turn: Turn) -> BoolArray:
        return np.asarray(draw(turn.p[:, :-1], turn.coins[:, :-1]) == turn.draft)

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        return draw(turn.p[some, depth], turn.coins[some, depth])


class OneHot(TableDecoder):
    """Drafts are drawn from q, and judged as if they were certain."""

    claims = None

    def chance(self, turn: Turn) -> FloatArray:
        return self.chances(turn)[0]

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return without(turn.p[some, depth], turn.draft[some, depth])


class GreedyDraft(OneHot):
    """Drafts are the argmax of q, and judged as certain."""

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        return np.asarray(turn.proposed[:, place].argmax(axis=-1))


class NeverBonus(TableDecoder):
    """A round whose drafts all stand ends with the last of them."""

    claims = None

    def block(self, batch: Batch, turn: Turn, accepted: IntArray, token: IntArray) -> tuple[IntArray, IntArray]:
        block, size = super().block(batch, turn, accepted, token)
        return block, np.where(accepted == turn.drafted, accepted, size)


class Recursive(TableDecoder):
    """A draft that falls is followed by a second candidate, judged by what the first one left of p (SpecInfer)."""

    claims = None

    def second_draft(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        """What second candidates are drawn from."""
        return turn.q[some, depth]

    def second_target(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        """What they are judged by."""
        return normalised(self.residual(turn, some, depth))

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        u = batch.uniforms(turn.rows[some], 2)
        second = draw(self.second_draft(turn, some, depth), u[:, 0])
        p, q, place = self.second_target(turn, some, depth), turn.q[some, depth], np.arange(some.size)
        stands = u[:, 1] * q[place, second] < p[place, second]
        return np.where(stands, second, draw(leftover(p, q, second), turn.coins[some, -1]))


class BlockVerification(TableDecoder):
    """Drafts are judged as a whole (Sun et al.)."""

    claims = "block"
    rule: Verifier = Block()

    def verify(self, batch: Batch, turn: Turn) -> tuple[IntArray, IntArray]:
        coins = Coins(turn.coins)
        outcome = self.rule.verify(turn.p, turn.draft, q=turn.q, rng=coins, drafted=turn.drafted)  # type: ignore[arg-type]
        return outcome.accepted, outcome.token


LOOKALIKES: dict[str, type[TableDecoder]] = {
    "rejection": TableDecoder,
    "rejection_with_log_probabilities": Reporting,
    "sample_match": SampleMatch,
    "one_hot_of_sampled_draft": OneHot,
    "greedy_draft_one_hot": GreedyDraft,
    "never_a_bonus": NeverBonus,
    "recursive_residual": Recursive,
    "block": BlockVerification,
    "traversal": TraversalVerification,
}
"""By id."""
