"""Where models are placed for the menus, unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from specsim import catalog
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.roofline import Efficiency

MODELS = ("Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-8B", "Qwen3-32B", "Qwen3-30B-A3B")
HARDWARE = ("H100-SXM", "H200-SXM", "B200-SXM", "A100-SXM-80GB", "L40S", "MI300X")
USUAL_CONTEXT = 8192
"""Of the sequence that must fit for a place to be offered [1]."""


def usual_places(models: Iterable[str] = MODELS, hardware: Iterable[str] = HARDWARE) -> list[Placement]:
    """Each model on as few accelerators of each kind as hold it and a long sequence; without those that never do.

    Examples
    --------
    >>> from reports.pages.calculator.machines import label
    >>> [label(place) for place in usual_places(["Llama-3.1-70B"], ["H100-SXM", "B200-SXM"])]
    ['2 × H100-SXM', 'B200-SXM']
    """
    return [
        place
        for model in models
        for part in hardware
        if (place := smallest_place(catalog.model_from(model), catalog.hardware_from(part))) is not None
    ]


def smallest_place(target: catalog.ModelShape, part: catalog.Hardware) -> Placement | None:
    """As few accelerators as hold a model and a long sequence, up to a node's; None where a node does not."""
    efficiency, degree = Efficiency.default(part), 1
    while degree <= part.devices_per_node:
        try:
            place = Placement(target=target, hardware=part, efficiency=efficiency, tensor_parallel=degree)
        except InputError:  # heads that so many do not divide, or no links
            return None
        if place.memory(batch=1, context=USUAL_CONTEXT).fits:
            return place
        degree *= 2
    return None
