"""The engine: requests arrive, and step after step some are admitted, drafted for, verified and let go."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import simpy

from specsim import checks
from specsim.errors import InfeasibleError, InputError
from specsim.simulate.serving.book import Book
from specsim.simulate.serving.rounds import Rounds
from specsim.simulate.serving.scheduler import Scheduler
from specsim.simulate.serving.server import Server
from specsim.simulate.serving.traffic import Traffic
from specsim.units import human

Events = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Served:
    """What happened.

    Parameters
    ----------
    requests : pandas.DataFrame
        One row per request: `request`, `arrival_seconds`, `prompt_tokens`, `output_tokens`, `queue_seconds` (until it
        was first admitted), `first_token_seconds` (from arrival: TTFT), `per_token_seconds` (mean of the further
        tokens: TPOT; missing where there is none), `request_seconds` (from arrival to the end), `finish_seconds`,
        `rounds`, `drafted`, `accepted`, `preemptions`.
    steps : pandas.DataFrame
        One row per step, with the fields of `Step`.
    cache_bytes : float
        Still held when all is done: 0 [byte].
    """

    requests: pd.DataFrame
    steps: pd.DataFrame
    cache_bytes: float


class Step(NamedTuple):
    """A row of `Served.steps`.

    Parameters
    ----------
    start_seconds, seconds : float
        When it began, and how long it took [s].
    batch, prompts, waiting : int
        Sequences that decode, prompts that are processed, and requests that are not admitted [1].
    prompt_tokens : int
        Processed [1].
    gamma : int
        Drafts asked for in each sequence [1].
    drafted, accepted : int
        Drafts that were proposed and that stood, of all sequences [1].
    in_flight : int
        Tokens that the target scored, those of prompts among them [1].
    made : int
        Tokens that requests got, at the end of the step [1].
    cache_bytes, cache_share : float
        Held during the step with what its round may add, and as a share of the room [byte], [1].
    preempted : int
        Requests that lost their cache before it [1].
    """

    start_seconds: float
    seconds: float
    batch: int
    prompts: int
    waiting: int
    prompt_tokens: int
    gamma: int
    drafted: int
    accepted: int
    in_flight: int
    made: int
    cache_bytes: float
    cache_share: float
    preempted: int


def serve(server: Server, traffic: Traffic, *, seed: int) -> Served:
    """Answer requests until all are done.

    Parameters
    ----------
    server : Server
        How.
    traffic : Traffic
        Which.
    seed : int
        Of what is proposed and accepted.

    Returns
    -------
    Served

    Raises
    ------
    InputError
        A request longer than the server was made for; a policy whose gamma is out of its range.
    InfeasibleError
        A request whose cache alone is larger than the room.

    Notes
    -----
    Rounds of a request are independent given its acceptance. The drafter's own pass over a prompt, and moving tokens
    between host and accelerator, are left out.

    Examples
    --------
    >>> from specsim.acceptance import Acceptance
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.policies import Fixed
    >>> from specsim.roofline import Staircase
    >>> from specsim.scenario import Scenario
    >>> from specsim.simulate.serving import Cache
    >>> flat = Staircase(tokens=(1, 99), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.0, step_seconds=0.04)
    >>> scenario = Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(1.0), gamma=2)
    >>> cache = Cache.of_tokens(100, longest=50)
    >>> one = Server(scenario=scenario, cache=cache, policy=Fixed(depth=2), longest=40, max_batch=1, chunk_tokens=64)
    >>> traffic = Traffic(arrival_seconds=[0.0], prompt_tokens=[10], output_tokens=[7])
    >>> serve(one, traffic, seed=0).requests["request_seconds"].round(2).tolist()  # a prompt and two rounds of three
    [0.12]
    """
    if traffic.longest > server.longest:
        raise InputError(f"requests must have at most {server.longest} tokens, as the server, got {traffic.longest}")
    _check_room(server, traffic)
    env = simpy.Environment()
    engine = _Engine(env, server, traffic, rng=np.random.default_rng(checks.integer("seed", seed)))
    env.process(engine.arrivals())
    env.process(engine.steps())
    env.run()
    return Served(
        requests=engine.book.frame(),
        steps=pd.DataFrame(engine.log, columns=Step._fields),
        cache_bytes=float(engine.book.held_bytes.sum()),
    )


def _check_room(server: Server, traffic: Traffic) -> None:
    needed = server.cache.bytes_by_tokens[traffic.prompt_tokens + traffic.output_tokens + server.look]
    worst = int(needed.argmax())
    if needed[worst] > server.cache.capacity_bytes:
        raise InfeasibleError(
            f"request {worst} of {traffic.prompt_tokens[worst] + traffic.output_tokens[worst]} tokens needs "
            f"{human(float(needed[worst]), 'B')} of cache, and there is room for "
            f"{human(server.cache.capacity_bytes, 'B')}"
        )


class _Engine:
    """Two processes: requests arrive, and steps follow each other while there is work."""

    def __init__(self, env: simpy.Environment, server: Server, traffic: Traffic, *, rng: np.random.Generator) -> None:
        self.env, self.traffic, self.room_bytes = env, traffic, server.cache.capacity_bytes
        self.book = Book(traffic)
        self.scheduler = Scheduler(server, self.book)
        self.rounds = Rounds(server, self.book, rng=rng)
        self.log: list[Step] = []
        self.work = env.event()

    def arrivals(self) -> Events:
        for request, arrival in enumerate(self.traffic.arrival_seconds.tolist()):
            if arrival > self.env.now:
                yield self.env.timeout(arrival - self.env.now)
            self.scheduler.waiting.append(request)
            if not self.work.triggered:
                self.work.succeed()

    def steps(self) -> Events:
        while self.book.unfinished:
            if self.scheduler.idle:
                self.work = self.env.event()
                yield self.work
            preempted = self.scheduler.make_room()
            self.scheduler.admit(now=self.env.now)
            yield from self._step(preempted)

    def _step(self, preempted: int) -> Events:
        start, scheduler = self.env.now, self.scheduler
        decoding, waiting, chunks = scheduler.decoding, len(scheduler.waiting), scheduler.chunks()
        turn = self.rounds.begin(decoding, chunks, waiting=waiting)
        yield self.env.timeout(turn.seconds)
        made, accepted = self.rounds.verify(decoding, turn) if len(decoding) else (0, 0)
        scheduler.release(now=self.env.now)
        made += scheduler.process(chunks, now=self.env.now)
        self.log.append(
            Step(
                start_seconds=start,
                seconds=turn.seconds,
                batch=len(decoding),
                prompts=len(chunks.tokens),
                waiting=waiting,
                prompt_tokens=chunks.total,
                gamma=turn.gamma,
                drafted=int(np.sum(turn.drafted)) if np.ndim(turn.drafted) else len(decoding) * turn.gamma,
                accepted=accepted,
                in_flight=turn.in_flight,
                made=made,
                cache_bytes=scheduler.held_bytes,
                cache_share=scheduler.held_bytes / self.room_bytes,
                preempted=preempted,
            )
        )
