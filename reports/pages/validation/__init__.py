"""The page of validation: claims and their verdicts, predicted against measured, published results, engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.validation import figures, tables
from reports.pages.validation.published import COST, THEOREM
from reports.template import Section, Table, render


def page(outcome: Mapping[str, Any]) -> str:
    """The outcome of `specsim report validation` as a self-contained HTML page.

    Parameters
    ----------
    outcome : mapping
        The parsed `validation.json`: `schema`, `result` with `answer`, `headline`, `claims`, `engines` and `frames`
        (`controls`, `predictions`, `bins`, `published`, `cases`), `assumptions`, `version`. What is empty, null or
        absent leaves its part out.

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
    >>> "<h1>All stand.</h1>" in page({"schema": 1, "result": {"answer": "All stand."}})
    True
    """
    return render_sections(sections(outcome), outcome)


def render_sections(parts: Sequence[Section], outcome: Mapping[str, Any]) -> str:
    """The page around sections that are made already."""
    result = cells.answered(outcome)
    return render(
        parts,
        title="Is it right? specsim report validation",
        answer=str(result["answer"]),
        kicker="specsim: predictions, claims and engines, checked",
        headline=cells.rows(result, "headline"),
        footer=f"specsim {outcome.get('version', '')}".strip(),
    )


def sections(outcome: Mapping[str, Any]) -> list[Section]:
    """What stands on the page, in reading order; empty parts are left out."""
    result = cells.answered(outcome)
    frames = result.get("frames") or {}
    return [section for section in _sections(outcome, result, frames) if section.filled]


def _sections(outcome: Row, result: Row, frames: Row) -> Iterator[Section]:
    yield Section(
        key="claims",
        title="Claims about the decoder",
        lead="Each claim was stated, tested on a running decoder, and tested again with faults planted, which it has "
        "to catch: a test that nothing fails proves nothing.",
        tables=[*tables.claims(result), *tables.controls(frames)],
        figures=list(figures.histograms(frames)),
        tables_first=True,
    )
    yield from _predictions(frames)
    published = cells.rows(frames, "published")
    yield Section(
        key="rounds",
        title="Published results: what a round costs",
        lead="Papers state tokens per round and speedups; their ratio is the cost of a round in passes of plain "
        "decoding, which the model predicts from the shapes of model, drafter and GPU alone.",
        figures=list(figures.costs(frames)),
        tables=_tables([row for row in published if row["quantity"] == COST]),
        pairs=True,
    )
    yield Section(
        key="theorem",
        title="Published results: one acceptance for all texts",
        lead="The founding paper's theorem, computed by the library from the acceptance and the cost that the paper "
        "states, against the speedups that it measured.",
        figures=list(figures.theorem(frames)),
        tables=_tables([row for row in published if row["quantity"] == THEOREM]),
        pairs=True,
    )
    yield Section(
        key="engines",
        title="Engines under test",
        lead="Released engines, decoding models whose laws are known exactly: every token was held against its law.",
        tables=[
            *tables.summary(result, frames),
            *(tables.engine(row, frames) for row in cells.rows(result, "engines")),
        ],
    )
    yield Section(
        key="faults",
        title="Faults of engines",
        lead="Found by these runs and confirmed by hand; each with the cases that show it.",
        texts=tables.texts(frames),
    )
    yield Section(
        key="assumptions", title="What it rests on", points=[str(one) for one in outcome.get("assumptions") or ()]
    )


def _predictions(frames: Row) -> Iterator[Section]:
    """A section for each claim that predicts."""
    rows = cells.rows(frames, "predictions")
    for number, claim in enumerate(dict.fromkeys(row["claim"] for row in rows), 1):
        mine = [row for row in rows if row["claim"] == claim]
        held = sum(bool(row["inside"]) for row in mine)
        yield Section(
            key=f"prediction{number}",
            title=f"Predicted, then measured: {str(claim).replace('_', ' ')}",
            lead=f"{held} of {len(mine)} stated intervals held.",
            figures=list(figures.predictions(frames, claim)),
            tables=_tables(mine),
            pairs=True,
        )


def _tables(rows: Sequence[Row]) -> list[Table]:
    return [*tables.errors(rows), *tables.numbers(rows, title="All numbers")]
