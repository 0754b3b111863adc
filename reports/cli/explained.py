"""`specsim report explained`: speculative decoding in pictures, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from reports.build import write_page, write_pictures
from reports.cli.options import check_out, out_options, suffixes
from reports.pages.explained import page, sections
from specsim.cli.output import emit, envelope, json_option


@click.command()
@out_options
@json_option
def explained(out: Path, png: bool, svg: bool, theme: str, as_json: bool) -> None:
    """What happens in a round, why the text stays the target's own, and what trees and blocks gain: seven pictures.

    Writes explained.html.
    """
    check_out(out, theme=theme)
    path = write_page(out / "explained.html", page())
    pictures = write_pictures(out / "pictures", sections(), suffixes=suffixes(png=png, svg=svg), theme=theme)
    emit(
        envelope("report explained", inputs={"theme": theme}, result={"page": path, "pictures": pictures}),
        as_json=as_json,
        tables=[str(path), "Speculative decoding in seven pictures, to open in a browser."],
    )
