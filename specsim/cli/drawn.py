"""What `--chart` draws of each command's answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from specsim import catalog
from specsim.capacity import Plan
from specsim.charts import (
    drafters_by_speedup,
    gain_by_batch,
    gain_by_batch_and_context,
    pass_parts_by_tokens,
    speedup_sensitivity,
)
from specsim.charts.theme import stacked
from specsim.checks import IntArray
from specsim.drafters import METHODS
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.roofline import Roofline
from specsim.sweep import AXES, EFFICIENCIES, sweep

Chart = alt.LayerChart | alt.VConcatChart

MOST_LINES = 6
"""Colours that can be told apart."""
BEYOND_RIDGE = 4
"""Times the ridge that passes are shown: far enough to see that each further token costs the same."""


def plan_chart(found: Plan, frame: pd.DataFrame, moved: list[dict[str, Any]], *, theme: str) -> Chart:
    """The ranking, and below it what the best rests on."""
    best = found.best
    degrees = {one.place.tensor_parallel for one in found.candidates}
    machine = f"{_several(degrees.pop()) if len(degrees) == 1 else ''}{best.place.hardware.name}"
    load = f"batch {found.workload.batch}, context {found.workload.context}"
    ranking = drafters_by_speedup(
        frame, title=f"Speedup by drafter, {best.place.target.name} on {machine}, {load}", theme=theme
    )
    if not moved:
        return ranking
    title = f"What moves the speedup of {best.name}"
    return stacked(ranking, speedup_sensitivity(pd.DataFrame(moved), speedup=best.speedup, title=title, theme=theme))


def sweep_chart(frame: pd.DataFrame, *, efficiency: str, theme: str) -> alt.LayerChart:
    """Lines over the batch, or a map of batch and context where those are more lines than there are colours."""
    by = swept_besides(frame)
    title = f"Speedup{_shared(frame, [by, 'batch'] if frame[by].nunique() > 1 else ['batch'])}"
    if by == "context" and frame[by].nunique() > MOST_LINES:
        return gain_by_batch_and_context(frame, title=title, theme=theme)
    marks = pd.DataFrame(_marks(frame, by, efficiency=efficiency))
    return gain_by_batch(frame, by=by, marks=marks, title=title, theme=theme)


def swept_besides(asked: Mapping[str, Any] | pd.DataFrame) -> str:
    """What a sweep varies besides the batch, given its axes, its list or its results; the method where nothing else.

    Raises
    ------
    InputError
        It varies something that no chart shows, or takes more values than there are colours.

    Examples
    --------
    >>> swept_besides({"batch": [1, 8], "gamma": [2, 4]}), swept_besides({"batch": [1, 8]})
    ('gamma', 'method')
    """
    numbers = {name: pd.Series(asked[name]).nunique(dropna=False) for name in AXES if name in asked}
    varying = [name for name, number in numbers.items() if number > 1]
    lines = [name for name in varying if name != "batch"]
    if "batch" not in varying or len(lines) > 1:
        got = ", ".join(varying) or "one scenario"
        raise InputError(f"a chart needs a sweep of batch and at most one input besides, got {got}")
    by = lines[0] if lines else "method"
    if by != "context" and numbers.get(by, 1) > MOST_LINES:
        raise InputError(f"a chart shows at most {MOST_LINES} values of {by}, got {numbers[by]}")
    return by


def _shared(frame: pd.DataFrame, varying: list[str]) -> str:
    """What all rows have in common, in words."""
    row = frame.iloc[0]
    words = {
        "method": f" of {row.method}",
        "gamma": f", γ {row.gamma}",
        "alpha": f", α {row.alpha:g}" if row.alpha == row.alpha else "",
        "model": f", {row.model}",
        "hardware": f" on {row.hardware}",
        "tensor_parallel": f", tensor-parallel {row.tensor_parallel}" if row.tensor_parallel > 1 else "",
        "context": f", context {row.context}",
    }
    return "".join(word for name, word in words.items() if name not in varying)


def _marks(frame: pd.DataFrame, by: str, *, efficiency: str) -> Iterator[dict[str, Any]]:
    """Batches at which a line crosses 1, the last or first that gains, and where verification turns compute-bound."""
    axes = {name: frame[name].unique().tolist() for name in AXES if frame[name].notna().all()}
    every = np.arange(frame["batch"].min(), frame["batch"].max() + 1)
    dense = sweep({**axes, "batch": every.tolist()}, efficiency=efficiency)
    shown = np.unique(frame["batch"])
    for value, line in dense.groupby(by, sort=False):
        bound = _compute_bound(line.iloc[0], efficiency=efficiency)
        places = [(batch, "crossover") for batch in _crossovers(line, shown)]
        places += [(bound, "compute-bound")] if every[0] < bound <= every[-1] else []
        for batch, mark in places:
            row = line.iloc[batch - every[0]]
            yield {by: value, "batch": batch, "speedup": row["speedup"], "mark": mark}


def _crossovers(line: pd.DataFrame, shown: IntArray) -> Iterator[int]:
    """The last or first batch that gains, in each interval of the shown batches of which one end gains.

    Passes that are padded to fixed sizes can cross 1 several times within a few batches; one mark says it.
    """
    batches, gains = line["batch"].to_numpy(), line["speedup"].to_numpy() >= 1
    turns = np.flatnonzero(gains[1:] != gains[:-1])
    for low, high in pairwise(shown):
        inside = turns[(batches[turns] >= low) & (batches[turns] < high)]
        if len(inside) % 2:
            yield int(batches[inside[-1] + (not gains[inside[-1]])])


def _compute_bound(row: pd.Series[Any], *, efficiency: str) -> int:
    """Smallest batch whose verification is compute-bound; 0 for none."""
    hardware = catalog.hardware_from(row["hardware"])
    place = Placement(
        target=catalog.model_from(row["model"]),
        hardware=hardware,
        efficiency=EFFICIENCIES[efficiency](hardware),
        tensor_parallel=int(row["tensor_parallel"]),
    )
    tokens = int(METHODS[row["method"]].default(place.target).target_tokens(int(row["gamma"])))
    return place.cost(place.target).compute_bound_batch(tokens=tokens, context=int(row["context"])) or 0


def step_chart(one: Roofline, counts: Mapping[str, int], *, ridge: float, theme: str) -> alt.LayerChart:
    """Passes that score ever more tokens in each sequence, at the batch and the context that were asked for."""
    batch, context = counts["batch"], counts["context"]
    scored = sorted({counts["tokens"], *(2**k for k in range(13) if 2**k * batch <= BEYOND_RIDGE * ridge)})
    rows = [
        {"tokens": tokens * batch, "part": part, "seconds": seconds}
        for tokens in scored
        for part, seconds in one.parts(tokens=tokens, batch=batch, context=context).items()
        if seconds
    ]
    machine = f"{_several(one.tensor_parallel)}{one.hardware.name}"
    title = f"Time of a pass, {one.model.name} on {machine}, batch {batch}, context {context}"
    return pass_parts_by_tokens(pd.DataFrame(rows), ridge=ridge, title=title, theme=theme)


def _several(degree: int) -> str:
    """`4 x ` where accelerators share the layers."""
    return f"{degree} x " if degree > 1 else ""
