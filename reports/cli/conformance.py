"""`specsim report conformance`: what conformance runs found, as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from reports import cells
from reports.build import write_page, write_pictures
from reports.cli.options import check_out, out_options, suffixes
from reports.pages.conformance import answer_of_runs, page, page_of_runs, sections, source
from specsim.cli.output import emit, envelope, json_option
from specsim.errors import InputError


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE...")
@out_options
@json_option
def conformance(files: tuple[Path, ...], out: Path, png: bool, svg: bool, theme: str, as_json: bool) -> None:
    """What `specsim conform --json` wrote to FILE: verdict, bets, histograms, counts and power. Several files make one
    page, verdicts first.

    Writes conformance.html.
    """
    check_out(out, theme=theme)
    named = read_runs(files)
    results = {name: cells.answered(outcome) for name, outcome in named.items()}
    one = len(named) == 1
    path = write_page(out / "conformance.html", page(*named.values()) if one else page_of_runs(named))
    pictures = [
        picture
        for number, outcome in enumerate(named.values(), 1)
        for picture in write_pictures(
            out / "pictures",
            sections(outcome, key="" if one else f"run{number}-"),
            suffixes=suffixes(png=png, svg=svg),
            theme=theme,
        )
    ]
    answer = str(next(iter(results.values()))["answer"]) if one else answer_of_runs(results)
    verdicts = {name: result.get("outcome") for name, result in results.items()}
    result = {"answer": answer, "page": path, "verdicts": verdicts, "pictures": pictures}
    emit(
        envelope("report conformance", inputs={"files": files, "theme": theme}, result=result),
        as_json=as_json,
        tables=[str(path), answer],
    )


def read_runs(files: Sequence[Path]) -> dict[str, Mapping[str, Any]]:
    """Outcomes by what they are about: their source, and the file where that says no more.

    Raises
    ------
    InputError
        A file that cannot be read, or is no outcome of `specsim conform`.
    """
    found = {file: _read(file) for file in files}
    sources = [source(outcome) for outcome in found.values()]
    return {
        (given if given and sources.count(given) == 1 else str(file)): outcome
        for (file, outcome), given in zip(found.items(), sources, strict=True)
    }


def _read(file: Path) -> Mapping[str, Any]:
    try:
        outcome = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} must be the outcome of specsim conform --json: {error}") from error
    if not isinstance(outcome, Mapping):
        raise InputError(f"{file} must be the outcome of specsim conform --json, got {type(outcome).__name__}")
    try:
        cells.answered(outcome)
    except InputError as error:
        raise InputError(f"{file} must be the outcome of specsim conform --json: {error}") from error
    return outcome
