"""Who runs: first come, first served, as far as the memory and the largest batch allow.

As in today's engines, prompts are processed in chunks beside the rounds of those that decode, and when caches outgrow
the memory, whoever was admitted last gives its room back and begins again later.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from specsim.checks import IntArray
from specsim.simulate.serving.book import Book
from specsim.simulate.serving.server import Server


class Chunks(NamedTuple):
    """Prompt tokens of the next pass, by request, and the mean context that they see [1]."""

    tokens: dict[int, int]
    context: float

    @property
    def total(self) -> int:
        """Of all requests [1]."""
        return sum(self.tokens.values())


class Scheduler:
    """Requests that wait, whose prompts are processed, and that decode; each in the order of admission."""

    def __init__(self, server: Server, book: Book) -> None:
        self.server, self.book, self.cache, self.look = server, book, server.cache, server.look
        self.waiting: deque[int] = deque()
        self.processing: list[int] = []  # admitted after all that decode
        self.decoding: IntArray = np.zeros(0, dtype=np.int64)
        self.held_bytes = 0.0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not (len(self.decoding) or self.processing or self.waiting)

    def make_room(self) -> int:
        """Hold what the next round may add; send back as many of the last admitted as it takes, and count them."""
        needed = self.cache.bytes_by_tokens[self.book.cached[self.decoding] + self.look]
        self.book.held_bytes[self.decoding] = needed
        self.held_bytes = float(needed.sum()) + sum(float(self.book.held_bytes[one]) for one in self.processing)
        preempted = 0
        while self.held_bytes > self.cache.capacity_bytes:
            last = self.processing.pop() if self.processing else int(self.decoding[-1])
            self.decoding = self.decoding[self.decoding != last]
            self.held_bytes -= float(self.book.held_bytes[last])
            self.book.preempt(last)
            self.waiting.appendleft(last)
            preempted += 1
        return preempted

    def admit(self, *, now: float) -> None:
        """From the head of the queue, while there is room for the prompt and a round."""
        while self.waiting and len(self.decoding) + len(self.processing) < self.server.max_batch:
            first = self.waiting[0]
            needed = float(self.cache.bytes_by_tokens[self.book.to_cache[first] + self.look])
            if self.held_bytes + needed > self.cache.capacity_bytes:
                return
            self.held_bytes += needed
            self.book.admit(first, held_bytes=needed, now=now)
            self.processing.append(self.waiting.popleft())

    def chunks(self) -> Chunks:
        """Prompts of the next pass, the oldest first."""
        left, seen, tokens = self.server.chunk_tokens, 0.0, {}
        for request in self.processing:
            if not left:
                break
            tokens[request] = min(left, int(self.book.to_cache[request]))
            left -= tokens[request]
            seen += tokens[request] * (float(self.book.cached[request]) + tokens[request] / 2)
        return Chunks(tokens, seen / max(1, sum(tokens.values())))

    def process(self, chunks: Chunks, *, now: float) -> int:
        """The prompts of a pass are cached; tokens made by those that are through [1]."""
        through = [one for one, tokens in chunks.tokens.items() if self.book.process(one, tokens=tokens, now=now)]
        if through:
            self.processing = self.processing[len(through) :]
            requests = np.asarray(through)
            going = requests[~self.book.finish(requests, now=now)]
            self.decoding = np.concatenate((self.decoding, going))
        return len(through)

    def release(self, *, now: float) -> None:
        """Let those go that have all their tokens."""
        done = self.book.finish(self.decoding, now=now)
        if done.any():
            self.decoding = self.decoding[~done]
