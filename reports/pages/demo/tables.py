"""The tables, texts and lists of the demo's page; none when there is nothing to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports import cells
from reports.cells import Row, interval, percent, seconds
from reports.template import Column, Table, table

NAMES = {"tau": "tokens per round, τ", "round_seconds": "time of one round", "speedup": "speedup"}
VERDICTS = {"passed": "✓\N{NO-BREAK SPACE}passed", "inconclusive": "?\N{NO-BREAK SPACE}inconclusive"}


def errors(result: Row) -> Iterator[Table]:
    """How far the held-out predictions were from what was then measured."""
    if rows := cells.rows(result, "errors"):
        yield table(
            rows,
            Column("quantity", lambda row: NAMES.get(row["quantity"], str(row["quantity"])), number=False),
            Column(
                "median error (interval)",
                lambda row: interval(row, "median_absolute_error", percent, low="low", high="high"),
            ),
            Column("measured inside the predicted interval", _inside),
            title="Error of the held-out predictions",
            note="Errors are relative to the measured value, without sign.",
        )


def predictions(result: Row) -> Iterator[Table]:
    """The numbers behind the pictures."""
    if rows := cells.rows(result, "predictions"):
        yield table(
            rows,
            Column("drafter", _get("proposer"), number=False),
            Column("γ", lambda row: cells.count(row.get("gamma"))),
            Column("held out", lambda row: "yes" if row.get("held_out") else "no", number=False),
            Column("τ predicted", lambda row: interval(row, "tau_predicted")),
            Column("τ measured", lambda row: interval(row, "tau_measured")),
            Column("round predicted", lambda row: interval(row, "round_seconds_predicted", seconds)),
            Column("round measured", lambda row: interval(row, "round_seconds_measured", seconds)),
            Column("speedup predicted", lambda row: interval(row, "speedup_predicted")),
            Column("speedup measured", lambda row: interval(row, "speedup_measured")),
            title="All numbers",
            folded=True,
        )


def lossless(result: Row) -> Iterator[Table]:
    """The verdict of each test."""
    if rows := cells.rows(result, "lossless"):
        yield table(
            rows,
            Column("test", _get("test"), number=False),
            Column("model", _get("model"), number=False),
            Column("samples", lambda row: cells.count(row.get("n"))),
            Column("p-value", lambda row: cells.small(row.get("pvalue"))),
            Column(
                "verdict", lambda row: VERDICTS.get(str(row.get("verdict")), "✗\N{NO-BREAK SPACE}failed"), number=False
            ),
            Column("planted faults caught", _caught),
            Column("would see a TV of", lambda row: cells.small(row.get("smallest_total_variation"))),
            Column("detail", _get("detail"), number=False),
            title="Losslessness tests",
            note="TV is the total variation distance between the decoder's law and the model's: 0 is lossless. The "
            "column gives the smallest one that the test would have seen. Inconclusive means that a fault planted in "
            "the same run was not seen either.",
        )


def _caught(row: Row) -> str:
    """How many of the faults planted in the same run were seen."""
    controls = row.get("controls") or []
    return f"{sum(bool(control['caught']) for control in controls)} of {len(controls)}" if controls else cells.NOTHING


def numerics(result: Row) -> Iterator[Table]:
    """What number formats do to the model's own probabilities."""
    if rows := cells.rows(result, "numerics"):
        yield table(
            rows,
            Column("number format", _get("dtype"), number=False),
            Column("total variation", lambda row: cells.small(row.get("total_variation"))),
            Column("positions", lambda row: cells.count(row.get("n"))),
            title="One token at a time against several at once",
            note="Rounding alone moves the model's probabilities between a pass over one token and a pass over many; "
            "no verification rule can undo that.",
        )


def crossover(result: Row) -> Iterator[Table]:
    """The largest batch that gains, per placement."""
    if rows := cells.rows(result, "crossover"):
        yield table(
            rows,
            Column("GPU", _get("hardware"), number=False),
            Column("model", _get("model"), number=False),
            Column("drafter", _get("proposer"), number=False),
            Column("γ", lambda row: cells.count(row.get("gamma"))),
            Column("efficiency", _get("efficiency"), number=False),
            Column("best speedup", lambda row: cells.figure(row.get("best_speedup"))),
            Column("gains up to batch", _crossing),
            title="Crossover batch sizes",
            folded=len(rows) > 8,
        )


def texts(result: Row) -> list[Row]:
    """Sample texts, with a line that says where each came from."""
    return [
        {"tag": _tag(row), "prompt": row.get("prompt", ""), "text": row.get("text", "")}
        for row in cells.rows(result, "texts")
    ]


def points(assumptions: object) -> list[str]:
    """Assumptions as sentences, whether they come as a list, as names with values, or as one text."""
    if isinstance(assumptions, Mapping):
        return [f"{name}: {value}" for name, value in assumptions.items()]
    if isinstance(assumptions, str):
        return [assumptions]
    return [str(point) for point in assumptions] if isinstance(assumptions, list) else []


def machine(outcome: Row, result: Row) -> Iterator[Table]:
    """What the numbers were measured on, and with which settings."""
    for title, pairs in (("Machine", result.get("device")), ("Settings", outcome.get("inputs"))):
        if pairs:
            yield table(
                pairs.items(),
                Column("name", lambda pair: str(pair[0]).replace("_", " "), number=False),
                Column("value", lambda pair: _plain(pair[1]), number=False),
                title=title,
            )


def _get(key: str) -> Any:
    return lambda row: cells.NOTHING if row.get(key) in (None, "") else str(row[key])


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else cells.NOTHING if value is None else str(value)


def _inside(row: Row) -> str:
    inside, n = row.get("inside_interval"), row.get("n")
    if cells.missing(inside):
        return cells.NOTHING
    if isinstance(inside, float) and inside <= 1:
        return f"{percent(inside)} of {n}"
    return f"{inside:.0f} of {n}"


def _crossing(row: Row) -> str:
    batch = row.get("crossover_batch")
    if cells.missing(batch):
        return "every batch tried"
    return cells.count(batch) if float(str(batch)) >= 1 else "none"


def _tag(row: Row) -> str:
    counts = f"{row['tokens']} tokens in {row['rounds']} rounds" if {"tokens", "rounds"} <= set(row) else None
    return " · ".join(str(part) for part in (row.get("kind"), row.get("proposer"), counts) if part)
