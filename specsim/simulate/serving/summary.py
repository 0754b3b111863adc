"""What a run says: percentiles of latencies, throughput, promises kept, and how the server fared over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.simulate.serving.engine import Served

LATENCIES = ("first_token", "per_token", "request")
QUANTILES = (0.5, 0.95, 0.99)
EDGE = 0.1
"""Of the requests at either end that are left out: the server is filling up, or running empty [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """What a request is promised.

    Parameters
    ----------
    first_token_seconds : float
        From its arrival to its first token, at most [s].
    per_token_seconds : float
        For every further token on average, at most [s].

    Examples
    --------
    >>> Promise(first_token_seconds=1.0, per_token_seconds=0.05).per_token_seconds
    0.05
    """

    first_token_seconds: float
    per_token_seconds: float

    def __post_init__(self) -> None:
        checks.positive("first_token_seconds", self.first_token_seconds)
        checks.positive("per_token_seconds", self.per_token_seconds)

    def kept(self, requests: pd.DataFrame) -> float:
        """Share of requests to whom it was kept [1].

        Examples
        --------
        >>> rows = pd.DataFrame({"first_token_seconds": [0.5, 2.0], "per_token_seconds": [0.01, 0.01]})
        >>> Promise(first_token_seconds=1.0, per_token_seconds=0.05).kept(rows)
        0.5
        """
        soon = requests["first_token_seconds"] <= self.first_token_seconds
        fast = ~(requests["per_token_seconds"] > self.per_token_seconds)  # one token alone is fast enough
        return float((soon & fast).mean())


def measured(served: Served) -> pd.DataFrame:
    """The requests in the middle of a run: without the tenth that came first, and the tenth that came last."""
    count = len(served.requests)
    return served.requests.iloc[int(EDGE * count) : max(int((1 - EDGE) * count), int(EDGE * count) + 1)]


def latencies(served: Served) -> Iterator[dict[str, Any]]:
    """Rows of `latency` (name), `quantile` [1] and `seconds` [s], of the requests that are measured.

    `first_token` is the time to the first token, `per_token` that for each further one, `request` that from arrival to
    the end.
    """
    rows = measured(served)
    for latency in LATENCIES:
        values = rows[f"{latency}_seconds"].dropna().to_numpy()
        if len(values):
            for quantile, seconds in zip(QUANTILES, np.quantile(values, QUANTILES), strict=True):
                yield {"latency": latency, "quantile": quantile, "seconds": float(seconds)}


def totals(served: Served, promise: Promise) -> dict[str, float]:
    """Means over the middle of a run, while the requests that are measured arrived.

    Returns
    -------
    dict
        `batch` (that decode, while any does), `gamma` (of their rounds), `tokens_per_second`,
        `user_tokens_per_second` (of the median request; missing where none has a second token), `cache_share` (at its
        fullest), `preemptions` (in all), `kept` (share of requests), all [1] or [tokens/s].
    """
    rows, steps = measured(served), served.steps
    start, end = float(rows["arrival_seconds"].iloc[0]), float(rows["finish_seconds"].max())
    last = float(rows["arrival_seconds"].iloc[-1])
    end = last if last > start else end  # all at once: until they are done
    inside = _inside(steps, start, end)
    rounds = inside * (steps["batch"] > 0).to_numpy()
    return {
        "batch": _mean(steps["batch"], rounds),
        "gamma": _mean(steps["gamma"], rounds),
        "tokens_per_second": float((steps["made"] * inside / steps["seconds"]).sum() / (end - start)),
        "user_tokens_per_second": float(1 / rows["per_token_seconds"].median()),
        "cache_share": float(steps["cache_share"].max()),
        "preemptions": int(served.requests["preemptions"].sum()),
        "kept": promise.kept(rows),
    }


def over_time(served: Served, *, bins: int = 120) -> pd.DataFrame:
    """A run in equal spans of time, each with its means.

    Parameters
    ----------
    served : Served
        The run.
    bins : int
        Spans [1].

    Returns
    -------
    pandas.DataFrame
        `seconds` (middle of the span, from the start of the run), `batch`, `waiting`, `cache_share` (0 while nothing
        runs), `gamma` (of the rounds; missing where there was none).

    Notes
    -----
    Means over time, exact: every quantity is constant during a step.
    """
    steps = served.steps
    edges = np.linspace(0.0, float(served.requests["finish_seconds"].max()), checks.integer("bins", bins, low=1) + 1)
    if not len(steps):
        raise InputError("steps must have one row at least, got none")
    width = edges[1] - edges[0]
    decodes = (steps["batch"] > 0).to_numpy()
    frame = {name: _integral(steps, name, edges) / width for name in ("batch", "waiting", "cache_share")}
    asked = _integral(steps.assign(gamma=steps["gamma"] * decodes), "gamma", edges)
    decoding = _integral(steps.assign(decodes=decodes.astype(float)), "decodes", edges)
    gamma = np.divide(asked, decoding, out=np.full(len(asked), np.nan), where=decoding > 1e-9 * width)
    return pd.DataFrame({"seconds": edges[:-1] + width / 2, **frame, "gamma": gamma})


def _integral(steps: pd.DataFrame, name: str, edges: FloatArray) -> FloatArray:
    """Of a quantity over each span between edges."""
    seconds = steps["seconds"].to_numpy()
    grown = np.cumsum(steps[name].to_numpy() * seconds)
    starts = steps["start_seconds"].to_numpy()
    times = np.column_stack((starts, starts + seconds)).ravel()
    values = np.column_stack((np.concatenate(([0.0], grown[:-1])), grown)).ravel()
    return np.asarray(np.diff(np.interp(edges, times, values, left=0.0)))


def _inside(steps: pd.DataFrame, start: float, end: float) -> FloatArray:
    """Seconds of each step between two times [s]."""
    begun = steps["start_seconds"].to_numpy()
    ended = begun + steps["seconds"].to_numpy()
    return np.asarray(np.maximum(0.0, np.minimum(ended, end) - np.maximum(begun, start)))


def _mean(values: pd.Series[Any], weights: FloatArray) -> float:
    return float(np.average(values, weights=weights)) if weights.any() else 0.0
