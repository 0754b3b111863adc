"""`specsim report gallery`: every chart with the script that draws it, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from reports.build import write_page, write_pictures
from reports.cli.options import check_out, out_options, suffixes
from reports.pages.gallery import render_sections, sections
from specsim.cli.output import emit, envelope, json_option


@click.command()
@out_options
@json_option
def gallery(out: Path, png: bool, svg: bool, theme: str, as_json: bool) -> None:
    """Every chart that scripts and notebooks can draw, each with its script.

    Writes gallery.html.
    """
    check_out(out, theme=theme)
    parts = sections()
    path = write_page(out / "gallery.html", render_sections(parts))
    pictures = write_pictures(out / "pictures", parts, suffixes=suffixes(png=png, svg=svg), theme=theme)
    charts = sum(len(part.figures) for part in parts)
    emit(
        envelope("report gallery", inputs={"theme": theme}, result={"page": path, "pictures": pictures}),
        as_json=as_json,
        tables=[str(path), f"{charts} charts with their scripts, to open in a browser."],
    )
