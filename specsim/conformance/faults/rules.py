"""Slips in the rules for two candidates and for whole blocks, and in floating point."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.lookalikes import BlockVerification, Recursive
from specsim.stats.rows import BoolArray
from specsim.verifiers import Block
from specsim.verifiers.chain import normalised, without
from specsim.verifiers.rounds import Round

NAN_SHARE = 0.02
GRID = 1024


class SecondAgainstP(Recursive):
    """The second candidate is judged by p, not by what the first one left of it."""

    def second_target(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return turn.p[some, depth]


class QNotRenormalised(Recursive):
    """The second candidate is drawn without replacement, and judged by q as it was before."""

    def second_draft(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        return normalised(without(turn.q[some, depth], turn.draft[some, depth]))


class _Unscaled(Block):
    def _replacement(
        self, turn: Round, rows: FloatArray, kept: FloatArray, sequence: IntArray, depth: IntArray
    ) -> FloatArray:
        return super()._replacement(turn, rows, np.ones_like(kept), sequence, depth)


class _ReachAsCoin(Block):
    def _chances(self, turn: Round, reach: FloatArray) -> FloatArray:
        return reach[:, 1:]


class _FirstFailure(Block):
    def _accepted(self, passes: BoolArray) -> IntArray:
        return np.asarray(np.cumprod(passes, axis=1).sum(axis=1))


class UnscaledResidual(BlockVerification):
    """Block verification with the residual of token verification."""

    rule = _Unscaled()


class ReachAsCoin(BlockVerification):
    """Block verification with the probability p_i of a path as the chance of its last token."""

    rule = _ReachAsCoin()


class FirstFailure(BlockVerification):
    """Block verification that ends at the first coin that fails."""

    rule = _FirstFailure()


class JudgedTokenByToken(TableDecoder):
    """Token verification where block verification was promised: lossless, and slower than it should be."""

    claims = "block"


class NanRow(TableDecoder):
    """In 2 % of the rounds the first of the target's rows is NaN, and comparing with it gives token 0."""

    def target_rows(self, batch: Batch, turn: Turn) -> FloatArray:
        rows = super().target_rows(batch, turn)
        rows[batch.uniforms(turn.rows, 1)[:, 0] < NAN_SHARE, 0] = np.nan
        return rows


class ZeroAccepts(TableDecoder):
    """Coins lie on a grid of 10 bits and may equal the chance, so that a coin of 0 lets an impossible draft stand."""

    def stands(self, batch: Batch, turn: Turn) -> BoolArray:
        return np.floor(turn.coins[:, :-1] * GRID) / GRID <= self.chance(turn)


class WrongLogProbability(TableDecoder):
    """Reported log-probabilities are those of the row before."""

    reports_log_probabilities = True

    def reported(self, turn: Turn, block: IntArray) -> FloatArray:
        places = np.clip(np.arange(block.shape[1]) - 1, 0, turn.p.shape[1] - 1)
        chances = np.take_along_axis(turn.p[:, places], block[..., None], axis=-1)[..., 0]
        return np.log(np.maximum(chances, np.finfo(np.float64).tiny))


FAULTS = {
    "tree.second_candidate_against_p": SecondAgainstP,
    "tree.q_not_renormalised": QNotRenormalised,
    "block.unscaled_residual": UnscaledResidual,
    "block.path_probability_as_coin": ReachAsCoin,
    "block.ends_at_first_failure": FirstFailure,
    "block.judged_token_by_token": JudgedTokenByToken,
    "numeric.nan_row": NanRow,
    "numeric.zero_accepts_impossible": ZeroAccepts,
    "numeric.log_probability_of_wrong_row": WrongLogProbability,
}
