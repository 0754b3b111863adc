"""Controls that a reader moves, and lines of text that follow them, for pages that compute without a server.

A control sets the Vega parameter of its name in every picture that stands with it. Pictures bring controls of their own
as bound parameters, which also work where there is no page, as in a notebook; a page draws them in its own look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """A slider, or a menu where there are `options`.

    Parameters
    ----------
    parameter : str
        Name of the Vega parameter that it sets.
    label : str
        What it is, with its unit.
    value : object
        At the start: one of `options` or of `stops`, or a number of the slider.
    low, high, step : float
        Of a slider without stops.
    stops : Mapping
        Values that a slider halts at, and the text of each.
    options : sequence of str
        Entries of a menu.
    presets : Mapping[str, Mapping]
        By option, values that other controls take when it is chosen.
    only : Mapping[str, sequence of str]
        By parameter, the values of other controls with which it means anything; hidden with others.
    """

    parameter: str
    label: str
    value: Any
    low: float = 0.0
    high: float = 1.0
    step: float = 0.01
    stops: Mapping[Any, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def slider(self) -> Mapping[str, Any]:
        """Attributes of the element: of places among the stops, where there are some."""
        if not self.stops:
            return {"min": self.low, "max": self.high, "step": self.step, "value": self.value}
        return {"min": 0, "max": len(self.stops) - 1, "step": 1, "value": list(self.stops).index(self.value)}

    @property
    def traits(self) -> Mapping[str, Any]:
        """What the page's script has to know."""
        return {
            "parameter": self.parameter,
            "values": list(self.stops),
            "texts": list(self.stops.values()),
            "presets": self.presets,
            "only": self.only,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Readout:
    """A line that shows the value of a Vega parameter of a picture in its section."""

    label: str
    parameter: str
    wide: bool = False


def lifted(spec: dict[str, Any]) -> tuple[Control, ...]:
    """Take the bindings out of a specification, and give them as controls.

    Examples
    --------
    >>> spec = {"params": [{"name": "heat", "value": 1, "bind": {"input": "range", "min": 0, "max": 2, "step": 0.1,
    ...                                                          "name": "temperature"}}]}
    >>> [control.label for control in lifted(spec)], spec
    (['temperature'], {'params': [{'name': 'heat', 'value': 1}]})
    """
    bound = [(each, each.pop("bind")) for each in spec.get("params", []) if "bind" in each]
    return tuple(_control(each, bind) for each, bind in bound)


def _control(parameter: Mapping[str, Any], bind: Mapping[str, Any]) -> Control:
    common = {
        "parameter": parameter["name"],
        "label": str(bind.get("name", parameter["name"])).strip(" :"),
        "value": parameter["value"],
    }
    if bind["input"] == "select":
        return Control(**common, options=bind["options"])
    return Control(**common, low=bind["min"], high=bind["max"], step=bind["step"])


def parameters(texts: Mapping[str, str]) -> list[alt.VariableParameter]:
    """Parameters that are expressions of others.

    Examples
    --------
    >>> [each.name for each in parameters({"best": "answer.best_gamma"})]
    ['best']
    """
    return [alt.VariableParameter(name=name, expr=expression) for name, expression in texts.items()]
