"""The tables of conformance runs: their verdicts, the requests that show a fault, and all tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reports import cells
from reports.cells import Row
from reports.template import Column, Table, table

VERDICTS = {
    "conforms": "✓\N{NO-BREAK SPACE}conforms",
    "does not conform": "✗\N{NO-BREAK SPACE}does not conform",
    "inconclusive": "?\N{NO-BREAK SPACE}inconclusive",
    "crashes": "✗\N{NO-BREAK SPACE}crashes",
}


def verdict(row: Row) -> str:
    """A verdict with its mark.

    Examples
    --------
    >>> verdict({"outcome": "inconclusive"})[0], verdict({})
    ('?', '–')
    """
    found = row.get("outcome") or row.get("verdict")
    return VERDICTS.get(str(found), str(found)) if found else cells.NOTHING


def verdicts(named: Mapping[str, Row]) -> Table:
    """One line per run."""
    return table(
        named.items(),
        Column("run", lambda pair: pair[0], number=False),
        Column("verdict", lambda pair: verdict(pair[1]), number=False),
        Column("tokens", lambda pair: cells.count(pair[1].get("tokens"))),
        Column("requests", lambda pair: cells.count(pair[1].get("requests"))),
        Column("would have caught a TV of", lambda pair: cells.figure(pair[1].get("smallest_tv"))),
        Column("what it says", lambda pair: str(pair[1].get("hypothesis") or pair[1]["answer"]), number=False),
        title="Runs side by side",
        note="TV is the total variation between the decoder's law and the target's, a mean over tokens: 0 is lossless. "
        "The column gives the smallest that the run would have caught with probability 0.99.",
    )


def replays(result: Row) -> Iterator[Table]:
    """Requests to ask again."""
    if rows := cells.rows(result, "replays"):
        yield table(
            rows,
            Column("request", lambda row: str(row.get("request", "")), number=False),
            Column("kind", lambda row: str(row.get("tags", "")), number=False),
            Column("place", lambda row: cells.count(row.get("place"))),
            Column("token", lambda row: str(row.get("token", ""))),
            Column("why", lambda row: str(row.get("why", "")), number=False),
            title="Where to look first",
        )


def tests(result: Row) -> Iterator[Table]:
    """All p-values; two samples keep theirs by name."""
    if rows := _tests(result):
        yield table(
            rows,
            Column("test", lambda row: str(row.get("test", "")), number=False),
            Column("adjusted p", lambda row: cells.small(row.get("pvalue"))),
            Column("tokens", lambda row: cells.count(row.get("n"))),
            title="p-values, adjusted over all tests and looks",
            folded=True,
        )


def _tests(result: Row) -> Sequence[Row]:
    found = result.get("tests")
    if isinstance(found, Mapping):
        return [{**row, "test": name} for name, row in found.items() if isinstance(row, Mapping)]
    return cells.rows(result, "tests")
