"""The tables of a serving study: all numbers, and the settings behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports import cells
from reports.cells import Row
from reports.template import Column, Table, table
from specsim.cli.serving_study import percentiles
from specsim.units import percent, significant

TIMES = {"first_token": "first token", "per_token": "per token", "request": "request"}


def rate(most: Any) -> str:
    """A load that is kept, or that none is.

    Examples
    --------
    >>> rate(21.0), rate(None)
    ('21 requests/s', 'none of these loads')
    """
    return "none of these loads" if most is None else f"{significant(float(most), digits=2)} requests/s"


def loads(frames: Row) -> Iterator[Table]:
    """A row for each load and policy."""
    numbers = ["requests_per_second", "gamma", "batch", "tokens_per_second", "kept", "cache_share", "preemptions"]
    rows = cells.frame(frames, "loads", text=["policy"], numbers=numbers).to_dict("records")
    if not rows:
        return
    times = _times(frames)
    yield table(
        rows,
        Column("requests/s", lambda row: significant(row["requests_per_second"], digits=2)),
        Column("drafting", lambda row: str(row["policy"]).replace(" ", "\N{NO-BREAK SPACE}"), number=False),
        Column("mean γ", lambda row: significant(row["gamma"], digits=2)),
        Column("mean batch", lambda row: cells.figure(row["batch"])),
        Column("tokens/s", lambda row: cells.count(row["tokens_per_second"])),
        *(Column(words, _cell(times, latency)) for latency, words in TIMES.items()),
        Column("as promised", lambda row: percent(row["kept"], digits=0)),
        Column("cache", lambda row: percent(row["cache_share"], digits=0)),
        Column("preempted", lambda row: cells.count(row["preemptions"])),
        title="Every load and policy",
        folded=True,
        note="Times are the 50th, 95th and 99th percentile. γ and batch are means over the time in which anything "
        "decodes; tokens/s is of all requests together; cache is the largest share of its room.",
    )


def settings(inputs: Row) -> Iterator[Table]:
    """What was asked for."""
    given = {key: value for key, value in inputs.items() if value not in (None, [], {}, False)}
    if given:
        yield table(
            given.items(),
            Column("name", lambda pair: str(pair[0]).replace("_", " "), number=False),
            Column("value", lambda pair: _plain(pair[1]), number=False),
            title="Settings",
            folded=True,
        )


def _times(frames: Row) -> Mapping[tuple[Any, ...], list[float]]:
    """Seconds by percentile of each policy, load and latency."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for row in cells.rows(frames, "latencies"):
        found.setdefault((row["policy"], row["requests_per_second"], row["latency"]), []).append(row["seconds"])
    return found


def _cell(times: Mapping[tuple[Any, ...], list[float]], latency: str) -> Any:
    def cell(row: Row) -> str:
        found = times.get((row["policy"], row["requests_per_second"], latency), [])
        return percentiles(found).replace(" ", "\N{NO-BREAK SPACE}")

    return cell


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
