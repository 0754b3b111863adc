"""`--chart`: a command's answer as a picture, or as a page that needs nothing else.

Altair takes half a second to import, so commands import it, and what draws, only when a chart is asked for.
"""

from __future__ import annotations

import json
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

PIXELS = 2
"""Of a .png for each point of the chart, for screens that have them."""
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
    _vl_convert()
    from specsim.charts.theme import config

    config(theme)
    ready_folder(path.parent)


def save_chart(chart: Chart, path: Path) -> None:
    """Write a chart in the format that the path's ending names.

    Raises
    ------
    InputError
        The place cannot be written.
    """
    write_whole(path, FORMATS[path.suffix](chart))


def _html(chart: Chart) -> str:
    spec = chart.to_dict()
    bundle = _vl_convert().javascript_bundle(snippet=None, vl_version=_version())
    page: str = PAGE.render(
        title=chart.description,
        background=spec["config"]["background"],
        bundle=bundle.replace("</script", "<\\/script"),
        spec=_script_json(spec),
    )
    return page


def _svg(chart: Chart) -> str:
    return str(_vl_convert().vegalite_to_svg(chart.to_dict(), vl_version=_version()))


def _png(chart: Chart) -> bytes:
    return bytes(_vl_convert().vegalite_to_png(chart.to_dict(), vl_version=_version(), scale=PIXELS))


FORMATS: dict[str, Callable[[Chart], str | bytes]] = {".html": _html, ".svg": _svg, ".png": _png}


def _script_json(value: object) -> str:
    r"""JSON that no text in it can take out of its script element.

    Examples
    --------
    >>> _script_json({"name": "</script>"})
    '{"name": "\\u003c/script>"}'
    """
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _version() -> str:
    """Of Vega-Lite, as Altair writes it and vl-convert names it."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise InputError("a chart needs vl-convert: pip install 'specsim[report]'") from None
    return vl_convert
