"""The frame around every page: sections of prose, figures and tables, as one HTML file that needs nothing else.

The Vega libraries are inlined once; specifications and configs travel as JSON that cannot end a script element; a
content security policy forbids every request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import jinja2

from reports.controls import Control, Readout, lifted
from specsim.charts import theme
from specsim.charts.drawing import script_json, vega_bundle

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A chart with the sentence that says what to see in it, and controls of its own."""

    title: str
    see: str
    spec: Mapping[str, Any]
    controls: Sequence[Control] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Cells as text; `numeric` columns are set flush right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    folded: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A page to go to, with a picture in both themes; a page that is not there says why in `reason`.

    `light` and `dark` are addresses of images, such as data URIs, and `alt` says what they show.
    """

    title: str
    line: str
    href: str
    light: str = ""
    dark: str = ""
    alt: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading, a sentence or two, and what stands under them; `key` is its address in the page.

    `pairs` puts two pictures side by side where three would fit, and the last of an odd number across.
    `controls` set parameters of all its pictures, and `readouts` show some. `script` runs before they are drawn; what
    it puts into `live.functions` can be called in their expressions.
    """

    key: str
    title: str
    lead: str = ""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    texts: Sequence[Row] = ()
    points: Sequence[str] = ()
    cards: Sequence[Card] = ()
    tables_first: bool = False
    pairs: bool = False
    controls: Sequence[Control] = ()
    readouts: Sequence[Readout] = ()
    script: str = ""

    @property
    def filled(self) -> bool:
        """Whether anything stands under the heading."""
        return bool(self.figures or self.tables or self.texts or self.points or self.cards)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading and the text of a row's cell."""

    title: str
    cell: Callable[[Any], str]
    number: bool = True


def figure(chart: alt.LayerChart, *, see: str) -> Figure:
    """The chart as a figure: the page sets its title, and its theme by the reader's preference.

    Examples
    --------
    >>> import pandas as pd
    >>> from specsim.charts import round_parts
    >>> bars = pd.DataFrame({"proposer": ["ngram"], "gamma": [4], "part": ["draft"], "seconds": [0.001]})
    >>> made = figure(round_parts(bars), see="Short bars are good.")
    >>> made.title, "config" in made.spec
    ('Where the time of a round goes', False)
    """
    spec = chart.to_dict()
    title = spec.pop("title")
    del spec["config"], spec["$schema"]
    controls = lifted(spec)
    return Figure(
        title=title,
        see=see,
        controls=controls,
        spec={**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}},
    )


def table(rows: Iterable[Any], *columns: Column, title: str, folded: bool = False, note: str = "") -> Table:
    """A table of one line per row."""
    return Table(
        title=title,
        columns=[column.title for column in columns],
        rows=[[column.cell(row) for column in columns] for row in rows],
        numeric=frozenset(place for place, column in enumerate(columns) if column.number),
        folded=folded,
        note=note,
    )


def render(
    sections: Sequence[Section],
    *,
    title: str,
    answer: str,
    kicker: str = "",
    notice: str | None = None,
    headline: Sequence[Row] = (),
    footer: str = "",
) -> str:
    """The whole page as HTML.

    Parameters
    ----------
    sections : sequence of Section
        In reading order.
    title, answer, kicker, footer : str
        The browser's title; the sentence that opens the page; small print above and at the end.
    notice : str, optional
        What a reader must know before anything else; the first line of the page.
    headline : sequence of mapping
        `label` and `value` of the numbers that stand under the answer.

    Raises
    ------
    InputError
        vl-convert, which carries the Vega libraries, is not installed.
    """
    charts = {f"{section.key}-{k}": figure.spec for section in sections for k, figure in enumerate(section.figures, 1)}
    return (
        _environment()
        .get_template("template.html.j2")
        .render(
            sections=sections,
            title=title,
            answer=answer,
            kicker=kicker,
            notice=notice,
            headline=headline,
            footer=footer,
            colours=theme.COLOURS,
            font=theme.FONT,
            charts=script_json(charts),
            themes=script_json({name: _config(name) for name in theme.COLOURS}),
            bundle=vega_bundle() if charts else "",
        )
    )


def _config(name: str) -> dict[str, Any]:
    """The theme, with legends one below the other as narrow figures need (Altair's schema lacks this)."""
    config = theme.config(name)
    layout = {"top": {"direction": "vertical", "anchor": "start", "margin": 4}}
    return {**config, "legend": {**config["legend"], "layout": layout}}


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
