"""The live calculator, opened where the report's plan stands."""

from __future__ import annotations

from reports.pages.calculator import HARDWARE, Start, section, smallest_place
from reports.pages.drafters.study import Study
from reports.template import Section
from specsim import catalog
from specsim.capacity import Candidate


def live(found: Study) -> Section:
    """Sliders that start at the scenario, on its own machine and on others that hold the model."""
    place = found.place
    others = (catalog.hardware_from(name) for name in HARDWARE if name != place.hardware.name)
    places = [place, *(one for part in others if (one := smallest_place(place.target, part)) is not None)]
    return section(places, start=_start(found))


def _start(found: Study) -> Start:
    scenario = found.scenario
    price = {} if scenario.price_per_hour is None else {"price": scenario.price_per_hour}
    load = {"batch": scenario.batch, "context": scenario.context}
    for best in found.drafters[:1]:
        assert best.assumed is not None
        return Start(
            drafter=_key(best), gamma=best.gamma, alpha=best.assumed.alpha, error=best.assumed.error, **load, **price
        )
    return Start(**load, **price)


def _key(best: Candidate) -> str:
    """As the calculator's menu names it."""
    nodes = best.method.tree_nodes if best.method is not None else 0
    return f"{best.name}, tree of {nodes}" if nodes else best.name
