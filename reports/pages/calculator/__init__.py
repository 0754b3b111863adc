"""The live calculator: sliders and menus that move every picture, computed in the page by the library's formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from reports.pages.calculator import figures
from reports.pages.calculator.places import HARDWARE, MODELS, smallest_place, usual_places
from reports.pages.calculator.readouts import readouts
from reports.pages.calculator.scene import DRAFTER, Start, controls, opening
from reports.pages.calculator.tables import page_tables
from reports.template import Section, render
from specsim.charts.drawing import script_json
from specsim.placement import Placement

__all__ = [
    "DRAFTER",
    "HARDWARE",
    "MODELS",
    "Start",
    "page",
    "section",
    "smallest_place",
    "usual_places",
]

ASSUMPTIONS = (
    "Acceptance of draft k is α·δᵏ⁻¹ for a chain, given that those before it stood. In a tree, α is that of each best "
    "candidate, further ones stand with less, and δ is not used.",
    "All sequences draft equally deep and have the same context; the batch does not change acceptance.",
    "The interval joins the errors of kernels and of all that a pass pays whatever its size with the ± of acceptance. "
    "That the model itself may be wrong is not in it.",
    "Batches and contexts are those for which specsim tabulated passes; the search for the crossover interpolates "
    "between batches.",
)


def page(places: Sequence[Placement], *, start: Start | None = None) -> str:
    """The calculator as a page of its own, HTML that opens from disk without a network."""
    return render(
        [section(places, start=start)],
        title="Speculative decoding calculator: specsim",
        kicker="specsim: speculative decoding, calculated",
        answer="Is speculative decoding faster here, with how many drafted tokens, and up to which batch?",
        footer=f"specsim {metadata.version('specsim')}",
    )


def section(places: Sequence[Placement], *, start: Start | None = None, key: str = "calculator") -> Section:
    """The calculator as a section of another page.

    Parameters
    ----------
    places : sequence of Placement
        Models on hardware to choose from; menus name them by model and by hardware.
    start : Start, optional
        Where the controls stand at first.
    key : str
        Address in the page.

    Raises
    ------
    InputError
        No place, or a start that is not among what can be chosen; the message lists what is.
    """
    stored = page_tables(places)
    scene = opening(stored, start or Start(), model=places[0].target.name)
    texts, lines = readouts()
    return Section(
        key=key,
        title="Try it",
        lead="Choose, move, and everything follows at once: the formulas run in this page, on pass times that specsim "
        "computed beforehand. Acceptance may fall with depth, passes have their calibrated cost, and intervals "
        "hold what is not known about either.",
        controls=list(controls(stored, scene)),
        readouts=lines,
        figures=list(figures.figures(figures.live_parameters(scene), texts)),
        points=ASSUMPTIONS,
        script=_script(stored),
    )


def _script(stored: Mapping[str, Any]) -> str:
    formulas = Path(__file__).with_name("formulas.js").read_text(encoding="utf-8")
    return f"{formulas}\ncalculator.load({script_json(stored)});\nObject.assign(live.functions, calculator.functions);"
