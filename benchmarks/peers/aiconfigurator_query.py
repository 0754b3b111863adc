"""Decode steps that aiconfigurator's compiled engine answers per second from its own tables of measured kernels.

Alone: `echo "0 plain step" | PEER_PYTHON benchmarks/peers/aiconfigurator_query.py`. Engines are compiled once, before
anything is timed; a query is one call of `AicEngine.decode_step_latency`, the cheapest that gives a step's latency.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from aiconfigurator_core import AicEngine
from aiconfigurator_core.sdk.engine import compile_engine
from serving import BATCHES, CONTEXTS, Call, serve

MODEL, SYSTEM, BACKEND = "meta-llama/Meta-Llama-3.1-8B", "h100_sxm", "vllm"
DRAFTED = 4
OUTPUT_TOKENS = 2
"""With two, the step is asked for at the context given, give or take a token or two."""
FEW_BATCHES, SHORT_CONTEXTS = (1, 32), (1, 4_000)
"""Within its attention tables; beyond, an estimate takes it some fifty times as long."""

Range = tuple[int, int]


def steps(
    *, drafted: int, queries: int, batches: Range, contexts: Range
) -> Callable[[random.Random], Callable[[], int]]:
    """Steps of one engine at random batches and contexts."""
    engine = AicEngine.from_spec(compile_engine(MODEL, SYSTEM, BACKEND, nextn=drafted))

    def prepare(rng: random.Random) -> Callable[[], int]:
        asked = [(rng.randint(*batches), rng.randint(*contexts)) for _ in range(queries)]

        def run() -> int:
            for batch, context in asked:
                engine.decode_step_latency(batch, context, OUTPUT_TOKENS)
            return len(asked)

        return run

    return prepare


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    lacks = "acceptance, tau, a drafter of its own, speedup (which takes two such queries)"
    serve(
        "aiconfigurator-core",
        {
            "verify step": Call(
                steps(drafted=DRAFTED, queries=1_000, batches=BATCHES, contexts=CONTEXTS),
                f"ms of a step that verifies {DRAFTED} drafted tokens, with as many layers more for an MTP drafter, "
                f"batches {BATCHES}, contexts {CONTEXTS}",
                lacks,
            ),
            "plain step": Call(
                steps(drafted=0, queries=2_000, batches=BATCHES, contexts=CONTEXTS),
                f"ms of a plain decode step, batches {BATCHES}, contexts {CONTEXTS}",
                f"verification, {lacks}",
            ),
            "plain step, in tables": Call(
                steps(drafted=0, queries=50_000, batches=FEW_BATCHES, contexts=SHORT_CONTEXTS),
                f"the same where it is fastest: batches {FEW_BATCHES}, contexts {SHORT_CONTEXTS}",
                f"verification, {lacks}",
            ),
        },
    )
