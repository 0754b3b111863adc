"""The index: every page that was built, with a line and a picture, and what could not be built."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from reports.gallery.show import script
from reports.pages.index.entries import ENTRIES, Entry
from reports.template import Card, Section, render
from specsim.charts import theme
from specsim.charts.drawing import png

SIZE = {"width": 320, "height": 190}
"""Of a picture's plot [px]."""
PIXELS = 1.5
"""Of a picture for each of its points."""


def page(reasons: Mapping[str, str]) -> str:
    """The index as HTML that opens from disk without a network, beside the pages that it links.

    Parameters
    ----------
    reasons : mapping of str to str
        By the name of an entry, why its page could not be built; empty for those that were.

    Raises
    ------
    InputError
        vl-convert, which draws the pictures, is not installed.
    """
    failed = sum(map(bool, reasons.values()))
    missing = f" {failed} of {len(reasons)} pages could not be built." if failed else ""
    return render(
        [
            Section(
                key="pages",
                title="Pages",
                lead="Each is one file that opens from disk without a network.",
                cards=[_card(entry, reasons[entry.name]) for entry in ENTRIES if entry.name in reasons],
            )
        ],
        title="specsim reports",
        kicker="specsim: reports",
        answer="Should I speculate, with which drafter, how many tokens per round, up to which batch, and is my "
        f"decoder still lossless?{missing}",
        footer=f"specsim {metadata.version('specsim')}",
    )


def _card(entry: Entry, reason: str) -> Card:
    chart = script(entry.picture).draw()
    spec = {**SIZE, **_without_legends({key: value for key, value in chart.to_dict().items() if key != "title"})}
    light, dark = (_address({**spec, "config": theme.config(name)}) for name in theme.COLOURS)
    return Card(
        title=entry.title,
        line=entry.line,
        href=f"{entry.name}.html",
        light=light,
        dark=dark,
        alt=str(chart.description),
        reason=reason,
    )


def _without_legends(spec: Any) -> Any:
    """A specification without what a small picture has no room for."""
    if isinstance(spec, list):
        return [_without_legends(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        name: value if name == "datasets" else None if name == "legend" else _without_legends(value)
        for name, value in spec.items()
    }


def _address(spec: Mapping[str, Any]) -> str:
    """A picture as an address; no SVG, whose letters would be as wide as the reader's font has them."""
    return f"data:image/png;base64,{base64.b64encode(png(spec, pixels=PIXELS)).decode()}"
