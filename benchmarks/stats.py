"""Milliseconds per token of each conformance statistic: `OMP_NUM_THREADS=1 python -m benchmarks.stats`.

The aim: the full battery under 1 ms per token at a current vocabulary, so that the decoder is the bottleneck.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

import click
import numpy as np

from benchmarks.timing import median_interval, options
from specsim import stats
from specsim.checks import FloatArray
from specsim.cli.output import emit, envelope, table
from specsim.distributions import sample, softmax
from specsim.units import significant

VOCABULARY = 152_064
LAGS = 7
NOTES = (
    "'observe' checks whole float32 rows of log p and log q and cuts them to cells; everything else works on cells",
    "logits N(0, 3^2), of the draft with N(0, 1) added; seconds of one processor",
)


def rows(tokens: int, vocabulary: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logarithms of p and q (tokens, vocabulary) in float32 and the tokens drawn."""
    rng = np.random.default_rng(0)
    log_p, log_q = (np.empty((tokens, vocabulary), dtype=np.float32) for _ in range(2))
    drawn = np.empty(tokens, dtype=np.int64)
    for i in range(tokens):
        logits = rng.normal(scale=3.0, size=vocabulary)
        p, q = softmax(logits), softmax(logits + rng.standard_normal(vocabulary))
        drawn[i] = sample(p, rng.random())
        log_p[i], log_q[i] = np.log(p), np.log(q)
    return log_p, log_q, drawn


def battery(log_p: FloatArray, log_q: FloatArray, drawn: FloatArray) -> dict[str, Callable[[], object]]:
    """What a run computes, part by part."""
    rng = np.random.default_rng(1)
    seen = np.zeros(log_p.shape, dtype=np.bool_)
    for i in range(1, len(drawn)):
        seen[i] = seen[i - 1]
        seen[i, drawn[i - 1]] = True
    before = np.roll(log_p, 1, axis=0)

    def observe() -> stats.Observed:
        return stats.observe(drawn, log_p=log_p, log_q=log_q, log_previous=before, seen=seen)

    observed = observe()
    u = {order: stats.pit_values(observed, order=order, rng=rng) for order in stats.ORDERS}
    requests = np.arange(drawn.size) // 64

    def pit() -> None:
        for order in stats.ORDERS:
            stats.pit_values(observed, order=order, rng=rng)

    def uniform() -> None:
        for values in u.values():
            stats.anderson_darling(values)
            stats.strata(values, requests % 5)

    def pairs() -> None:
        for values in u.values():
            for lag in range(1, LAGS + 1):
                stats.pairs(*stats.within(values, requests, lag=lag))
            stats.pairs(*stats.across(values, requests))

    return {
        "observe": observe,
        "support": lambda: stats.support(observed.mass),
        "PIT, three orders": pit,
        "Anderson-Darling, all and by stratum": uniform,
        f"pairs, lags 1 to {LAGS} and across requests": pairs,
        "directional scores (11)": lambda: stats.directional_scores(observed),
        "betting (54)": lambda: stats.BettingProcess().update(observed).result(),
    }


def cpu_seconds(tasks: Mapping[str, Callable[[], object]], *, repeats: int) -> dict[str, list[float]]:
    """Seconds of the processor per task and repeat, after one that is not counted; other programs do not show."""
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            if repeat:
                taken[name].append(time.process_time() - start)
    return taken


@click.command()
@click.option("--tokens", type=click.IntRange(min=256), default=512, show_default=True)
@click.option("--vocabulary", type=click.IntRange(min=8), default=VOCABULARY, show_default=True)
@options
def main(tokens: int, vocabulary: int, repeats: int, as_json: bool) -> None:
    """Milliseconds per token of each conformance statistic."""
    seconds = cpu_seconds(battery(*rows(tokens, vocabulary)), repeats=repeats)
    inputs = {"tokens": tokens, "vocabulary": vocabulary, "repeats": repeats}
    each = {name: [second / tokens for second in taken] for name, taken in seconds.items()}
    each["total"] = [sum(taken) for taken in zip(*each.values(), strict=True)]
    emit(
        envelope("benchmarks.stats", inputs=inputs, result=_result(each), assumptions=NOTES),
        as_json=as_json,
        tables=[table(["what", "ms per token", "95%"], _cells(each)), *NOTES],
    )


def _result(each: Mapping[str, list[float]]) -> dict[str, object]:
    medians = {name: float(np.median(taken)) for name, taken in each.items()}
    return {"seconds_per_token": medians, "cores": os.cpu_count(), "numpy": np.__version__}


def _cells(each: Mapping[str, list[float]]) -> list[tuple[str, ...]]:
    cells = []
    for name, taken in each.items():
        low, high = median_interval(np.array(taken) * 1e3)
        cells.append((name, significant(float(np.median(taken)) * 1e3), f"{significant(low)}..{significant(high)}"))
    return cells


if __name__ == "__main__":
    main()
