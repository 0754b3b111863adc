"""The tidy frames behind a drafter report, each from the library's own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from reports.pages.drafters.frames.rounds import pass_parts, passes, ridges, round_parts
from reports.pages.drafters.frames.speeds import pareto
from reports.pages.drafters.frames.speedups import (
    context_map,
    inputs,
    marks,
    models,
    ranking,
    speedup_by_batch,
    speedup_by_gamma,
    speedup_map,
)
from reports.pages.drafters.frames.tokens import counts, temperature, tokens, tokens_band, tokens_measured
from reports.pages.drafters.study import Study

Rows = Iterator[dict[str, Any]]

FRAMES: dict[str, Callable[[Study], Rows | pd.DataFrame]] = {
    "drafters": ranking,
    "passes": passes,
    "ridges": ridges,
    "pass_parts": pass_parts,
    "counts": counts,
    "tokens": tokens,
    "tokens_band": tokens_band,
    "tokens_measured": tokens_measured,
    "speedup_by_gamma": speedup_by_gamma,
    "speedup_by_batch": speedup_by_batch,
    "marks": marks,
    "speedup_map": speedup_map,
    "context_map": context_map,
    "models": models,
    "pareto": pareto,
    "round_parts": round_parts,
    "inputs": inputs,
    "temperature": temperature,
}
"""By name, in reading order; one without rows is left out of the page, which says so."""


def frames(found: Study) -> dict[str, pd.DataFrame]:
    """All of them."""
    built = {name: make(found) for name, make in FRAMES.items()}
    return {name: rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows)) for name, rows in built.items()}
