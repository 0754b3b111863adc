"""Putting pages, and what stands in them, on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.template import Figure, Section
from specsim.charts import theme as themes
from specsim.charts.drawing import PICTURES
from specsim.files import write_whole


def write_page(path: str | Path, html: str) -> Path:
    """Write a page whole or not at all, and return where it stands.

    Raises
    ------
    InputError
        The place cannot be written; what stood there before is untouched.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> write_page(folder / "report.html", "<!doctype html>").name
    'report.html'
    """
    return write_whole(path, html)


def write_frames(folder: str | Path, frames: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Path]:
    r"""Each frame that has rows as a CSV of its own.

    Examples
    --------
    >>> paths = write_frames(getfixture("tmp_path"), {"passes": [{"tokens": 1, "seconds": 0.004}], "counts": []})
    >>> [path.name for path in paths], paths[0].read_text()
    (['passes.csv'], 'tokens,seconds\n1,0.004\n')
    """
    return [
        write_whole(Path(folder) / f"{name}.csv", pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))
        for name, rows in frames.items()
        if rows
    ]


def write_pictures(
    folder: str | Path, sections: Iterable[Section], *, suffixes: Iterable[str], theme: str = "light"
) -> list[Path]:
    """Each figure as a picture file, named by its section and place as in the page.

    Parameters
    ----------
    folder : path
        Where to.
    sections : iterable of Section
        Whose figures.
    suffixes : iterable of str
        ".png", ".svg".
    theme : str
        "light" or "dark".

    Raises
    ------
    InputError
        An unknown theme, vl-convert is not installed, or the place cannot be written.
    """
    asked = list(suffixes)
    return [
        write_whole(Path(folder) / f"{name}{suffix}", PICTURES[suffix](drawable(figure, theme=theme)))
        for name, figure in _named(sections)
        for suffix in asked
    ]


def drawable(figure: Figure, *, theme: str) -> dict[str, Any]:
    """A figure's specification with the title, the width and the theme that its page would give it."""
    own = {key: value for key, value in figure.spec.items() if key not in ("width", "autosize")}
    return {**own, "title": figure.title, "config": themes.config(theme)}


def _named(sections: Iterable[Section]) -> Iterator[tuple[str, Figure]]:
    """Figures by name, without those whose rows only a script in a page computes."""
    for section in sections:
        if section.script:
            continue
        for place, figure in enumerate(section.figures, 1):
            yield f"{section.key}-{place}", figure
