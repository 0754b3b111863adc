"""What a model on accelerators takes: seconds of passes in tables, and room for sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reports.pages.calculator.ways import OWN, Way
from specsim.catalog import ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.drafters import DraftMethod
from specsim.memory import sequence_bytes
from specsim.placement import Placement
from specsim.roofline import Roofline

BATCHES = tuple(2**k for k in range(11))
CONTEXTS = (256, *(1024 * 2**k for k in range(8)))
DIGITS = 5
"""Significant digits of the tables."""


def in_flight_grid(places: Sequence[Placement], listed: Sequence[Way]) -> IntArray:
    """Tokens in flight at which passes are tabulated: what engines pad to, and all that the menus can ask for [1]."""
    padded = {size for place in places for size in place.efficiency.graph_sizes}
    scored = {tokens for way in listed for tokens in (*way.verified_tokens.tolist(), *way.drafted_tokens.tolist())}
    return np.asarray(sorted(padded | {batch * tokens for batch in BATCHES for tokens in {1, *scored}}))


def label(place: Placement) -> str:
    """The accelerators of a place, for people.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> from specsim.roofline import Efficiency
    >>> gpu, ideal = hardware("H100-SXM"), Efficiency.ideal()
    >>> label(Placement(target=model("Llama-3.1-70B"), hardware=gpu, efficiency=ideal, tensor_parallel=4))
    '4 × H100-SXM'
    """
    return f"{place.tensor_parallel} × {place.hardware.name}" if place.tensor_parallel > 1 else place.hardware.name


def machine_tables(place: Placement, listed: Sequence[Way], grid: IntArray) -> dict[str, Any]:
    """Seconds and memory of one place."""
    target = place.target
    scored: dict[ModelShape, set[int]] = {target: {1}}
    for way in listed:
        scored[target].update(way.verified_tokens.tolist())
        drafted = way.drafted_tokens.tolist()
        for shape, tokens in ((way.method.model(target), drafted), (way.method.serial_model(target), [1])):
            if shape is not None:
                scored.setdefault(shape, set()).update(tokens)
    place_of = {shape: k for k, shape in enumerate(scored)}
    patterns: dict[tuple[float, ...], int] = {}
    return {
        "label": label(place),
        "efficiency": place.efficiency.source,
        "devices": place.tensor_parallel,
        "graph_sizes": list(place.efficiency.graph_sizes),
        "kernel_error": place.efficiency.kernel_error,
        "overhead_error": place.efficiency.overhead_error,
        "shapes": [_shape(place, shape, sorted(tokens), grid, patterns) for shape, tokens in scored.items()],
        "patterns": [np.reshape(pattern, (len(CONTEXTS), len(BATCHES))).tolist() for pattern in patterns],
        "sequence_bytes": _rounded(_cached(target, place.tensor_parallel)),
        "drafters": {OWN: _memory(None, place, place_of)}
        | {way.key: _memory(way.method, place, place_of) for way in listed},
    }


def _shape(
    place: Placement, shape: ModelShape, tokens: list[int], grid: IntArray, patterns: dict[tuple[float, ...], int]
) -> dict[str, Any]:
    """Microseconds of one shape's passes: by tokens in flight, and attention by tokens of a sequence.

    Attention rows that differ by a factor alone, as those of layers of one kind do, share a pattern.
    """
    cost = _cost(place, shape)
    rows = cost.cache_seconds(
        tokens=np.asarray(tokens)[:, None, None],
        batch=np.asarray(BATCHES),
        context=np.asarray(CONTEXTS)[:, None],
    )
    cache = {}
    for count, row in zip(tokens, rows.reshape(len(tokens), -1), strict=True):
        pattern = tuple(_rounded(row / (row[0] or 1.0)))
        cache[count] = [*_rounded(1e6 * row[:1]), patterns.setdefault(pattern, len(patterns))]
    paid = grid[grid <= BATCHES[-1] * max(tokens)]
    return {
        "in_flight": _rounded(1e6 * cost.token_seconds(paid)),
        "cache": cache,
        "fixed_seconds": _fixed_seconds(place, shape),
    }


def _cost(place: Placement, shape: ModelShape) -> Roofline:
    return place.cost(shape) if shape is place.target else place.draft_cost(shape)


def _fixed_seconds(place: Placement, shape: ModelShape) -> float:
    """What a pass pays whatever its size: overhead, and the latency of all-reduces [s]."""
    instant = replace(place, efficiency=replace(place.efficiency, all_reduce_seconds=0.0))
    limits, quick = _cost(place, shape).limits(tokens=1), _cost(instant, shape).limits(tokens=1)
    return float(limits["overhead"] + limits["communication"] - quick["communication"])


def _cached(target: ModelShape, devices: int) -> FloatArray:
    """Bytes of one sequence at each context, with room for drafts beyond the longest, shape (C + 1,) [byte]."""
    return sequence_bytes(target, tokens=np.asarray([*CONTEXTS, 2 * CONTEXTS[-1]]), tensor_parallel=devices)


def _memory(method: DraftMethod | None, place: Placement, place_of: Mapping[ModelShape, int]) -> dict[str, Any]:
    """Shapes of a way of drafting by their place in the table, and what it leaves of the memory."""
    use = place.memory(method, batch=1, context=0)  # of one token, the last committed
    own = method.model(place.target) if method else None
    serial = method.serial_model(place.target) if method else None
    return {
        "shape": None if own is None else place_of[own],
        "serial": None if serial is None else place_of[serial],
        "free_bytes": use.capacity_bytes - use.reserved_bytes - use.weight_bytes - use.draft_weight_bytes,
        "token_bytes": use.draft_sequence_bytes,
    }


def _rounded(values: FloatArray) -> list[float]:
    """To `DIGITS` significant digits, and whole where that is exact, so that the page stays small."""
    rounded = [float(f"{value:.{DIGITS}g}") for value in np.ravel(values)]
    return [int(value) if value.is_integer() else value for value in rounded]
