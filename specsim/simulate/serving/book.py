"""Book: where every request stands, as columns, so that a round moves all its requests at once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from specsim.checks import BoolArray, FloatArray, IntArray
from specsim.roofline import Count
from specsim.simulate.serving.traffic import Traffic


class Book:
    """What is known of each request; a place in every array is a request.

    A request that has made d tokens decodes with prompt + d - 1 of them cached: its last token is cached when it is
    scored.
    """

    def __init__(self, traffic: Traffic) -> None:
        count = traffic.size
        self.traffic = traffic
        self.unfinished = count
        self.to_cache = traffic.prompt_tokens.copy()
        """Tokens that have to go through the target before the request makes tokens, for the first time or again."""
        self.cached, self.made, self.rounds, self.drafted, self.accepted, self.preemptions = (
            np.zeros(count, dtype=np.int64) for _ in range(6)
        )
        self.held_bytes = np.zeros(count)
        self.admitted, self.first, self.finished = (np.full(count, np.nan) for _ in range(3))

    def admit(self, request: int, *, held_bytes: float, now: float) -> None:
        """Room is held for it, and its prompt may be processed."""
        self.held_bytes[request] = held_bytes
        if np.isnan(self.admitted[request]):
            self.admitted[request] = now

    def preempt(self, request: int) -> None:
        """It loses its cache, and begins again with all tokens that it has."""
        self.held_bytes[request] = 0.0
        self.cached[request] = 0
        self.to_cache[request] = self.traffic.prompt_tokens[request] + self.made[request]
        self.preemptions[request] += 1

    def process(self, request: int, *, tokens: int, now: float) -> bool:
        """Cache some of its tokens; True when they were the last, which give it a new token."""
        self.to_cache[request] -= tokens
        self.cached[request] += tokens
        if self.to_cache[request]:
            return False
        if not self.made[request]:
            self.first[request] = now
        self.made[request] += 1
        return True

    def commit(self, requests: IntArray, *, drafted: Count, accepted: Count) -> int:
        """A round of each: accepted drafts and one more token, up to what was asked for; how many in all [1]."""
        committed = np.minimum(accepted + 1, self.traffic.output_tokens[requests] - self.made[requests])
        self.cached[requests] += committed
        self.made[requests] += committed
        self.rounds[requests] += 1
        self.drafted[requests] += drafted
        self.accepted[requests] += accepted
        return int(committed.sum())

    def finish(self, requests: IntArray, *, now: float) -> BoolArray:
        """Which of them are done; those give their room back."""
        done: BoolArray = self.made[requests] == self.traffic.output_tokens[requests]
        if done.any():
            self.finished[requests[done]] = now
            self.held_bytes[requests[done]] = 0.0
            self.unfinished -= int(done.sum())
        return done

    def frame(self) -> pd.DataFrame:
        """One row per request; see `Served`."""
        arrival, output = self.traffic.arrival_seconds, self.traffic.output_tokens
        return pd.DataFrame(
            {
                "request": np.arange(self.traffic.size),
                "arrival_seconds": arrival,
                "prompt_tokens": self.traffic.prompt_tokens,
                "output_tokens": output,
                "queue_seconds": self.admitted - arrival,
                "first_token_seconds": self.first - arrival,
                "per_token_seconds": _over(self.finished - self.first, output - 1),
                "request_seconds": self.finished - arrival,
                "finish_seconds": self.finished,
                "rounds": self.rounds,
                "drafted": self.drafted,
                "accepted": self.accepted,
                "preemptions": self.preemptions,
            }
        )


def _over(seconds: FloatArray, tokens: IntArray) -> FloatArray:
    """NaN where there is no further token."""
    return np.asarray(np.divide(seconds, tokens, out=np.full(len(seconds), np.nan), where=tokens > 0))
