"""The page of a drafter report: which drafter, how deep, up to which batch, with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.drafters import figures, tables
from reports.template import Section, render

NEEDS = {
    "counts": "acceptance by depth: give what you counted as [counts.DRAFTER] in the scenario",
    "models": "other models: list some as beside in the scenario",
    "inputs": "what moves the speedup: there is no drafter to vary",
    "speedup_map": "maps of batch, depth and context: there is no drafter to show",
}
"""Frames that a scenario may leave empty, and what would fill them."""


def page(outcome: Mapping[str, Any], *, live: Section | None = None) -> str:
    """The outcome of `specsim report drafters` as a self-contained HTML page.

    Parameters
    ----------
    outcome : mapping
        The parsed `drafters.json`: `schema`, `inputs` (the scenario), `result` with `answer`, `headline`, `load`,
        `rejected` and `frames` (lists of rows by the names in `frames.FRAMES`), `assumptions`, `version`. A frame that
        is empty, null or absent leaves its picture out, and the page says so.
    live : Section, optional
        The live calculator.

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
    >>> "<h1>Speculate.</h1>" in page({"schema": 1, "result": {"answer": "Speculate."}})
    True
    """
    return render_sections(sections(outcome, live=live), outcome)


def render_sections(parts: Sequence[Section], outcome: Mapping[str, Any]) -> str:
    """The page around sections that are made already."""
    result = cells.answered(outcome)
    return render(
        parts,
        title="Which drafter? specsim report",
        answer=str(result["answer"]),
        kicker=str(result.get("load") or ""),
        headline=cells.rows(result, "headline"),
        footer=f"specsim {outcome.get('version', '')}".strip(),
    )


def sections(outcome: Mapping[str, Any], *, live: Section | None = None) -> list[Section]:
    """What stands on the page, in reading order; empty parts are left out."""
    result = cells.answered(outcome)
    whole = {**result, "frames": result.get("frames") or {}}
    parts = [*_sections(whole, outcome), *([] if live is None else [live]), *_ground(whole, outcome)]
    return [part for part in parts if part is live or part.filled]


def _sections(result: Row, outcome: Mapping[str, Any]) -> Iterator[Section]:
    frames, order = result["frames"], _order(result)
    yield Section(
        key="drafters",
        title="Which drafter",
        lead="All at the load above: how fast, how sure, up to which batch, at what price, and resting on what.",
        tables_first=True,
        tables=[*tables.ranking(result), *tables.rejected(result)],
        figures=[*figures.ranking(frames), *figures.pareto(frames, order=order)],
    )
    yield Section(
        key="batch",
        pairs=True,
        title="Up to which batch, and how deep",
        lead="Speculation spends arithmetic that would stand idle. The more sequences share a pass, the less is idle.",
        figures=[
            *figures.by_batch(frames, order=order),
            *figures.by_gamma(frames, order=order),
            *figures.by_batch_and_gamma(frames),
        ],
    )
    yield Section(
        key="acceptance",
        pairs=True,
        title="How many drafts stand",
        lead="γ is the number of drafted tokens of a round; τ the tokens that it adds to the text, the target's own "
        "bonus or correction token included.",
        figures=[*figures.acceptance(frames, order=order), *figures.tokens(frames), *figures.temperature(frames)],
    )
    yield Section(
        key="time",
        pairs=True,
        title="Where the time goes",
        lead="One pass over several tokens takes little longer than a pass over one, up to the ridge.",
        figures=[
            *figures.passes(frames),
            *figures.pass_parts(frames, ridge=_ridge(frames)),
            *figures.round_parts(frames),
        ],
    )
    yield Section(
        key="elsewhere",
        pairs=True,
        title="What would change the answer",
        lead="Other contexts, other models, and the inputs that one does not know well.",
        figures=[*_tornado(result), *figures.by_context(frames), *figures.by_model(frames)],
    )


def _ground(result: Row, outcome: Mapping[str, Any]) -> Iterator[Section]:
    frames = result["frames"]
    yield Section(
        key="assumptions",
        title="What it rests on",
        points=_points(result, outcome.get("assumptions") or ()),
        tables=[*tables.sources(result), *tables.settings(outcome.get("inputs") or {})],
    )
    lacking = [text for name, text in NEEDS.items() if frames and not frames.get(name)]
    yield Section(key="missing", title="Not shown", points=lacking)


def _points(result: Row, assumptions: Sequence[object]) -> list[str]:
    """Assumptions of the whole plan; those about one drafter's acceptance stand in the table of sources."""
    single = tuple(f"{row.get('method')}: " for row in cells.rows(result["frames"], "drafters"))
    return [text[:1].upper() + text[1:] for text in map(str, assumptions) if not text.startswith(single)]


def _tornado(result: Row) -> Iterator[figures.Figure]:
    rows = [row for row in cells.rows(result["frames"], "drafters") if row.get("gamma")]
    if rows:
        yield from figures.inputs(result["frames"], name=str(rows[0]["method"]), speedup=float(rows[0]["speedup"]))


def _ridge(frames: Row) -> float | None:
    found = [row["tokens"] for row in cells.rows(frames, "ridges") if row.get("law") == "calibrated"]
    return float(found[0]) if found else None


def _order(result: Row) -> list[str]:
    """Drafters in the order of their colours: those that pictures show, as ranked."""
    return list(dict.fromkeys(str(row.get("method")) for row in cells.rows(result["frames"], "speedup_by_batch")))
