"""plan: which drafter, how deep, on how many accelerators - or what would have to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from specsim import checks
from specsim.capacity.candidate import PLAIN, Candidate, best_candidate, plain_candidate
from specsim.capacity.infeasible import refuse_latency, refuse_memory
from specsim.capacity.variants import Given, assumed_acceptance, variants
from specsim.capacity.workload import Workload
from specsim.catalog import Hardware, ModelShape, published_rows
from specsim.drafters import METHODS
from specsim.errors import InputError, SpecsimError
from specsim.placement import Placement
from specsim.roofline import Efficiency

OBJECTIVES: dict[str, Callable[[Candidate], float]] = {
    "device": lambda candidate: candidate.device_tokens_per_second,
    "user": lambda candidate: candidate.user_tokens_per_second,
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Plan:
    """Ranked ways to serve a workload.

    Parameters
    ----------
    workload : Workload
        What is served.
    objective : str
        "device" (tokens per second of an accelerator, the cheapest) or "user" (of a sequence, the fastest).
    candidates : tuple of Candidate
        Each method and plain decoding at its best depth and degree, those that meet every constraint, best first.
    rejected : Mapping[str, str]
        Methods that do not, and why.
    constraint : str
        What keeps the best from being better.
    assumptions : tuple of str
        What the numbers rest on.
    """

    workload: Workload
    objective: str
    candidates: tuple[Candidate, ...]
    rejected: Mapping[str, str]
    constraint: str
    assumptions: tuple[str, ...]

    @property
    def best(self) -> Candidate:
        """The first."""
        return self.candidates[0]

    def frame(self) -> pd.DataFrame:
        """A row a candidate, best first."""
        return pd.DataFrame([_row(candidate) for candidate in self.candidates])


def plan(
    target: ModelShape,
    hardware: Hardware,
    workload: Workload,
    *,
    methods: Iterable[str] | None = None,
    acceptance: Mapping[str, Given] | None = None,
    tensor_parallel: Iterable[int] | None = None,
    efficiency: Efficiency | None = None,
    objective: str = "device",
) -> Plan:
    """Rank drafters, their depth or tree, and the tensor-parallel degree for a workload.

    Parameters
    ----------
    target, hardware, workload
        What is served, on what, and for whom.
    methods : iterable of str, optional
        Names of `METHODS`; by default all.
    acceptance : mapping of str to float or Acceptance, optional
        Your own measurement by method; others take published figures, which are of other models and texts.
    tensor_parallel : iterable of int, optional
        Degrees looked at; by default the powers of two up to a node's accelerators that divide the heads.
    efficiency : Efficiency, optional
        By default the best that is known of the hardware.
    objective : str
        "device" or "user".

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        An unknown method, task or objective, a degree that does not divide the heads.
    InfeasibleError
        No degree holds the model with this batch and context, or none is fast enough; the message says what would.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> found = plan(
    ...     model("Llama-3.1-8B"), hardware("H100-SXM"), Workload(batch=8, context=2048), methods=["eagle3", "ngram"],
    ...     acceptance={"eagle3": 0.75, "ngram": 0.4}, tensor_parallel=[1], efficiency=Efficiency.ideal()
    ... )
    >>> [(candidate.name, candidate.gamma) for candidate in found.candidates]
    [('eagle3', 6), ('ngram', 16), ('plain', 0)]
    """
    score = OBJECTIVES[checks.one_of("objective", objective, OBJECTIVES)]
    names = [checks.one_of("method", name, METHODS) for name in (METHODS if methods is None else methods)]
    given = dict(acceptance or {})
    for name in given:
        checks.one_of("method of acceptance", name, METHODS)
    if workload.task is not None:
        checks.one_of("task", workload.task, {row.task for row in published_rows()})
    reached = efficiency or Efficiency.default(hardware)
    places = _placements(target, hardware, reached, tensor_parallel)
    plain = [plain_candidate(place, workload) for place in places]
    fitting = [candidate.place for candidate in plain if candidate.memory.fits]
    if not fitting:
        raise refuse_memory(plain)
    found: dict[str, list[Candidate]] = {PLAIN: [candidate for candidate in plain if candidate.memory.fits]}
    rejected: dict[str, str] = {}
    for name in names:
        try:
            found[name] = _candidates(name, fitting, given, workload)
        except SpecsimError as error:
            rejected[name] = str(error)
    best = _best(found, rejected, workload, score)
    if not best:
        raise refuse_latency([candidate for group in found.values() for candidate in group])
    ranked = tuple(sorted(best, key=score, reverse=True))
    return Plan(
        workload=workload,
        objective=objective,
        candidates=ranked,
        rejected=rejected,
        constraint=_constraint(ranked[0], plain),
        assumptions=_assumptions(ranked, reached),
    )


def _placements(
    target: ModelShape, hardware: Hardware, efficiency: Efficiency, degrees: Iterable[int] | None
) -> list[Placement]:
    if degrees is not None:
        asked = list(degrees)
        if not asked:
            raise InputError("tensor_parallel must have at least one degree")
        return [_placement(target, hardware, efficiency, degree) for degree in asked]
    places = []
    degree = 1
    while degree <= hardware.devices_per_node:
        try:
            places.append(_placement(target, hardware, efficiency, degree))
        except InputError:
            break
        degree *= 2
    return places


def _placement(target: ModelShape, hardware: Hardware, efficiency: Efficiency, degree: int) -> Placement:
    return Placement(target=target, hardware=hardware, efficiency=efficiency, tensor_parallel=degree)


def _candidates(name: str, places: list[Placement], given: Mapping[str, Given], workload: Workload) -> list[Candidate]:
    assumed = assumed_acceptance(name, given, task=workload.task)
    ways = list(variants(name, places[0].target, assumed))
    return [best_candidate(name, place, ways, assumed, workload) for place in places]


def _best(
    found: Mapping[str, list[Candidate]],
    rejected: dict[str, str],
    workload: Workload,
    score: Callable[[Candidate], float],
) -> list[Candidate]:
    """Of each method the best degree that meets the constraints; what meets none is put among the rejected."""
    best = []
    for name, candidates in found.items():
        fits = [candidate for candidate in candidates if candidate.memory.fits]
        fast = [candidate for candidate in fits if _is_fast(candidate, workload)]
        if fast:
            best.append(max(fast, key=score))
        elif fits:
            fastest = max(fits, key=lambda candidate: candidate.user_tokens_per_second)
            rejected[name] = f"too slow: {fastest.user_tokens_per_second:.1f} tokens/s for each user at best"
        else:
            roomiest = max(candidates, key=lambda candidate: candidate.memory.max_batch)
            rejected[name] = f"out of memory: room for {roomiest.memory.max_batch} sequences of {workload.batch}"
    return best


def _is_fast(candidate: Candidate, workload: Workload) -> bool:
    least = workload.user_tokens_per_second
    return least is None or candidate.user_tokens_per_second >= least


def _constraint(best: Candidate, plain: list[Candidate]) -> str:
    """What keeps the best candidate from being better."""
    workload = best.workload
    smaller = [one for one in plain if one.place.tensor_parallel < best.place.tensor_parallel]
    if smaller and not any(one.memory.fits for one in smaller):
        return f"memory: fewer than {best.place.tensor_parallel} accelerators do not hold it"
    if smaller and workload.user_tokens_per_second is not None:
        return f"latency: fewer than {best.place.tensor_parallel} accelerators are slower than the target"
    if best.memory.max_batch < 2 * workload.batch:
        return f"memory: room for {best.memory.max_batch} sequences"
    return f"{best.bound}: what the target's pass waits for"


def _assumptions(ranked: tuple[Candidate, ...], efficiency: Efficiency) -> tuple[str, ...]:
    sources = [f"{one.name}: acceptance {one.assumed.source}" for one in ranked if one.assumed]
    return (
        f"passes: {efficiency.source}",
        "all sequences of the batch draft equally deep and have the same context",
        f"attention reads a sequence's cache once, and {efficiency.kv_reread:g} of it again for each further token of "
        "a round; intervals take that for certain, sensitivities show what it is worth",
        "acceptance does not change with depth unless a law says so; the batch does not change it",
        *sources,
    )


def _row(candidate: Candidate) -> dict[str, Any]:
    interval = candidate.interval
    return {
        "method": candidate.name,
        "gamma": candidate.gamma,
        "nodes": candidate.nodes,
        "tensor_parallel": candidate.place.tensor_parallel,
        "alpha": candidate.assumed.alpha if candidate.assumed else None,
        "E_tokens": candidate.E_tokens,
        "speedup": candidate.speedup,
        "speedup_low": interval.low if interval else None,
        "speedup_high": interval.high if interval else None,
        "user_tokens_per_second": candidate.user_tokens_per_second,
        "device_tokens_per_second": candidate.device_tokens_per_second,
        "price_per_million": candidate.price_per_million,
        "memory_bytes": candidate.memory.bytes,
        "max_batch": candidate.memory.max_batch,
        "crossover_batch": candidate.crossover_batch,
        "compute_bound_batch": candidate.compute_bound_batch,
        "bound": candidate.bound,
    }
