"""A speculative decoder over table models in NumPy: what faults are planted in, and what shows that none is seen.

It is written as the engines are: a cache that is fed the last token and the drafts and cut back after a rejection,
parameters that are applied on draft rows and on verify rows, penalties that follow the text, requests that run side by
side and end at different times. Every step is a method, so that a fault is one method of a subclass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn, begin
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request
from specsim.conformance.stopping import ended_by_eos, ended_by_sequence, ends
from specsim.conformance.table_laws import NONE, TableLaws
from specsim.conformance.tables import TableModels
from specsim.distributions import History
from specsim.distributions.draw import draw
from specsim.stats.rows import BoolArray
from specsim.verifiers.chain import leftover, ratio


class TableDecoder:
    """Speculative sampling with drafts drawn from the draft table.

    Parameters
    ----------
    models : TableModels
        Target and draft.
    gammas : sequence of int
        Tokens drafted in a round; request by request one of them, by its seed.

    Notes
    -----
    The same request with the same seed gives the same text in any batch: every request has a stream of its own.

    Examples
    --------
    >>> decoder = TableDecoder(TableModels.random(seed=0))
    >>> request = Request(id="a", prompt=(1, 2), parameters=Parameters(max_tokens=5), seed=3)
    >>> (output,) = decoder.generate([request])
    >>> len(output.tokens), sum(output.blocks), output.finish_reason
    (5, 5, 'length')
    >>> class Hasty(TableDecoder):  # a fault of one's own
    ...     def chance(self, turn):
    ...         return np.ones(turn.draft.shape)
    >>> max(Hasty(decoder.models).generate([request])[0].blocks)
    5
    """

    claims: str | None = "rejection"
    """The rule whose law of accepted drafts this decoder says it follows; None for none."""
    reports_log_probabilities = False
    """Whether outputs say what the target's rows gave their tokens. Off, for nothing finds wrong rows as fast."""
    is_seeded = True
    """Whether a request's text depends on its seed alone, not on what else is in the batch."""

    def __init__(self, models: TableModels, *, gammas: Sequence[int] = (4, 4, 2)) -> None:
        self.models = models
        self.gammas = np.array([checks.integer("gammas", gamma, low=1) for gamma in gammas])
        self._laws: dict[tuple[str, str, tuple[Parameters, ...]], TableLaws] = {}

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        seeds = np.array([request.seed for request in requests])
        batch = begin(requests, gamma=self.gammas[seeds % len(self.gammas)])
        self.keyed(batch)
        self.prefill(batch)
        while (rows := np.flatnonzero(batch.finish == 0)).size:
            turn = self.draft(batch, rows)
            turn.p = self.target_rows(batch, turn)
            self.commit(batch, turn, *self.verify(batch, turn))
        return batch.outputs(with_logs=self.reports_log_probabilities)

    # --- laws ------------------------------------------------------------------------------------------------------

    def draft_parameters(self, parameters: Parameters) -> Parameters:
        """What drafts are drawn with."""
        return parameters

    def ratio_parameters(self, parameters: Parameters) -> Parameters:
        """What makes the draft's laws that the verifier is told."""
        return self.draft_parameters(parameters)

    def verify_parameters(self, parameters: Parameters) -> Parameters:
        """What target rows are made with."""
        return parameters

    def laws(self, purpose: str, batch: Batch) -> TableLaws:
        """Laws for "draft", "ratio" or "verify"."""
        change = {"draft": self.draft_parameters, "ratio": self.ratio_parameters, "verify": self.verify_parameters}
        changed = tuple(change[purpose](parameters) for parameters in batch.kinds)
        side = "target" if purpose == "verify" else "draft"
        key = (purpose, side, changed)
        if key not in self._laws:
            self._laws[key] = TableLaws(self.models, side, changed)
        return self._laws[key]

    # --- the request -----------------------------------------------------------------------------------------------

    def keyed(self, batch: Batch) -> None:
        """Give every request its random stream."""

    def prefill(self, batch: Batch) -> None:
        """Feed all of the prompt but its last token to the target; the draft has it all."""
        batch.state = self.models.start(batch.prompt[:, 0])
        batch.cache[:, 0] = batch.state
        for place in range(1, batch.prompt.shape[1]):
            token = batch.prompt[:, place]
            batch.state = np.where(token == NONE, batch.state, self.models.advance(batch.state, token))
            batch.cache[:, place] = batch.state

    # --- drafting --------------------------------------------------------------------------------------------------

    def draft(self, batch: Batch, rows: IntArray) -> Turn:
        """Draw the drafts of a round."""
        drafted = batch.gamma[rows]
        depth, size = int(drafted.max()), self.models.vocabulary
        turn = Turn(
            rows=rows,
            drafted=drafted,
            draft=np.zeros((rows.size, depth), dtype=np.intp),
            proposed=np.empty((rows.size, depth, size)),
            u=batch.uniforms(rows, depth),
            coins=np.concatenate((batch.uniforms(rows, depth), batch.uniforms(rows, 1)), axis=1),
            q=np.empty((rows.size, depth, size)),
            p=np.empty((rows.size, depth + 1, size)),
        )
        drawn, told, state = self.laws("draft", batch), self.laws("ratio", batch), batch.state[rows]
        for place in range(depth):
            turn.proposed[:, place] = self.draft_rows(batch, turn, state, place, drawn)
            turn.q[:, place] = turn.proposed[:, place]
            if told is not drawn and told.parameters != drawn.parameters:
                turn.q[:, place] = self.draft_rows(batch, turn, state, place, told)
            turn.draft[:, place] = self.propose(batch, turn, place)
            state = self.models.advance(state, turn.draft[:, place])
        return turn

    def draft_rows(self, batch: Batch, turn: Turn, state: IntArray, place: int, laws: TableLaws) -> FloatArray:
        """The draft's laws of one place, shape (M, V)."""

        def history(some: IntArray) -> History:
            output = np.concatenate((batch.said[turn.rows[some]], turn.draft[some, :place]), axis=1)
            return History(prompt=batch.prompt[turn.rows[some], None], output=output[:, None])

        early = self.is_early(batch, turn.rows, place + 1)[:, place:]
        kind = batch.kind[turn.rows]
        return laws.rows(kind, state=state[:, None], is_early=early, history=history)[:, 0]

    def propose(self, batch: Batch, turn: Turn, place: int) -> IntArray:
        """The drafts of one place."""
        return draw(turn.proposed[:, place], turn.u[:, place])

    # --- the target's rows -----------------------------------------------------------------------------------------

    def target_rows(self, batch: Batch, turn: Turn) -> FloatArray:
        """Feed the last token and the drafts to the target, and make laws of its rows, shape (M, G + 1, V)."""
        return self.target_laws(batch, turn, self.feed(batch, turn), self.laws("verify", batch))

    def target_laws(self, batch: Batch, turn: Turn, seen: IntArray, laws: TableLaws) -> FloatArray:
        """Laws of rows that were read at states `seen`, shape (M, R, V)."""
        return laws.rows(
            batch.kind[turn.rows],
            state=seen,
            is_early=self.is_early(batch, turn.rows, seen.shape[1]),
            history=lambda some: self.verify_history(batch, turn, some),
        )

    def feed(self, batch: Batch, turn: Turn) -> IntArray:
        """States that the G + 1 rows are read at."""
        rows, place = turn.rows, batch.cached[turn.rows]
        tokens = np.column_stack((batch.last[rows], turn.draft))
        for step, token in enumerate(tokens.T):
            before = batch.cache[rows, np.maximum(place + step - 1, 0)]
            state = np.where(place + step == 0, self.models.start(token), self.models.advance(before, token))
            batch.cache[rows, place + step] = state
        return np.asarray(batch.cache[rows[:, None], place[:, None] + np.arange(tokens.shape[1])])

    def verify_history(self, batch: Batch, turn: Turn, some: IntArray) -> History:
        """What penalties count on the target's rows of some requests."""
        return batch.history(turn.rows[some], turn.draft[some])

    def is_early(self, batch: Batch, rows: IntArray, count: int) -> BoolArray:
        """Whether `min_tokens` is not reached at each of `count` rows."""
        least = np.array([request.parameters.min_tokens for request in batch.requests])[rows]
        return np.asarray(batch.count[rows, None] + np.arange(count) < least[:, None])

    # --- verifying -------------------------------------------------------------------------------------------------

    def verify(self, batch: Batch, turn: Turn) -> tuple[IntArray, IntArray]:
        """How many drafts stand, and the token after them."""
        stands = self.stands(batch, turn) & (turn.depths < turn.drafted[:, None])
        accepted = np.cumprod(stands, axis=1).sum(axis=1)
        token = np.empty_like(accepted)
        fell = np.flatnonzero(accepted < turn.drafted)
        whole = np.flatnonzero(accepted == turn.drafted)
        token[fell] = self.correction(batch, turn, fell, accepted[fell])
        token[whole] = draw(self.bonus(batch, turn, whole), turn.coins[whole, -1])
        return accepted, token

    def stands(self, batch: Batch, turn: Turn) -> BoolArray:
        """Which drafts pass, each by itself, shape (M, G)."""
        return turn.coins[:, :-1] < self.chance(turn)

    def chance(self, turn: Turn) -> FloatArray:
        """The probability with which each draft passes, shape (M, G)."""
        return ratio(*self.chances(turn))

    def chances(self, turn: Turn) -> tuple[FloatArray, FloatArray]:
        """Target and draft probability of each draft, shape (M, G)."""
        ids = turn.draft[..., None]
        return (
            np.take_along_axis(turn.p[:, :-1], ids, axis=-1)[..., 0],
            np.take_along_axis(turn.q, ids, axis=-1)[..., 0],
        )

    def correction(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> IntArray:
        """Tokens in place of the first draft that fell, at `depth`, of some requests."""
        return draw(self.residual(turn, some, depth), turn.coins[some, -1])

    def residual(self, turn: Turn, some: IntArray, depth: IntArray) -> FloatArray:
        """Weights of these tokens, shape (len(some), V)."""
        return leftover(turn.p[some, depth], turn.q[some, depth], turn.draft[some, depth])

    def bonus(self, batch: Batch, turn: Turn, some: IntArray) -> FloatArray:
        """Weights of the token after drafts that all stand, shape (len(some), V)."""
        return turn.p[some, turn.drafted[some]]

    # --- committing ------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch, turn: Turn, accepted: IntArray, token: IntArray) -> None:
        """Add the round's tokens up to the end of the text, and cut the cache back."""
        rows = turn.rows
        block, size = self.block(batch, turn, accepted, token)
        emitted, finish = ends(batch, rows, size, self.stops(batch, rows, block, size))
        places = batch.count[rows, None] + np.arange(block.shape[1])
        kept = np.arange(block.shape[1]) < emitted[:, None]
        batch.output[rows[:, None], places] = np.where(kept, block, NONE)
        batch.logs[rows[:, None], places] = self.reported(turn, block)
        batch.said[rows[:, None], places] = np.where(self.counted(kept, emitted), block, NONE)
        for place in range(block.shape[1]):
            moved = self.models.advance(batch.state[rows], block[:, place])
            batch.state[rows] = np.where(kept[:, place], moved, batch.state[rows])
        batch.last[rows] = block[np.arange(rows.size), emitted - 1]
        batch.cached[rows] += self.fed(turn, accepted, emitted)
        batch.count[rows] += emitted
        batch.finish[rows] = finish
        batch.rounds.append((rows, emitted, turn.drafted))

    def block(self, batch: Batch, turn: Turn, accepted: IntArray, token: IntArray) -> tuple[IntArray, IntArray]:
        """The round's tokens, shape (M, G + 2), and how many there are."""
        places = np.arange(turn.draft.shape[1] + 2)
        drafts = np.pad(turn.draft, ((0, 0), (0, 2)))
        return np.where(places < accepted[:, None], drafts, token[:, None]), accepted + 1

    def stops(self, batch: Batch, rows: IntArray, block: IntArray, size: IntArray) -> BoolArray:
        """After which of the round's tokens a text ends, shape (M, G + 2)."""
        return ended_by_eos(batch, rows, block) | ended_by_sequence(batch, rows, block)

    def counted(self, kept: BoolArray, emitted: IntArray) -> BoolArray:
        """Which of the round's tokens penalties will see."""
        return kept

    def fed(self, turn: Turn, accepted: IntArray, emitted: IntArray) -> IntArray:
        """By how much the target's cache grows: all but the round's last token."""
        return emitted

    def reported(self, turn: Turn, block: IntArray) -> FloatArray:
        """Log-probabilities of the round's tokens, shape (M, G + 2)."""
        places = np.minimum(np.arange(block.shape[1]), turn.p.shape[1] - 1)
        laws = turn.p[:, places]
        with np.errstate(divide="ignore"):
            return np.log(np.take_along_axis(laws, block[..., None], axis=-1)[..., 0])
