"""The page of conformance runs: verdicts, the bets as they went, histograms and counts, and what would be caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.conformance import figures, tables
from reports.template import Section, render


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
        sections(outcome),
        title="Is this decoder lossless? specsim conform",
        answer=str(result["answer"]),
        kicker=source(outcome),
        headline=_headline(result),
        footer=_footer(outcome),
    )


def page_of_runs(named: Mapping[str, Mapping[str, Any]]) -> str:
    """Several outcomes on one page: the verdicts side by side, then each run.

    Parameters
    ----------
    named : mapping of str to mapping
        Outcomes as of `page`, at least one, by the name that readers know the run by.

    Raises
    ------
    InputError
        As of `page`.

    Examples
    --------
    >>> runs = {name: {"schema": 1, "result": {"answer": "yes", "outcome": "conforms"}} for name in ("one", "two")}
    >>> "<h1>2 of 2 runs conform.</h1>" in page_of_runs(runs)
    True
    """
    results = {name: cells.answered(outcome) for name, outcome in named.items()}
    return render(
        [Section(key="verdicts", title="Verdicts", tables=[tables.verdicts(results)]), *_of_runs(named)],
        title="Are these decoders lossless? specsim conform",
        answer=answer_of_runs(results),
        footer=_footer(next(iter(named.values()))),
    )


def answer_of_runs(results: Mapping[str, Row]) -> str:
    """How many conform, and how the others end.

    Examples
    --------
    >>> answer_of_runs({"a": {"outcome": "conforms"}, "b": {"outcome": "inconclusive"}})
    '1 of 2 runs conform; 1 inconclusive.'
    """
    found = Counter(str(result.get("outcome") or "without a verdict") for result in results.values())
    conform = found.pop("conforms", 0)
    others = "".join(f"; {number} {outcome}" for outcome, number in found.items())
    return f"{conform} of {len(results)} runs conform{others}."


def sections(outcome: Mapping[str, Any], *, key: str = "", name: str = "") -> list[Section]:
    """What stands on the page of a run, in reading order; empty parts are left out.

    `key` begins the sections' addresses, and `name` their titles, where several runs share a page.
    """
    result = cells.answered(outcome)
    return [section for section in _sections(outcome, result, key, f"{name}: " if name else "") if section.filled]


def source(outcome: Mapping[str, Any]) -> str:
    """What was tested."""
    return str((outcome.get("inputs") or {}).get("source", ""))


def _of_runs(named: Mapping[str, Mapping[str, Any]]) -> Iterator[Section]:
    for number, (name, outcome) in enumerate(named.items(), 1):
        yield from sections(outcome, key=f"run{number}-", name=name)


def _headline(result: Row) -> list[Row]:
    shown = (
        ("tokens", "tokens", cells.count),
        ("requests", "requests", cells.count),
        ("smallest total variation caught with probability 0.99", "smallest_tv", cells.figure),
        ("false-alarm rate of the run", "level", cells.small),
    )
    return [
        {"label": label, "value": show(result[name])} for label, name, show in shown if result.get(name) is not None
    ]


def _sections(outcome: Row, result: Row, key: str, name: str) -> Iterator[Section]:
    yield Section(key=f"{key}replays", title=f"{name}Requests that show it", tables=list(tables.replays(result)))
    yield Section(
        key=f"{key}bets",
        title=f"{name}The bets as they went",
        lead="A gambler who bets against the decoder cannot get rich if it is lossless, whenever one looks. How small "
        "a fault would have made him rich is the power of the run.",
        figures=[*figures.bets(result), *figures.power(result)],
    )
    yield Section(
        key=f"{key}pit",
        title=f"{name}Uniform or not",
        lead="If every token follows the target's law, these histograms are flat, in every group.",
        figures=list(figures.histograms(result)),
    )
    yield Section(
        key=f"{key}scores",
        title=f"{name}Which way it leans",
        lead="Each direction stands for a cause: output that looks like the draft's law, another temperature, "
        "a row that is off by one.",
        figures=[*figures.counts(result), *figures.scores(result)],
    )
    yield Section(key=f"{key}tests", title=f"{name}All tests", tables=list(tables.tests(result)))
    yield Section(key=f"{key}assumptions", title=f"{name}Assumptions", points=_points(outcome.get("assumptions")))


def _points(assumptions: Sequence[object] | None) -> list[str]:
    return [str(one) for one in assumptions or ()]


def _footer(outcome: Mapping[str, Any]) -> str:
    return f"specsim {outcome.get('version', '')}".strip()
