"""`specsim report calculator`: sliders and menus that say when speculation pays, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from reports.build import write_page
from reports.cli.options import check_out
from reports.pages.calculator import DRAFTER, HARDWARE, MODELS, Start, page, usual_places
from reports.pages.calculator.machines import label
from specsim.cli.output import emit, envelope, json_option


@click.command()
@click.option(
    "--model", "models", multiple=True, default=MODELS, show_default=True, help="Catalogue name or config.json."
)
@click.option(
    "--hardware", "parts", multiple=True, default=HARDWARE, show_default=True, help="Catalogue name or a .toml file."
)
@click.option("--drafter", default=DRAFTER, show_default=True, help="Chosen at first.")
@click.option("--out", type=click.Path(path_type=Path), default="out", show_default=True, help="Folder to write into.")
@json_option
def calculator(models: tuple[str, ...], parts: tuple[str, ...], drafter: str, out: Path, as_json: bool) -> None:
    """A calculator that needs no server: drafter, acceptance, drafted tokens, batch, context and hardware to move.

    Writes calculator.html. Each --model is placed on as few accelerators of each --hardware as hold it.
    """
    check_out(out, theme="light")
    places = usual_places(models, parts)
    path = write_page(out / "calculator.html", page(places, start=Start(drafter=drafter)))
    offered = [
        {"model": place.target.name, "hardware": label(place), "passes": place.efficiency.source} for place in places
    ]
    inputs = {"models": models, "hardware": parts, "drafter": drafter}
    emit(
        envelope("report calculator", inputs=inputs, result={"page": path, "places": offered}),
        as_json=as_json,
        tables=[str(path), f"A calculator of {len(places)} models on accelerators, to open in a browser."],
    )
