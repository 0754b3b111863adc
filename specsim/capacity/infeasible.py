"""What would make an infeasible plan feasible."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.errors import InfeasibleError, InputError
from specsim.placement import Placement
from specsim.units import human, significant

if TYPE_CHECKING:
    from specsim.capacity.candidate import Candidate
    from specsim.capacity.workload import Workload

BITS = (8, 4)


def refuse_memory(plain: list[Candidate]) -> InfeasibleError:
    """No degree holds target, batch and context."""
    roomiest = max(plain, key=lambda candidate: candidate.place.tensor_parallel)
    place, workload = roomiest.place, roomiest.workload
    needs = human(roomiest.memory.bytes, "B")
    has = human(place.hardware.memory_bytes, "B")
    free = human(roomiest.memory.capacity_bytes - roomiest.memory.reserved_bytes, "B")
    ways = " or ".join(_smaller(place, workload, roomiest.memory.max_batch))
    remedy = f"feasible with {ways}" if ways else "no change of batch, context, bits or accelerators alone is enough"
    return InfeasibleError(
        f"{place.target.name} with {workload.batch} sequences of {workload.context} tokens needs {needs} on each of "
        f"{place.tensor_parallel} {place.hardware.name}, which has {has} ({free} to use); {remedy}"
    )


def refuse_latency(candidates: list[Candidate]) -> InfeasibleError:
    """Nothing that fits is fast enough."""
    fastest = max(
        (candidate for candidate in candidates if candidate.memory.fits),
        key=lambda candidate: candidate.user_tokens_per_second,
    )
    workload = fastest.workload
    batch = _fast_batch(fastest)
    ways = [f"a target of {_rounded_down(fastest.user_tokens_per_second)}", *([f"batch {batch}"] if batch else [])]
    return InfeasibleError(
        f"no way gives each user {workload.user_tokens_per_second:g} tokens/s at batch {workload.batch}: the fastest "
        f"is {fastest.name} at gamma {fastest.gamma} on {fastest.place.tensor_parallel} "
        f"{fastest.place.hardware.name} with {significant(fastest.user_tokens_per_second)}; feasible with "
        + " or ".join(ways)
    )


def _smaller(place: Placement, workload: Workload, max_batch: int) -> Iterator[str]:
    """Changes that let it fit, each alone: fewer sequences, shorter ones, fewer bits, more accelerators."""
    if max_batch:
        yield f"batch {max_batch}"
    context = _longest(place, workload)
    if context:
        yield f"context {context}"
    for bits in BITS:
        if _fits(replace(place, target=place.target.quantised(bits)), workload):
            yield f"weights of {bits} bits"
            break
    devices = _enough(place, workload)
    if devices:
        yield f"tensor parallelism over {devices}"


def _fits(place: Placement, workload: Workload) -> bool:
    return place.memory(batch=workload.batch, context=workload.context).fits


def _longest(place: Placement, workload: Workload) -> int:
    """Longest context that fits with the batch; 0 when none does."""
    low, high = 0, workload.context
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(place, replace(workload, context=middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _enough(place: Placement, workload: Workload) -> int:
    """The next doubling of accelerators that holds it; 0 when no degree that the heads allow does."""
    devices = 2 * place.tensor_parallel
    while devices <= place.target.heads:
        try:
            if _fits(replace(place, tensor_parallel=devices), workload):
                return devices
        except InputError:  # heads that it does not divide, or no link
            return 0
        devices *= 2
    return 0


def _fast_batch(candidate: Candidate) -> int:
    """Largest smaller batch at which the same way is fast enough; 0 when none is."""
    batches = np.arange(1, candidate.workload.batch)
    fast = np.flatnonzero(_speeds(candidate, batches) >= (candidate.workload.user_tokens_per_second or 0.0))
    return int(batches[fast[-1]]) if len(fast) else 0


def _speeds(candidate: Candidate, batches: IntArray) -> FloatArray:
    place, variant, context = candidate.place, candidate.variant, candidate.workload.context
    if variant is None:
        step = place.cost(place.target).pass_seconds(tokens=1, batch=batches, context=context)
        return np.asarray(1 / np.asarray(step))
    found = place.rates(
        variant.method, acceptance=variant.acceptance, gamma=candidate.gamma, batch=batches, context=context
    )
    return found.user_tokens_per_second


def _rounded_down(value: float) -> str:
    """Three digits that are not above the value: a remedy has to be one.

    Examples
    --------
    >>> _rounded_down(123.97), _rounded_down(0.45678)
    ('123', '0.456')
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return significant(math.floor(value / unit) * unit)
