"""Rules that judge candidates one after the other: what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.verifiers.chain import normalised, or_target, ratio, without
from specsim.verifiers.multi_draft.candidates import Candidates, flat_candidates
from specsim.verifiers.multi_draft.protocol import NONE, MultiDraftVerification


class State(NamedTuple):
    """What the next candidate of each of M sequences is judged by: it stands with probability min(1, p / q)."""

    p: FloatArray
    """(M, V): the law that the emitted token still has to follow."""
    q: FloatArray | None
    """(M, V), or None for candidates that are no draw: these stand with probability p."""

    def of(self, rows: IntArray) -> State:
        """The state of some of the sequences."""
        return State(self.p[rows], None if self.q is None else self.q[rows])

    def chances(self, tokens: IntArray) -> FloatArray:
        """Of one candidate a sequence, shape (M,)."""
        rows = np.arange(len(tokens))
        return ratio(self.p[rows, tokens], 1.0 if self.q is None else self.q[rows, tokens])


class CandidateRule(ABC):
    """A multi-draft rule: sequences are judged together if they have the same number of candidates."""

    name: str
    is_lossless = True
    needs_draft_rows = True

    @abstractmethod
    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """Candidates as this rule needs them drawn; see `MultiDraftVerifier.draw`."""

    @abstractmethod
    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact law of the place and token of the candidate that stands; see `MultiDraftVerifier.accepted_law`."""

    @abstractmethod
    def _judge(
        self, p: FloatArray, q: FloatArray, tokens: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Place and token for M sequences with K candidates each."""

    def acceptance_vector(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact probability that each candidate is the one that stands; see `MultiDraftVerifier.acceptance_vector`."""
        return np.asarray(self.accepted_law(p, q, candidates=candidates).sum(axis=-1))

    def verify(
        self, p: ArrayLike, candidates: ArrayLike, *, q: ArrayLike | None, rng: np.random.Generator
    ) -> MultiDraftVerification:
        """Judge the candidates of one token of each sequence; see `MultiDraftVerifier.verify`."""
        step = flat_candidates(p, candidates, q=q)
        accepted, token = np.empty((2, len(step.tokens)), dtype=np.intp)
        for rows, tokens, target, draft in by_count(step):
            if draft is None:
                accepted[rows], token[rows] = judge_in_order(State(target, None), tokens, rng, after=without_candidate)
            else:
                accepted[rows], token[rows] = self._judge(target, draft, tokens, rng)
        return MultiDraftVerification(accepted=accepted.reshape(step.lead), token=token.reshape(step.lead))


def by_count(step: Candidates) -> Iterator[tuple[IntArray, IntArray, FloatArray, FloatArray | None]]:
    """Sequences with the same number of candidates: their rows, candidates, p, and q (None also without candidates)."""
    for count in np.unique(step.counts):
        rows = np.flatnonzero(step.counts == count)
        whole = rows.size == len(step.counts)
        p = step.p if whole else step.p[rows]
        q = None if step.q is None or count == 0 else step.q if whole else step.q[rows]
        yield rows, step.tokens[rows, :count], p, q


After = Callable[[State, IntArray], State]


def without_candidate(state: State, tokens: IntArray) -> State:
    """The state after a candidate that is no draw was rejected."""
    return State(normalised(without(state.p, tokens)), None)


def judge_in_order(
    state: State,
    tokens: IntArray,
    rng: np.random.Generator,
    *,
    after: After,
    rest: Callable[[State], FloatArray] | None = None,
) -> tuple[IntArray, IntArray]:
    """Toss a coin for one candidate after the other; where none stands, draw from `rest` of the last state (its p)."""
    accepted, token = np.full((2, len(tokens)), NONE, dtype=np.intp)
    going = np.arange(len(tokens))
    for place in range(tokens.shape[1]):
        drafts = tokens[going, place]
        stands = rng.random(going.size) < state.chances(drafts)  # strictly: a coin can be 0, and so can a chance
        accepted[going[stands]], token[going[stands]] = place, drafts[stands]
        going, drafts = going[~stands], drafts[~stands]
        state = after(state.of(np.flatnonzero(~stands)), drafts)
    if going.size:
        token[going] = sample(state.p if rest is None else rest(state), rng.random(going.size))
    return accepted, token


class InOrder(CandidateRule):
    """A rule given by what a candidate is judged by, and by what becomes of that when it is rejected."""

    @abstractmethod
    def _start(self, p: FloatArray, q: FloatArray, *, candidates: int) -> State:
        """The state before the first of K candidates."""

    @abstractmethod
    def _after(self, state: State, tokens: IntArray) -> State:
        """The state after a rejected candidate."""

    def _rest(self, state: State) -> FloatArray:
        """The law of the token where no candidate stands."""
        return state.p

    def _judge(
        self, p: FloatArray, q: FloatArray, tokens: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        start = self._start(p, q, candidates=tokens.shape[1])
        return judge_in_order(start, tokens, rng, after=self._after, rest=self._rest)

    def accept_probability(self, p: ArrayLike, candidates: ArrayLike, *, q: ArrayLike | None) -> FloatArray:
        """The probability that each of these candidates is the one that stands, shape (..., K) [1]."""
        step = flat_candidates(p, candidates, q=q)
        chances = np.zeros(step.tokens.shape)
        for rows, tokens, target, draft in by_count(step):
            reached = np.ones(rows.size)
            for place, state in enumerate(self._states(target, draft, tokens)[:-1]):
                chance = state.chances(tokens[:, place])
                chances[rows, place] = reached * chance
                reached *= 1 - chance
        return chances.reshape(*step.lead, -1)

    def residual(self, p: ArrayLike, candidates: ArrayLike, *, q: ArrayLike | None) -> FloatArray:
        """The law of the token where none of these candidates stands, shape (..., V) [1]."""
        step = flat_candidates(p, candidates, q=q)
        law = np.empty(step.p.shape)
        for rows, tokens, target, draft in by_count(step):
            last = self._states(target, draft, tokens)[-1]
            law[rows] = last.p if last.q is None else self._rest(last)
        return normalised(law).reshape(*step.lead, -1)

    def _states(self, p: FloatArray, q: FloatArray | None, tokens: IntArray) -> list[State]:
        """The states that candidate 0..K-1 is judged by, and the one after all of them."""
        states = [State(p, None) if q is None else self._start(p, q, candidates=tokens.shape[1])]
        for drafts in tokens.T:
            states.append((without_candidate if q is None else self._after)(states[-1], drafts))
        return states


def residual_law(p: FloatArray, q: FloatArray) -> FloatArray:
    """(p - q)+ as laws in double precision; p where nothing is left but rounding."""
    return normalised(or_target(np.maximum(p - q, 0, dtype=np.float64), p))
