"""`specsim report drafters`: which drafter, how deep, up to which batch, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from reports.build import write_frames, write_page, write_pictures
from reports.cli.options import check_out, out_options, suffixes
from reports.pages.drafters import render_sections, sections
from reports.pages.drafters.live import live
from reports.pages.drafters.outcome import drafter_outcome
from reports.pages.drafters.study import study
from reports.scenario import read_scenario
from specsim.cli.output import emit, json_option, to_json
from specsim.files import write_whole


@click.command()
@click.option(
    "--scenario",
    "file",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="What is served, on what: a .toml, as reports/scenarios/llama8b_h100.toml.",
)
@out_options
@json_option
def drafters(file: Path, out: Path, png: bool, svg: bool, theme: str, as_json: bool) -> None:
    """Which drafter for a model, a GPU and a load: a page with the ranking, its reasons, and a live calculator.

    Writes drafters.html, its frames as CSV in the folder frames, and everything as drafters.json. Exit code 1 where
    the model does not fit or nothing is fast enough.
    """
    check_out(out, theme=theme)
    found = study(read_scenario(file))
    outcome = drafter_outcome(found)
    parts = sections(outcome, live=live(found))
    page = write_page(out / "drafters.html", render_sections(parts, outcome))
    write_whole(out / "drafters.json", to_json(outcome, indent=1))
    write_frames(out / "frames", outcome["result"]["frames"])
    write_pictures(out / "pictures", parts, suffixes=suffixes(png=png, svg=svg), theme=theme)
    emit(outcome, as_json=as_json, tables=[str(page), outcome["result"]["answer"]])
