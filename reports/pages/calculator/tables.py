"""What the page computes with: seconds of passes, what each drafter takes, and how many sequences there is room for.

The page's menus offer batches and contexts of `BATCHES` and `CONTEXTS` alone, so that every pass it asks for stands in
a table: what it shows is what the library computes, rounded to `DIGITS`. Batches between, which only the search for the
crossover visits, are interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.pages.calculator.machines import BATCHES, CONTEXTS, in_flight_grid, machine_tables
from reports.pages.calculator.ways import OWN, own_counts, way_counts, ways
from specsim.catalog import published
from specsim.errors import InputError
from specsim.placement import Placement


def page_tables(places: Sequence[Placement]) -> dict[str, Any]:
    """All that the page looks up, as plain numbers and lists; places by model and by hardware.

    Parameters
    ----------
    places : sequence of Placement
        What can be chosen; of two with one model and one hardware the later counts.

    Raises
    ------
    InputError
        There is none.
    """
    if not places:
        raise InputError("calculator needs at least one model on one accelerator, got none")
    targets = {place.target.name: place.target for place in places}
    drafters = {name: list(ways(target)) for name, target in targets.items()}
    grid = in_flight_grid(places, [way for listed in drafters.values() for way in listed])
    machines: dict[str, dict[str, Any]] = {}
    for place in places:
        of_model = machines.setdefault(place.target.name, {})
        of_model[place.hardware.name] = machine_tables(place, drafters[place.target.name], grid)
    return {
        "in_flight": grid.tolist(),
        "batches": list(BATCHES),
        "contexts": list(CONTEXTS),
        "ranks": {"count": published.RANKS, "decay": published.RANK_DECAY},
        "drafters": {
            name: {OWN: own_counts()} | {way.key: way_counts(way, targets[name]) for way in listed}
            for name, listed in drafters.items()
        },
        "machines": machines,
    }
