"""Study: the same requests at several loads, answered in several ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from specsim import checks
from specsim.errors import InputError
from specsim.simulate.serving.engine import serve
from specsim.simulate.serving.server import Server
from specsim.simulate.serving.summary import Promise, latencies, over_time, totals
from specsim.simulate.serving.traffic import LONGEST, Traffic, poisson_traffic

ENOUGH = 0.95
"""Share of requests to whom a promise has to be kept [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Requests:
    """What requests are like, whatever their rate.

    Parameters
    ----------
    prompt_tokens, output_tokens : float
        Means, at least 1 [1].
    spread : float
        Standard deviation of both over their means, as of `poisson_traffic` [1].
    seconds : float
        How long they come; a load needs some times the seconds of a request to settle [s].

    Examples
    --------
    >>> Requests(prompt_tokens=100, output_tokens=20, seconds=5.0).traffic(2.0, seed=0).size
    10
    """

    prompt_tokens: float
    output_tokens: float
    spread: float = 0.0
    seconds: float = 60.0

    def __post_init__(self) -> None:
        checks.number("prompt_tokens", self.prompt_tokens, low=1)
        checks.number("output_tokens", self.output_tokens, low=1)
        checks.non_negative("spread", self.spread)
        checks.positive("seconds", self.seconds)

    @property
    def longest(self) -> int:
        """Most tokens that one may have, prompt and output together [1]."""
        times = LONGEST if self.spread else 1
        return round(times * self.prompt_tokens) + round(times * self.output_tokens)

    def traffic(self, requests_per_second: float, *, seed: int) -> Traffic:
        """As many as come in the time, on average; those of one seed are the same at all rates."""
        return poisson_traffic(
            max(1, round(checks.positive("requests_per_second", requests_per_second) * self.seconds)),
            requests_per_second=requests_per_second,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            spread=self.spread,
            seed=seed,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Study:
    """What was found; every frame has the columns `policy` and `requests_per_second`.

    Parameters
    ----------
    loads : pandas.DataFrame
        One row per policy and load: the fields of `summary.totals`, and `kept_requests_per_second`.
    latencies : pandas.DataFrame
        One row per policy, load, latency and quantile: `latency`, `quantile`, `seconds`.
    timelines : pandas.DataFrame
        One row per policy, load and span of time: the columns of `summary.over_time`.
    promise : Promise
        What `kept` is about.
    """

    loads: pd.DataFrame
    latencies: pd.DataFrame
    timelines: pd.DataFrame
    promise: Promise

    def most(self, policy: str) -> float | None:
        """Highest rate of those tried, from the lowest on without a gap, at which the promise was kept to 95 % [1/s].

        None where it was not even at the lowest.
        """
        rows = self.loads[self.loads["policy"] == policy].sort_values("requests_per_second")
        kept = rows["requests_per_second"][(rows["kept"] >= ENOUGH).cummin()]
        return float(kept.iloc[-1]) if len(kept) else None


class _Case(NamedTuple):
    policy: str
    server: Server
    requests: Requests
    rate: float
    promise: Promise
    seed: int


def study(
    servers: Mapping[str, Server],
    requests: Requests,
    *,
    rates: Sequence[float],
    promise: Promise,
    seed: int,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Serve the same requests at several rates with several servers.

    Parameters
    ----------
    servers : mapping of str to Server
        By name, such as that of the policy.
    requests : Requests
        What comes.
    rates : sequence of float
        Requests per second [1/s].
    promise : Promise
        What requests are promised.
    seed : int
        Of requests and rounds; all servers see the same requests.
    executor : concurrent.futures.Executor or None
        Where to run policies and loads, each on its own; None runs them here.
    progress : callable or None
        Told how many runs are done, and of how many.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        No servers, no rates, or a rate that is not above 0.
    """
    if not servers or not len(rates):
        raise InputError("a study must have one server and one rate at least")
    cases = [
        _Case(name, server, requests, checks.positive("rate", rate), promise, seed)
        for rate in rates
        for name, server in servers.items()
    ]
    found = []
    for done, run in enumerate((map if executor is None else executor.map)(_run, cases), start=1):
        found.append(run)
        if progress is not None:
            progress(done, len(cases))
    loads, waits, timelines = (pd.concat(frames, ignore_index=True) for frames in zip(*found, strict=True))
    return Study(loads=loads, latencies=waits, timelines=timelines, promise=promise)


def saturation(server: Server, requests: Requests) -> float:
    """Requests per second that keep a server busy when it decodes plainly and is full: more of them pile up [1/s].

    Notes
    -----
    An estimate, from means: a request takes its share of full prompt passes, and of rounds at the largest batch that
    the cache holds when every sequence is halfway through its answer.
    """
    context = requests.prompt_tokens + requests.output_tokens / 2
    each = server.cache.bytes_by_tokens[round(context) + server.look]
    batch = max(1, min(server.max_batch, int(server.cache.capacity_bytes // each)))
    chunk = server.chunk_tokens
    added = server.times.prompts(tokens=chunk, context=requests.prompt_tokens / 2, beside=np.array([batch]))
    rounds = server.times.rounds(batch=batch, context=context)
    return 1 / float(
        added[0] / chunk * requests.prompt_tokens + rounds[0] / batch * max(0.0, requests.output_tokens - 1)
    )


def _run(case: _Case) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    served = serve(case.server, case.requests.traffic(case.rate, seed=case.seed), seed=case.seed)
    who = {"policy": case.policy, "requests_per_second": case.rate}
    found = totals(served, case.promise)
    kept = {"kept_requests_per_second": case.rate * found["kept"]}
    return (
        pd.DataFrame([who | found | kept]),
        pd.DataFrame([who | row for row in latencies(served)]),
        over_time(served).assign(policy=case.policy, requests_per_second=case.rate),
    )
