"""The tables of validation; none when there is nothing to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.conformance.tables import verdict
from reports.pages.validation.outcome import findings
from reports.pages.validation.words import quantity
from reports.template import Column, Table, table

MOST_LINES = 500
"""Of a table that a reader may still look through."""
MARKS = {"passed": "✓", "failed": "✗", "inconclusive": "?"}


def claims(result: Row) -> Iterator[Table]:
    """The verdict of each claim on each device."""
    if rows := cells.rows(result, "claims"):
        devices = {row.get("device") for row in rows}
        models = sorted({str(row["model"]) for row in rows if row.get("model")})
        yield table(
            rows,
            Column("claim", _get("test"), number=False),
            *([Column("device", _get("device"), number=False)] if len(devices) > 1 else []),
            Column("verdict", _verdict, number=False),
            Column("faults caught", _caught),
            Column("p-value", lambda row: cells.small(row.get("pvalue"))),
            Column("n", lambda row: f"{cells.count(row.get('n'))}\N{NO-BREAK SPACE}{row.get('unit', '')}"),
            Column("would see a TV of", lambda row: cells.small(row.get("smallest_total_variation"))),
            Column("median error", lambda row: cells.percent(row.get("median_abs_error"))),
            Column("detail", _get("detail"), number=False),
            title="Every claim on every device",
            note="Faults are planted in the same run and have to be caught, else the claim is inconclusive. TV is the "
            "smallest total variation between the decoder's law and the target's that the run was sure to see. Median "
            f"errors are of numbers predicted before they were measured. Measured on: {'; '.join(models)}.",
        )


def controls(frames: Row) -> Iterator[Table]:
    """Every planted fault."""
    if rows := cells.rows(frames, "controls"):
        yield table(
            rows,
            Column("claim", _get("test"), number=False),
            Column("device", _get("device"), number=False),
            Column("planted fault", _get("fault"), number=False),
            Column("caught", lambda row: "✓" if row.get("caught") else "✗", number=False),
            Column("p-value", lambda row: cells.small(row.get("pvalue"))),
            Column("n", lambda row: cells.count(row.get("n"))),
            title="Planted faults",
            folded=True,
        )


def numbers(rows: Sequence[Row], *, title: str) -> Iterator[Table]:
    """Predicted and measured, line by line; of very many those that are farthest off."""
    if rows:
        shown = sorted(rows, key=lambda row: -abs(row["residual"]))[:MOST_LINES] if len(rows) > MOST_LINES else rows
        yield table(
            shown,
            Column("of", _get("series"), number=False),
            Column("setting", _get("setting"), number=False),
            Column("quantity", lambda row: quantity(str(row["quantity"])).what, number=False),
            Column("predicted", lambda row: _shown(row, "predicted", low="low", high="high")),
            Column("measured", lambda row: _shown(row, "measured")),
            Column("inside", lambda row: "✓" if row.get("inside") else "✗", number=False),
            Column("off by", lambda row: f"{100 * row['residual']:+.1f}\N{NO-BREAK SPACE}%"),
            *([Column("source", _get("source"), number=False)] if any("source" in row for row in rows) else []),
            title=title,
            folded=True,
            note=f"The {MOST_LINES} farthest off of {cells.count(len(rows))}; the frames beside the page have all."
            if len(rows) > MOST_LINES
            else "",
        )


def errors(rows: Sequence[Row]) -> Iterator[Table]:
    """How far off each series is."""
    if rows:
        yield table(
            [
                (name, [row for row in rows if row["series"] == name])
                for name in dict.fromkeys(row["series"] for row in rows)
            ],
            Column("of", lambda pair: str(pair[0]), number=False),
            Column("settings", lambda pair: cells.count(len(pair[1]))),
            Column("inside their interval", lambda pair: cells.count(sum(bool(row["inside"]) for row in pair[1]))),
            Column("median error", lambda pair: cells.percent(median(abs(row["residual"]) for row in pair[1]))),
            Column("median, with its sign", lambda pair: f"{100 * median(row['residual'] for row in pair[1]):+.1f} %"),
            title="How far off",
            note="Errors are measured over predicted, less 1: a plus means that more was measured.",
        )


def summary(result: Row, frames: Row) -> Iterator[Table]:
    """One line per engine."""
    cases = cells.rows(frames, "cases")
    if rows := cells.rows(result, "engines"):
        of = {str(row["engine"]): [case for case in cases if case["engine"] == row["engine"]] for row in rows}
        yield table(
            rows,
            Column("engine", _get("engine"), number=False),
            Column("runs", lambda row: cells.count(len(of[row["engine"]]))),
            Column("conform", lambda row: cells.count(_number(of[row["engine"]], "conforms"))),
            Column("do not conform", lambda row: cells.count(_number(of[row["engine"]], "does not conform"))),
            Column("crash", lambda row: cells.count(_number(of[row["engine"]], "crashes"))),
            Column("as expected", lambda row: cells.count(sum(bool(one["as_expected"]) for one in of[row["engine"]]))),
            Column("faults confirmed", lambda row: cells.count(len(findings(of[row["engine"]])))),
            Column("versions", lambda row: _versions(row["versions"]), number=False),
            title="Engines",
            note="Runs that are lossy on purpose, and those that show a confirmed fault, are expected not to conform.",
        )


def engine(row: Row, frames: Row) -> Table:
    """Every run of one engine."""
    return table(
        [case for case in cells.rows(frames, "cases") if case["engine"] == row["engine"]],
        Column("case", _get("case"), number=False),
        Column("rule", _get("rule"), number=False),
        Column("temperature", lambda case: cells.NOTHING if case.get("temperature") is None else _plain(case)),
        Column("γ", lambda case: cells.count(case.get("gamma"))),
        Column("verdict", verdict, number=False),
        Column("as expected", lambda case: "✓" if case.get("as_expected") else "✗", number=False),
        Column("tokens", lambda case: cells.count(case.get("tokens"))),
        Column("would have caught a TV of", lambda case: cells.small(_sight(case))),
        Column("why", _get("hypothesis"), number=False),
        title=f"{row['engine']}, {_versions(row['versions'])}",
        folded=True,
    )


def texts(frames: Row) -> list[Row]:
    """Confirmed faults, each with the cases that show it."""
    return [
        {"tag": name, "prompt": "; ".join(cases), "text": text}
        for (name, text), cases in findings(cells.rows(frames, "cases")).items()
    ]


def _get(key: str) -> Any:
    return lambda row: cells.NOTHING if row.get(key) in (None, "") else str(row[key])


def _verdict(row: Row) -> str:
    return f"{MARKS.get(str(row['verdict']), '✗')}\N{NO-BREAK SPACE}{row['verdict']}"


def _caught(row: Row) -> str:
    found = row.get("controls") or []
    return f"{sum(bool(control['caught']) for control in found)} of {len(found)}" if found else cells.NOTHING


def _shown(row: Row, name: str, **ends: str) -> str:
    words = quantity(str(row["quantity"]))
    text = cells.interval(row, name, lambda value: cells.figure(value * words.scale), **ends)
    return f"{text}\N{NO-BREAK SPACE}{words.unit}".strip()


def _number(cases: Sequence[Row], outcome: str) -> int:
    return sum(case["verdict"] == outcome for case in cases)


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _plain(case: Row) -> str:
    return f"{case['temperature']:g}"


def _sight(case: Row) -> float | None:
    """Nothing where the run was sure of no fault."""
    smallest = case.get("smallest_tv")
    return smallest if smallest is not None and smallest < 1 else None
