"""`--chart`: a command's answer as a picture, or as a page that needs nothing else.

Altair takes half a second to import, so commands import it, and what draws, only when a chart is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import jinja2

from specsim.errors import InputError
from specsim.files import ready_folder, write_whole

if TYPE_CHECKING:
    from specsim.cli.drawn import Chart

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = (".html", ".svg", ".png")
PAGE = jinja2.Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{{ title }}</title>
<style>body { margin: 24px; background: {{ background }}; }</style>
<script>{{ bundle|safe }}</script>
</head>
<body>
<div id="chart"></div>
<script>vegaEmbed("#chart", {{ spec|safe }}, {actions: {export: true, source: false, compiled: false, editor: false}});\
</script>
</body>
</html>
""",
    autoescape=True,
)


def chart_options(command: Command) -> Command:
    """Add `--chart` and `--theme`."""
    path = click.option("--chart", type=click.Path(path_type=Path), help="Draw it: .html, .svg or .png.")
    theme = click.option("--theme", default="light", show_default=True, help="Of the chart: light or dark.")
    return path(theme(command))


def check_chart(path: Path | None, *, theme: str) -> None:
    """Refuse what could not be drawn, before anything is computed.

    Raises
    ------
    InputError
        An ending or a theme that there is none of, a folder that cannot be written to, or vl-convert, which draws, is
        not installed.

    Examples
    --------
    >>> check_chart(Path("plan.pdf"), theme="light")
    Traceback (most recent call last):
    specsim.errors.InputError: chart must end in .html, .svg or .png, got plan.pdf
    """
    if path is None:
        return
    if path.suffix not in FORMATS:
        *most, last = FORMATS
        raise InputError(f"chart must end in {', '.join(most)} or {last}, got {path.name}")
    from specsim.charts.drawing import vl_convert
    from specsim.charts.theme import config

    vl_convert()
    config(theme)
    ready_folder(path.parent)


def save_chart(chart: Chart, path: Path) -> None:
    """Write a chart in the format that the path's ending names.

    Raises
    ------
    InputError
        The place cannot be written.
    """
    from specsim.charts.drawing import PICTURES

    write_whole(path, _html(chart) if path.suffix == ".html" else PICTURES[path.suffix](chart.to_dict()))


def _html(chart: Chart) -> str:
    from specsim.charts.drawing import script_json, vega_bundle

    spec = chart.to_dict()
    page: str = PAGE.render(
        title=chart.description,
        background=spec["config"]["background"],
        bundle=vega_bundle(),
        spec=script_json(spec),
    )
    return page
