"""`specsim report validation`: claims, predictions, published results and engines, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from reports.build import write_frames, write_page, write_pictures
from reports.cli.options import check_out, out_options, suffixes
from reports.pages.validation import render_sections, sections
from reports.pages.validation.outcome import validation_outcome
from reports.pages.validation.results import COMMITTED, read_results
from specsim.cli.output import emit, json_option, to_json
from specsim.files import write_whole


@click.command()
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=COMMITTED,
    help="Folder that specsim validate run all --out has written.  [default: the results that come with the project]",
)
@out_options
@json_option
def validation(results: Path, out: Path, png: bool, svg: bool, theme: str, as_json: bool) -> None:
    """Is it right? Claims with planted faults, predicted against measured, published results against the model, and
    engines under test.

    Writes validation.html, its frames as CSV in the folder frames, and everything as validation.json.
    """
    check_out(out, theme=theme)
    outcome = validation_outcome(read_results(results))
    parts = sections(outcome)
    page = write_page(out / "validation.html", render_sections(parts, outcome))
    write_whole(out / "validation.json", to_json(outcome, indent=1))
    write_frames(out / "frames", outcome["result"]["frames"])
    write_pictures(out / "pictures", parts, suffixes=suffixes(png=png, svg=svg), theme=theme)
    emit(outcome, as_json=as_json, tables=[str(page), outcome["result"]["answer"]])
