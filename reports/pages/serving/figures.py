"""The pictures of a serving study, each with the sentence that says what to see; none without rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports import cells
from reports.cells import Row, frame
from reports.template import Figure, figure
from specsim import charts

SEE = {
    "first_token": "A first token waits for a place in the server, and for its prompt. Where the line jumps, requests "
    "pile up faster than they are answered.",
    "per_token": "What a reader feels as speed: the time between two tokens, averaged over a request.",
    "request": "From arrival to the last token: the wait, the prompt, and all tokens of the answer.",
}
PROMISED = {"first_token": "first_token_seconds", "per_token": "per_token_seconds"}
COURSES = {
    "gamma": "A fixed depth stays; goodput gives drafts up while the server is full, and takes them up again.",
    "batch": "The sooner requests are answered, the fewer run at once: speculation makes its own room. At the largest "
    "batch allowed, others have to wait.",
    "cache_share": "At 100 % there is no room for another request, and whoever came last may have to begin again.",
    "waiting": "A queue that comes and goes is a busy moment; one that only grows is a load too high.",
}
MOST_ROWS = 2000
"""Of a frame, before neighbours are averaged."""


def kept(frames: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Promises kept against load."""
    rows = frame(frames, "loads", text=["policy"], numbers=["requests_per_second", "kept_requests_per_second", "kept"])
    if len(rows):
        yield figure(
            charts.kept_by_load(rows, order=order),
            see="On the dashed diagonal every request is answered as promised. A line that falls off it has met its "
            "limit: more load then means fewer kept promises.",
        )


def speeds(frames: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Throughput against speed per user."""
    numbers = ["requests_per_second", "batch", "gamma", "user_tokens_per_second", "tokens_per_second"]
    rows = frame(frames, "loads", text=["policy"], numbers=numbers)
    if len(rows):
        yield figure(
            charts.throughput_by_user_speed(rows, order=order, title="What the server gives, and what each user gets"),
            see="Each point is a load; follow a line to the upper left as it grows. Of two lines the one further to "
            "the right serves the same load faster.",
        )


def latencies(frames: Row, promise: Row, *, order: Sequence[str]) -> Iterator[Figure]:
    """Percentiles of each latency against load."""
    numbers = ["requests_per_second", "quantile", "seconds"]
    rows = frame(frames, "latencies", text=["policy", "latency"], numbers=numbers)
    for latency, see in SEE.items():
        if (rows["latency"] == latency).any():
            promised = promise.get(PROMISED.get(latency, ""))
            chart = charts.latency_by_load(rows, latency=latency, promise_seconds=promised, order=order)
            yield figure(chart, see=see)


def timelines(frames: Row, *, rate: float, order: Sequence[str]) -> Iterator[Figure]:
    """The course of a run at one load."""
    whole = frame(frames, "timelines", text=["policy"], numbers=["requests_per_second", "seconds"])
    rows = whole[whole["requests_per_second"] == rate]
    for quantity, see in COURSES.items():
        if quantity in rows and rows[quantity].notna().any():
            thin = cells.thinned(
                rows[["policy", "seconds", quantity]].astype({quantity: float}),
                by=["policy"],
                along="seconds",
                most=MOST_ROWS,
            )
            yield figure(charts.serving_over_time(thin, quantity=quantity, order=order), see=see)
