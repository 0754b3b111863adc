"""What the table decoder remembers of a batch of requests, and of the round that it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request
from specsim.conformance.table_laws import NONE, padded
from specsim.distributions import History
from specsim.verifiers.noise import CoupledNoise

FINISH = ("", "stop", "length")
SPARE = 2
"""Room for tokens that a round emits beyond its drafts: one, and one more for faults that emit too many."""


@dataclass(kw_only=True, slots=True)
class Batch:
    """N requests on their way."""

    requests: Sequence[Request]
    kinds: tuple[Parameters, ...]
    """Parameters without repetition."""
    kind: IntArray
    """(N,): which of them."""
    gamma: IntArray
    """(N,): tokens to draft in a round."""
    keys: IntArray
    """(N,): seeds of the requests' own random streams."""
    prompt: IntArray
    """(N, P), -1 for none."""
    output: IntArray
    """(N, M), -1 for none."""
    said: IntArray
    """(N, M): the output as penalties see it."""
    logs: FloatArray
    """(N, M): log-probabilities reported."""
    count: IntArray
    """(N,): tokens out."""
    state: IntArray
    """(N,): state of the draft, that of the text."""
    cache: IntArray
    """(N, C): states of the target after each token that it was fed."""
    cached: IntArray
    """(N,): how many of these count."""
    last: IntArray
    """(N,): last token of the text, not fed to the target yet."""
    clock: IntArray
    """(N,): draws made from the request's stream."""
    finish: IntArray
    """(N,): 0 while it goes on, else a place in FINISH."""
    rounds: list[tuple[IntArray, IntArray, IntArray]] = field(default_factory=list)
    """Rows, tokens added and tokens drafted of each round."""

    def uniforms(self, rows: IntArray, count: int) -> FloatArray:
        """The next `count` numbers of the streams of some requests, shape (len(rows), count)."""
        noise = CoupledNoise(seed=self.keys[rows])
        times = noise.times(self.clock[rows], vocabulary=count)
        self.clock[rows] += 1
        return np.asarray(np.exp(-times))

    def history(self, rows: IntArray, draft: IntArray) -> History:
        """What stands before rows 0..G of some requests that have drafted G tokens."""
        return History(prompt=self.prompt[rows], output=self.said[rows], draft=draft)

    def outputs(self, *, with_logs: bool) -> list[Output]:
        """The texts, with or without the log-probabilities of their tokens."""
        rows, added, drafted = (np.concatenate(column) for column in zip(*self.rounds, strict=True))
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], np.arange(1, len(self.requests)))
        blocks = [part.tolist() for part in np.split(added[order], ends)]
        drafts = [part.tolist() for part in np.split(drafted[order], ends)]
        return [
            Output(
                tokens=tuple(self.output[i, :count].tolist()),
                finish_reason=FINISH[self.finish[i]],
                blocks=tuple(blocks[i]),
                drafted=tuple(drafts[i]),
                log_probabilities=tuple(self.logs[i, :count].tolist()) if with_logs else None,
            )
            for i, count in enumerate(self.count.tolist())
        ]


@dataclass(kw_only=True, slots=True)
class Turn:
    """One round of M requests of a batch, drafts at most G."""

    rows: IntArray
    """(M,): which requests."""
    drafted: IntArray
    """(M,): tokens drafted, at most G."""
    draft: IntArray
    """(M, G)."""
    proposed: FloatArray
    """(M, G, V): laws that the drafts were drawn from."""
    u: FloatArray
    """(M, G): uniforms that drew them."""
    coins: FloatArray
    """(M, G + 1): uniforms of the verifier, the last one for the token after the drafts."""
    q: FloatArray
    """(M, G, V): laws of the drafts that the verifier is told."""
    p: FloatArray
    """(M, G + 1, V): laws of the target."""

    @property
    def depths(self) -> IntArray:
        """0..G - 1."""
        return np.arange(self.draft.shape[1])


def begin(requests: Sequence[Request], *, gamma: IntArray) -> Batch:
    """A batch before its first token; states and cache are the decoder's to fill."""
    kinds = tuple(dict.fromkeys(request.parameters for request in requests))
    number = {parameters: place for place, parameters in enumerate(kinds)}
    count, prompt = len(requests), padded([request.prompt for request in requests])
    room = max(request.parameters.max_tokens for request in requests) + int(gamma.max()) + SPARE
    lengths = (prompt != NONE).sum(axis=1)
    feeds = prompt.shape[1] + 2 * room + int(gamma.max())  # a cache that keeps too much outgrows the text
    return Batch(
        requests=requests,
        kinds=kinds,
        kind=np.array([number[request.parameters] for request in requests]),
        gamma=gamma,
        keys=np.array([request.seed for request in requests], dtype=np.int64),
        prompt=prompt,
        output=np.full((count, room), NONE),
        said=np.full((count, room), NONE),
        logs=np.zeros((count, room)),
        count=np.zeros(count, dtype=np.intp),
        state=np.zeros(count, dtype=np.intp),
        cache=np.zeros((count, feeds), dtype=np.intp),
        cached=lengths - 1,
        last=prompt[np.arange(count), lengths - 1],
        clock=np.zeros(count, dtype=np.intp),
        finish=np.zeros(count, dtype=np.intp),
    )
