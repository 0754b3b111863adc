"""The page of a serving study: latencies under load with and without speculation, and how the server fared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.serving import figures, tables
from reports.template import Section, render
from specsim.units import significant


def page(outcome: Mapping[str, Any]) -> str:
    """The outcome of `specsim report serving` as a self-contained HTML page.

    Parameters
    ----------
    outcome : mapping
        The parsed `serving.json`: `schema`, `inputs`, `result` with `answer`, `load`, `promise`,
        `most_requests_per_second` and `frames` (`loads`, `latencies`, `timelines`: rows as of
        `specsim.simulate.serving.Study`), `assumptions`, `version`. A frame that is empty, null or absent leaves its
        pictures out.

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
    >>> "<h1>Kept.</h1>" in page({"schema": 1, "result": {"answer": "Kept."}})
    True
    """
    return render_sections(sections(outcome), outcome)


def render_sections(parts: Sequence[Section], outcome: Mapping[str, Any]) -> str:
    """The page around sections that are made already."""
    result = cells.answered(outcome)
    return render(
        parts,
        title="Latency under load, specsim report",
        answer=str(result["answer"]),
        kicker=str(result.get("load") or ""),
        headline=_headline(result),
        footer=f"specsim {outcome.get('version', '')}".strip(),
    )


def sections(outcome: Mapping[str, Any]) -> list[Section]:
    """What stands on the page, in reading order; empty parts are left out."""
    result = cells.answered(outcome)
    whole = {**result, "frames": result.get("frames") or {}}
    return [section for section in _sections(whole, outcome) if section.filled]


def _headline(result: Row) -> list[Row]:
    return [
        {"label": f"{policy} keeps up to", "value": tables.rate(most)}
        for policy, most in (result.get("most_requests_per_second") or {}).items()
    ]


def _sections(result: Row, outcome: Mapping[str, Any]) -> Iterator[Section]:
    frames, promise = result["frames"], result.get("promise") or {}
    order, shown = list(result.get("most_requests_per_second") or {}), _shown(result)
    yield Section(
        key="load",
        pairs=True,
        title="How much load it takes",
        lead="Drafts use arithmetic that stands idle while few requests run. Where many run, it is needed: a fixed "
        "depth can then slow everybody down; one that follows the load need not.",
        figures=[*figures.kept(frames, order=order), *figures.speeds(frames, order=order)],
    )
    yield Section(
        key="latency",
        title="How long users wait",
        lead="Solid lines are medians; one request in twenty exceeds the dashed, one in a hundred the dotted line.",
        figures=list(figures.latencies(frames, promise, order=order)),
    )
    if shown is not None:
        yield Section(
            key="time",
            pairs=True,
            title=f"The server at {significant(shown, digits=2)} requests/s",
            lead="The highest load at which one of them keeps the promise, from the first arrival to the last answer.",
            figures=list(figures.timelines(frames, rate=shown, order=order)),
        )
    yield Section(key="numbers", title="All numbers", tables=list(tables.loads(frames)))
    yield Section(
        key="assumptions",
        title="What it rests on",
        points=[text[:1].upper() + text[1:] for text in map(str, outcome.get("assumptions") or ())],
        tables=list(tables.settings(outcome.get("inputs") or {})),
    )


def _shown(result: Row) -> float | None:
    """The load whose course is shown: the highest that is kept, else the middle one."""
    rows = cells.frame(result["frames"], "timelines", text=["policy"], numbers=["requests_per_second"])
    rates = sorted(set(rows["requests_per_second"].tolist()))
    kept = [most for most in (result.get("most_requests_per_second") or {}).values() if most is not None]
    if not rates:
        return None
    return max(kept) if kept and max(kept) in rates else rates[len(rates) // 2]
