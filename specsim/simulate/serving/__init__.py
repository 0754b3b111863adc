"""Serving: requests arrive, wait, and are decoded together, step by step, on SimPy.

    Traffic -> Server (scenario, cache, policy; StepTimes) -> serve -> Served (requests, steps) -> study over loads

Within a step: `Scheduler` says who runs, `Rounds` how deep is drafted and what stands, `Book` keeps what each has.
"""

from specsim.simulate.serving.cache import Cache
from specsim.simulate.serving.engine import Served, Step, serve
from specsim.simulate.serving.server import CHUNK_TOKENS, MAX_BATCH, Server, server_on
from specsim.simulate.serving.study import Requests, Study, saturation, study
from specsim.simulate.serving.summary import LATENCIES, QUANTILES, Promise, latencies, over_time, totals
from specsim.simulate.serving.traffic import Traffic, poisson_traffic

__all__ = [
    "CHUNK_TOKENS",
    "LATENCIES",
    "MAX_BATCH",
    "QUANTILES",
    "Cache",
    "Promise",
    "Requests",
    "Served",
    "Server",
    "Step",
    "Study",
    "Traffic",
    "latencies",
    "over_time",
    "poisson_traffic",
    "saturation",
    "serve",
    "server_on",
    "study",
    "totals",
]
