"""Bound parameters: sliders that a reader moves, in a notebook below the chart, in a page in the page's own look."""

from __future__ import annotations

import altair as alt


def slider(name: str, label: str, *, low: float, high: float, step: float, value: float) -> alt.VariableParameter:
    """A number that expressions of a chart know by `name`.

    Examples
    --------
    >>> heat = slider("heat", "temperature", low=0.2, high=3, step=0.05, value=1)
    >>> heat.to_dict()["bind"]["name"], heat.to_dict()["value"]
    ('temperature', 1)
    """
    bound = alt.BindRange(input="range", min=low, max=high, step=step, name=label)
    return alt.VariableParameter(name=name, value=value, bind=bound)


def with_parameters(chart: alt.LayerChart, *listed: alt.VariableParameter) -> alt.LayerChart:
    """A copy of a finished chart that knows these parameters in all its layers.

    Examples
    --------
    >>> plain = alt.LayerChart(layer=[])
    >>> len(with_parameters(plain, alt.VariableParameter(name="heat", value=1)).params)
    1
    """
    known = chart.copy(deep=False)
    known.params = [*listed]
    return known
