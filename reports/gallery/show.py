"""What the scripts of the gallery share: putting their chart on disk, and finding them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import altair as alt

from specsim.charts import CHARTS
from specsim.charts.explain import EXPLANATIONS
from specsim.cli.chart import save_chart
from specsim.files import ready_folder

NAMES = (*CHARTS, *EXPLANATIONS)
"""Of charts, and of the scripts that draw them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """A script of the gallery: the chart's name, what it shows in a sentence, its text, and how it draws."""

    name: str
    line: str
    text: str
    draw: Callable[[], alt.LayerChart]


def script(name: str) -> Script:
    """The script of a chart.

    Examples
    --------
    >>> script("gain_by_batch").line
    'Up to which batch drafters gain.'
    """
    module = import_module(f"reports.gallery.{name}")
    return Script(name=name, line=str(module.__doc__), text=inspect.getsource(module), draw=module.draw)


def save(chart: alt.LayerChart, file: str) -> None:
    """Write the chart of the script `file` as .html and .png, into the folder that the command line names or here.

    Raises
    ------
    InputError
        The folder cannot be written to, or vl-convert is not installed.
    """
    folder = ready_folder(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for suffix in (".html", ".png"):
        path = folder / f"{Path(file).stem}{suffix}"
        save_chart(chart, path)
        print(path)
