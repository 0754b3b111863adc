"""Rounds of a server: a depth is chosen, drafts are proposed, and some of them stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.policies import Load
from specsim.roofline import Count
from specsim.simulate.serving.book import Book
from specsim.simulate.serving.scheduler import Chunks
from specsim.simulate.serving.server import Server


class Turn(NamedTuple):
    """What is settled of a step before its pass: depth asked, drafts of each sequence, seconds, tokens scored."""

    gamma: int
    drafted: Count
    seconds: float
    in_flight: int


class Rounds:
    """Chooses, drafts and verifies; keeps count of what was accepted."""

    def __init__(self, server: Server, book: Book, *, rng: np.random.Generator) -> None:
        self.policy, self.times, self.book, self.rng = server.policy, server.times, book, rng
        self.survival = server.survival(book.traffic.size, rng=rng)
        self.lengths: IntArray = np.zeros((server.scenario.gamma + 1,) * 2, dtype=np.int64)
        self.seen = self.lengths.view()  # what policies get: it goes on counting, and they cannot change it
        self.seen.flags.writeable = False

    def begin(self, decoding: IntArray, chunks: Chunks, *, waiting: int) -> Turn:
        """Choose a depth from what is known, draft, and say how long the pass takes."""
        batch = len(decoding)
        if not batch:
            seconds = self.times.prompts_alone(tokens=chunks.total, context=chunks.context)
            return Turn(0, 0, seconds, chunks.total)
        context = float(self.book.cached[decoding].sum()) / batch
        rounds = self.times.rounds(batch=batch, context=context)
        steps = rounds + self._prompts(chunks, batch * self.times.in_flight) if chunks.tokens else rounds
        load = Load(batch=batch, waiting=waiting, round_seconds=rounds, step_seconds=steps, lengths=self.seen)
        gamma = checks.integer("gamma of the policy", self.policy.gamma(load), high=self.policy.deepest)
        proposed = self.times.proposed[gamma]
        if proposed is None:
            in_flight = batch * int(self.times.in_flight[gamma])
            return Turn(gamma, gamma, float(steps[gamma]), in_flight + chunks.total)
        drafted = (self.rng.random((batch, 1)) < proposed).sum(axis=1)
        in_flight = int(self.times.in_flight[drafted].sum())
        seconds = self.times.round(drafted=float(drafted.mean()), batch=batch, context=context)
        if chunks.tokens:
            seconds += float(self._prompts(chunks, np.array([in_flight]))[0])
        return Turn(gamma, drafted, seconds, in_flight + chunks.total)

    def verify(self, decoding: IntArray, turn: Turn) -> tuple[int, int]:
        """Tokens made and drafts accepted, of all sequences [1]."""
        accepted: Count = 0
        if turn.gamma:
            survival = self.survival[decoding if len(self.survival) > 1 else 0, : turn.gamma]
            standing = (self.rng.random((len(decoding), 1)) < survival).sum(axis=1)
            accepted = np.minimum(standing, turn.drafted)
            self.lengths[turn.gamma] += np.bincount(accepted, minlength=len(self.lengths))
        made = self.book.commit(decoding, drafted=turn.drafted, accepted=accepted)
        return made, int(np.sum(accepted))

    def _prompts(self, chunks: Chunks, beside: IntArray) -> FloatArray:
        return self.times.prompts(tokens=chunks.total, context=chunks.context, beside=beside)
