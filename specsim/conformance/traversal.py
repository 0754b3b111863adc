"""A decoder that drafts a tree and judges it from its leaves up: lossless, and the oddest of all."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.batch import Batch, Turn
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.table_laws import NONE
from specsim.distributions import History
from specsim.distributions.draw import draw
from specsim.topology import Topology
from specsim.verifiers import Traversal


class TraversalVerification(TableDecoder):
    """At every depth a second child is drawn without replacement beside the chain's, and has no children itself.

    Its text depends on the batch: the rule draws coins where it needs them.
    """

    claims = None
    is_seeded = False
    siblings: IntArray
    beside: FloatArray
    """Target's rows after the siblings, shape (M, G, V)."""

    def draft(self, batch: Batch, rows: IntArray) -> Turn:
        turn = super().draft(batch, rows)
        left = turn.q.copy()
        np.put_along_axis(left, turn.draft[..., None], 0.0, axis=-1)
        any_left = (left.sum(axis=-1) > 0) & (turn.depths < turn.drafted[:, None])
        second = draw(np.where(any_left[..., None], left, 1.0), batch.uniforms(rows, turn.draft.shape[1]))
        self.siblings = np.where(any_left, second, NONE)
        return turn

    def target_rows(self, batch: Batch, turn: Turn) -> FloatArray:
        seen = self.feed(batch, turn)
        laws, kind = self.laws("verify", batch), batch.kind[turn.rows]
        self.beside = np.empty(turn.q.shape)
        for place in range(turn.draft.shape[1]):

            def history(some: IntArray, place: int = place) -> History:
                told = (batch.said[turn.rows[some]], turn.draft[some, :place], self.siblings[some, place, None])
                return History(prompt=batch.prompt[turn.rows[some], None], output=np.concatenate(told, axis=1)[:, None])

            state = self.models.advance(seen[:, place], np.maximum(self.siblings[:, place], 0))
            early = self.is_early(batch, turn.rows, place + 2)[:, place + 1 :]
            self.beside[:, place] = laws.rows(kind, state=state[:, None], is_early=early, history=history)[:, 0]
        return self.target_laws(batch, turn, seen, laws)

    def verify(self, batch: Batch, turn: Turn) -> tuple[IntArray, IntArray]:
        """Judge the tree; where a sibling stands, it takes the chain's place in turn and cache."""
        count, gamma = turn.draft.shape
        chain, other = 2 * np.arange(gamma), 2 * np.arange(gamma) + 1
        topology = Topology.from_rank_paths([(0,) * depth + (rank,) for depth in range(gamma) for rank in (0, 1)])
        tokens = np.empty((count, 2 * gamma), dtype=np.intp)
        tokens[:, chain] = np.where(turn.depths < turn.drafted[:, None], turn.draft, NONE)
        tokens[:, other] = self.siblings
        p, q = np.empty((2, count, 2 * gamma + 1, turn.q.shape[-1]))
        p[:, 0], p[:, chain + 1], p[:, other + 1] = turn.p[:, 0], turn.p[:, 1:], self.beside
        q[:, 0], q[:, chain[:-1] + 1], q[:, other + 1], q[:, -2] = turn.q[:, 0], turn.q[:, 1:], turn.q, turn.q[:, -1]
        rng = np.random.default_rng([int(batch.keys[turn.rows[0]]), int(batch.clock[turn.rows[0]])])
        found = Traversal().verify(topology, p, tokens, q=q, rng=rng)
        aside = np.flatnonzero((found.node != NONE) & (found.node % 2 == 1))
        depth = found.accepted[aside] - 1
        self.step_aside(batch, turn, aside, depth)
        return found.accepted, found.token

    def step_aside(self, batch: Batch, turn: Turn, some: IntArray, depth: IntArray) -> None:
        """Put siblings at `depth` in the chain's place."""
        sibling, rows = self.siblings[some, depth], turn.rows[some]
        place = batch.cached[rows] + depth
        turn.draft[some, depth] = sibling
        turn.p[some, depth + 1] = self.beside[some, depth]
        batch.cache[rows, place + 1] = self.models.advance(batch.cache[rows, place], sibling)
