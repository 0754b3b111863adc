"""Which input moves the answer most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from specsim.capacity.uncertainty import with_alpha
from specsim.capacity.variants import Assumed, Variant
from specsim.capacity.workload import Workload
from specsim.placement import Placement

LEAST_ALPHA_CHANGE = 0.05
PEAK_CHANGE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """What a speedup becomes when one input goes from one end of its range to the other.

    Parameters
    ----------
    name : str
        The input.
    low_input, high_input : str
        Ends of its range, for people.
    low, high : float
        The speedup at each [1].
    """

    name: str
    low_input: str
    high_input: str
    low: float
    high: float

    @property
    def swing(self) -> float:
        """How far the speedup moves [1]."""
        return abs(self.high - self.low)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Case:
    """All that a speedup is made of."""

    place: Placement
    variant: Variant
    workload: Workload
    gamma: int
    draft_factor: float = 1.0

    @property
    def speedup(self) -> float:
        found = self.place.rates(
            self.variant.method,
            acceptance=self.variant.acceptance,
            gamma=self.gamma,
            batch=self.workload.batch,
            context=self.workload.context,
        )
        return float(replace(found, draft_seconds=self.draft_factor * found.draft_seconds).speedup)


def sensitivities(
    place: Placement, variant: Variant, assumed: Assumed, workload: Workload, *, gamma: int
) -> list[Sensitivity]:
    """How the speedup at a fixed depth follows its inputs, the one that moves it most first.

    Notes
    -----
    One input at a time, the others as they are. Ranges are those of not knowing: acceptance by the error of its source
    and at least 0.05, peaks by a tenth, overhead and the drafter's passes by their factor of error, the cache's reading
    from once per sequence to once per token, routing from balanced to a Zipf exponent of 1; and of use: batch and
    context from half to double.
    """
    case = _Case(place=place, variant=variant, workload=workload, gamma=gamma)
    found = [
        Sensitivity(name=name, low_input=low[0], high_input=high[0], low=low[1].speedup, high=high[1].speedup)
        for name, low, high in _ranges(case, assumed)
    ]
    return sorted(found, key=lambda row: -row.swing)


_End = tuple[str, _Case]


def _ranges(case: _Case, assumed: Assumed) -> Iterator[tuple[str, _End, _End]]:
    """Name, low end and high end of every input."""
    error = max(assumed.error, LEAST_ALPHA_CHANGE)
    less, more = 1 - PEAK_CHANGE, 1 + PEAK_CHANGE
    yield "acceptance", _accepting(case, assumed.alpha - error), _accepting(case, assumed.alpha + error)
    yield "batch", _serving(case, "batch", 0.5), _serving(case, "batch", 2)
    if case.workload.context:
        yield "context", _serving(case, "context", 0.5), _serving(case, "context", 2)
    bandwidth, links = "bandwidth_bytes_per_second", "link_bytes_per_second"
    yield "bandwidth", _on(case, bandwidth, less), _on(case, bandwidth, more)
    yield "peak FLOP/s", _computing(case, less), _computing(case, more)
    if case.place.tensor_parallel > 1:
        yield "links", _on(case, links, less), _on(case, links, more)
    spread = 1 + max(case.place.efficiency.overhead_error, PEAK_CHANGE)
    yield "overhead of a pass", _paying(case, 1 / spread), _paying(case, spread)
    cost = 1 + max(case.place.efficiency.kernel_error, PEAK_CHANGE)
    yield "drafter's seconds", _drafting(case, 1 / cost), _drafting(case, cost)
    yield "cache reads per scored token", _reached(case, "kv_reread", 0.0), _reached(case, "kv_reread", 1.0)
    if case.place.target.experts is not None:
        yield "skew of routing", _reached(case, "expert_skew", 0.0), _reached(case, "expert_skew", 1.0)


def _accepting(case: _Case, alpha: float) -> _End:
    inside = min(max(alpha, 0.0), 1.0)
    law = with_alpha(case.variant, inside)
    return f"{inside:.2f}", replace(case, variant=replace(case.variant, acceptance=law))


def _serving(case: _Case, field: str, factor: float) -> _End:
    value = max(1, round(factor * getattr(case.workload, field)))
    return f"{value}", replace(case, workload=replace(case.workload, **{field: value}))


def _on(case: _Case, field: str, factor: float) -> _End:
    hardware = replace(case.place.hardware, **{field: factor * getattr(case.place.hardware, field)})
    return f"x {factor:.2f}", replace(case, place=replace(case.place, hardware=hardware))


def _computing(case: _Case, factor: float) -> _End:
    peaks = {dtype: factor * peak for dtype, peak in case.place.hardware.flop_per_second.items()}
    hardware = replace(case.place.hardware, flop_per_second=peaks)
    return f"x {factor:.2f}", replace(case, place=replace(case.place, hardware=hardware))


def _paying(case: _Case, factor: float) -> _End:
    reached = case.place.efficiency
    changed = replace(
        reached,
        overhead_seconds=factor * reached.overhead_seconds,
        layer_seconds=factor * reached.layer_seconds,
    )
    return f"x {factor:.2f}", replace(case, place=replace(case.place, efficiency=changed))


def _drafting(case: _Case, factor: float) -> _End:
    return f"x {factor:.2f}", replace(case, draft_factor=factor)


def _reached(case: _Case, field: str, value: float) -> _End:
    changed: dict[str, Any] = {field: value}
    efficiency = replace(case.place.efficiency, **changed)
    return f"{value:g}", replace(case, place=replace(case.place, efficiency=efficiency))
