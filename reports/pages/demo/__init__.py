"""The page of the demo: the answer, what was predicted and then measured, and whether the decoder is lossless."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports import cells
from reports.cells import Row
from reports.pages.demo import figures, tables
from reports.template import Section, render


def page(outcome: Mapping[str, Any]) -> str:
    """The demo's outcome as a self-contained HTML page.

    Parameters
    ----------
    outcome : mapping
        The parsed `demo.json`: `schema`, `command`, `inputs`, `result`, `assumptions`, `version`. Lists in `result`
        that are empty, null or absent leave their section out; rows without a number that a chart needs are not drawn.

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
    >>> html = page({"schema": 1, "result": {"answer": "Yes, with an n-gram lookup."}})
    >>> "<h1>Yes, with an n-gram lookup.</h1>" in html
    True
    """
    result = cells.answered(outcome)
    return render(
        [section for section in _sections(outcome, result) if section.filled],
        title="Should I speculate? specsim demo",
        answer=str(result["answer"]),
        kicker=_kicker(result),
        notice=result.get("notice"),
        headline=cells.rows(result, "headline"),
        footer=f"specsim {outcome.get('version', '')}".strip(),
    )


def _sections(outcome: Row, result: Row) -> Iterator[Section]:
    order = _order(result)
    yield Section(
        key="predictions",
        title="Predicted, then measured",
        lead="Some settings calibrate the model; the others are held out: predicted first, then measured. τ counts the "
        "tokens that a round adds to the text, bonus or correction token included; γ is the number of tokens drafted.",
        figures=list(figures.predictions(result, order=order)),
        tables=[*tables.errors(result), *tables.predictions(result)],
    )
    yield Section(
        key="choice",
        title="Which drafter, how many tokens",
        lead="More drafted tokens help as long as they are accepted, and cost time whether or not they are.",
        figures=[*figures.speedup(result, order=order), *figures.acceptance(result, order=order)],
    )
    yield Section(
        key="time",
        title="Where the time goes",
        lead="Speculation pays because one pass over several tokens takes little longer than a pass over one.",
        figures=[*figures.passes(result), *figures.parts(result)],
    )
    yield Section(
        key="lossless",
        title="Is the output still the model's own?",
        lead="Each test asks whether the decoder's tokens could have been drawn from the target model itself.",
        figures=list(figures.pit(result)),
        tables_first=True,
        tables=[*tables.lossless(result), *tables.numerics(result)],
    )
    yield Section(
        key="placement",
        title="On GPUs",
        lead="The same drafters, placed on hardware by its data sheet. A larger batch leaves less idle compute to "
        "verify drafts with; where a line falls below 1, speculation stops paying.",
        figures=list(figures.placement(result, order=order)),
        tables=list(tables.crossover(result)),
    )
    yield Section(key="texts", title="What was written", texts=tables.texts(result))
    yield Section(key="assumptions", title="Assumptions", points=tables.points(outcome.get("assumptions")))
    yield Section(key="machine", title="Machine and settings", tables=list(tables.machine(outcome, result)))


def _order(result: Row) -> list[str]:
    keys = ("predictions", "speedup_by_gamma", "acceptance", "placement")
    found = (row.get("proposer") for key in keys for row in cells.rows(result, key))
    return list(dict.fromkeys(str(name) for name in found if name is not None))


def _kicker(result: Row) -> str:
    model, device = result.get("model") or {}, result.get("device") or {}
    size = model.get("parameters")
    places = (device.get(key) for key in ("processor", "device", "name"))
    parts = [model.get("name"), size and f"{size / 1e6:,.0f} million parameters", next(filter(None, places), None)]
    return " · ".join(str(part) for part in parts if part)
