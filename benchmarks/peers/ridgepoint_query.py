"""Estimates of ridgepoint per second, by the two calls of its Python interface.

Alone: `echo "0 fit" | PEER_PYTHON benchmarks/peers/ridgepoint_query.py`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import ridgepoint
from serving import CONTEXTS, Call, serve

MODEL, GPU = "llama-3-8b", "h100-80gb"
FITS, SCANS = 40_000, 20_000
LACKS = "acceptance, tau, drafts, verification, speedup; one sequence only: no decode speed at a batch"


def fits(rng: random.Random) -> Callable[[], int]:
    """One context a call."""
    contexts = [rng.randint(*CONTEXTS) for _ in range(FITS)]

    def run() -> int:
        for context in contexts:
            ridgepoint.fit(MODEL, GPU, ctx=context, as_json=True)
        return len(contexts)

    return run


def scans(rng: random.Random) -> Callable[[], int]:
    """A row of contexts that the peer chooses, in one call."""
    prompts = [rng.randint(*CONTEXTS) for _ in range(SCANS)]
    contexts = len(json.loads(ridgepoint.scan(MODEL, GPU, as_json=True))["rows"])

    def run() -> int:
        for prompt in prompts:
            ridgepoint.scan(MODEL, GPU, prompt=prompt, as_json=True)
        return contexts * len(prompts)

    return run


if __name__ == "__main__":
    serve(
        "ridgepoint",
        {
            "fit": Call(
                fits, "memory, sequences that fit, seconds to first token, tokens/s, as JSON that is not read", LACKS
            ),
            "scan": Call(
                scans,
                "sequences that fit and tokens/s at its own nine contexts, which are the same in every call",
                LACKS,
            ),
        },
    )
