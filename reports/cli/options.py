"""Options that reports share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from specsim.charts.drawing import vl_convert
from specsim.charts.theme import config
from specsim.cli.parts import options
from specsim.files import ready_folder

Command = TypeVar("Command", bound=Callable[..., Any])


def out_options(command: Command) -> Command:
    """Add `--out --png --svg --theme`."""
    return options(
        click.option(
            "--out", type=click.Path(path_type=Path), default="out", show_default=True, help="Folder to write into."
        ),
        click.option("--png", is_flag=True, help="Also each picture as .png, in the folder pictures."),
        click.option("--svg", is_flag=True, help="Also each picture as .svg."),
        click.option("--theme", default="light", show_default=True, help="Of these pictures: light or dark."),
    )(command)


def check_out(out: Path, *, theme: str) -> None:
    """Refuse what could not be drawn or written, before anything is computed.

    Raises
    ------
    InputError
        An unknown theme, a folder that cannot be written to, or vl-convert is not installed.
    """
    vl_convert()
    config(theme)
    ready_folder(out)


def suffixes(*, png: bool, svg: bool) -> Iterable[str]:
    """Endings of the picture files that were asked for.

    Examples
    --------
    >>> suffixes(png=True, svg=False)
    ['.png']
    """
    return [suffix for suffix, asked in ((".png", png), (".svg", svg)) if asked]
