"""The page of a conformance run: the verdict, the bets as they went, histograms and scores, and what shows a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.conformance import figures
from reports.template import Column, Section, render, table


def page(outcome: Mapping[str, Any]) -> str:
    """The outcome of `specsim conform` as a self-contained HTML page.

    Parameters
    ----------
    outcome : mapping
        The parsed `--json` object: `schema`, `inputs`, `result`, `version`; `result` as of
        `specsim.conformance.report.picture`.

    Returns
    -------
    str
        HTML that opens from disk without a network.

    Raises
    ------
    InputError
        Another schema, no answer, or rows that lack a column, by name.

    Examples
    --------
    >>> "<h1>conforms after 4000 tokens</h1>" in page({"schema": 1, "result": {"answer": "conforms after 4000 tokens"}})
    True
    """
    result = cells.answered(outcome)
    return render(
        [section for section in _sections(outcome, result) if section.filled],
        title="Is this decoder lossless? specsim conform",
        answer=str(result["answer"]),
        kicker=str((outcome.get("inputs") or {}).get("source", "")),
        headline=_headline(result),
        footer=f"specsim {outcome.get('version', '')}".strip(),
    )


def _headline(result: Row) -> list[Row]:
    shown = (
        ("tokens", "tokens", cells.count),
        ("texts", "requests", cells.count),
        ("smallest total variation caught with probability 0.99", "smallest_tv", cells.figure),
        ("false-alarm rate of the run", "level", cells.small),
    )
    return [
        {"label": label, "value": show(result[name])} for label, name, show in shown if result.get(name) is not None
    ]


def _sections(outcome: Row, result: Row) -> Iterator[Section]:
    yield Section(
        key="replays",
        title="Requests that show it",
        tables=[
            table(
                cells.rows(result, "replays"),
                Column("request", lambda row: str(row.get("request", "")), number=False),
                Column("kind", lambda row: str(row.get("tags", "")), number=False),
                Column("place", lambda row: cells.count(row.get("place"))),
                Column("token", lambda row: str(row.get("token", ""))),
                Column("why", lambda row: str(row.get("why", "")), number=False),
                title="Where to look first",
            )
        ]
        if cells.rows(result, "replays")
        else [],
    )
    yield Section(
        key="bets",
        title="The bets as they went",
        lead="A gambler who bets against the decoder cannot get rich if it is lossless, whenever one looks.",
        figures=list(figures.bets(result)),
    )
    yield Section(
        key="pit",
        title="Uniform or not",
        lead="If every token follows the target's law, these histograms are flat, in every group.",
        figures=list(figures.histograms(result)),
    )
    yield Section(
        key="scores",
        title="Which way it leans",
        lead="Each direction stands for a cause: output that looks like the draft's law, another temperature, "
        "a row that is off by one.",
        figures=list(figures.scores(result)),
    )
    yield Section(key="tests", title="All tests", tables=list(_tests(result)))
    yield Section(key="assumptions", title="Assumptions", points=[str(one) for one in outcome.get("assumptions") or ()])


def _tests(result: Row) -> Iterator[Any]:
    rows = cells.rows(result, "tests")
    if rows:
        yield table(
            rows,
            Column("test", lambda row: str(row.get("test", "")), number=False),
            Column("adjusted p", lambda row: cells.small(row.get("pvalue"))),
            Column("tokens", lambda row: cells.count(row.get("n"))),
            title="p-values, adjusted over all tests and looks",
            folded=True,
        )
