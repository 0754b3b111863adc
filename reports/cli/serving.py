"""`specsim report serving`: latencies under load, with and without speculation, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reports.build import write_frames, write_page, write_pictures
from reports.cli.options import check_out, out_options, suffixes
from reports.pages.serving import render_sections, sections
from specsim.cli.output import emit, json_option, to_json
from specsim.cli.serving_options import StudyOptions, study_options
from specsim.cli.serving_study import run_study, study_outcome
from specsim.files import write_whole


@click.command()
@study_options
@out_options
@json_option
def serving(out: Path, png: bool, svg: bool, theme: str, as_json: bool, **given: Any) -> None:
    """Latency percentiles against load, with and without speculation: a page, with the course of one run.

    Writes serving.html, its frames as CSV in the folder frames, and everything as serving.json.
    """
    check_out(out, theme=theme)
    options = StudyOptions(**given)
    outcome = study_outcome("report serving", options, run_study(options), with_timelines=True)
    parts = sections(outcome)
    page = write_page(out / "serving.html", render_sections(parts, outcome))
    write_whole(out / "serving.json", to_json(outcome, indent=1))
    write_frames(out / "frames", outcome["result"]["frames"])
    write_pictures(out / "pictures", parts, suffixes=suffixes(png=png, svg=svg), theme=theme)
    emit(outcome, as_json=as_json, tables=[str(page), outcome["result"]["answer"]])
