"""Candidate: one way to serve a workload, with what it gives and what it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim.capacity.uncertainty import Interval, speedup_interval
from specsim.capacity.variants import Assumed, Variant
from specsim.capacity.workload import Workload
from specsim.drafters import DraftMethod
from specsim.memory import Memory
from specsim.placement import Placement, token_price
from specsim.rates import Rates
from specsim.scenario import Scenario
from specsim.speedup import crossover_batch

PLAIN = "plain"
MAX_CROSSOVER_BATCH = 1024


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidate:
    """A method at its best depth on one placement; `PLAIN` is decoding without drafts.

    Parameters
    ----------
    name : str
        Of the method.
    place : Placement
        Where the target runs.
    variant : Variant or None
        The method as chain or tree; None for plain decoding.
    assumed : Assumed or None
        What is assumed of its acceptance.
    workload : Workload
        What is served.
    gamma : int
        Depth drafted; 0 for plain decoding [1].
    found : Rates
        Tokens and seconds of a round, single numbers.
    memory : Memory
        On each accelerator.
    """

    name: str
    place: Placement
    variant: Variant | None
    assumed: Assumed | None
    workload: Workload
    gamma: int
    found: Rates
    memory: Memory

    @property
    def method(self) -> DraftMethod | None:
        """None for plain decoding."""
        return self.variant.method if self.variant else None

    @property
    def nodes(self) -> int:
        """Drafted tokens that the target verifies in each sequence [1]."""
        return int(self.method.target_tokens(self.gamma)) - 1 if self.method else 0

    @property
    def E_tokens(self) -> float:
        """Expected tokens per round and sequence, bonus included [1]."""
        return float(self.found.E_tokens)

    @property
    def speedup(self) -> float:
        """Over plain decoding on the same placement [1]."""
        return float(self.found.speedup)

    @property
    def user_tokens_per_second(self) -> float:
        """What each sequence gets [tokens/s]."""
        return float(self.found.user_tokens_per_second)

    @property
    def device_tokens_per_second(self) -> float:
        """What each accelerator gives [tokens/s]."""
        return self.user_tokens_per_second * self.workload.batch / self.place.tensor_parallel

    @property
    def price_per_million(self) -> float | None:
        """Of a million tokens, where the hardware has a price."""
        if self.place.hardware.price_per_hour is None:
            return None
        return float(token_price(self.place.hardware, device_tokens_per_second=self.device_tokens_per_second))

    @property
    def bound(self) -> str:
        """What the target's pass waits for: memory, compute, communication or overhead."""
        target = self.place.cost(self.place.target)
        return target.bound(tokens=self.nodes + 1, batch=self.workload.batch, context=self.workload.context)

    @property
    def crossover_batch(self) -> int | None:
        """Largest batch at which it is not slower than plain decoding; None if beyond 1024, 0 if there is none [1]."""
        if self.variant is None or self.method is None:
            return None
        scenario = Scenario(
            target=self.place.cost(self.place.target),
            drafter=self.place.drafter(self.method),
            acceptance=self.variant.acceptance,
            gamma=self.gamma,
            context=self.workload.context,
        )
        return crossover_batch(scenario, max_batch=MAX_CROSSOVER_BATCH)

    @property
    def compute_bound_batch(self) -> int | None:
        """Smallest batch at which the target's pass turns compute-bound [1]."""
        target = self.place.cost(self.place.target)
        return target.compute_bound_batch(tokens=self.nodes + 1, context=self.workload.context)

    @property
    def interval(self) -> Interval | None:
        """Of the speedup; None for plain decoding."""
        if self.variant is None or self.assumed is None:
            return None
        return speedup_interval(self.place, self.variant, self.assumed, self.workload, gamma=self.gamma)


def plain_candidate(place: Placement, workload: Workload) -> Candidate:
    """Decoding without drafts."""
    step = place.cost(place.target).pass_seconds(tokens=1, batch=workload.batch, context=workload.context)
    none, seconds = np.zeros(()), np.asarray(step)
    return Candidate(
        name=PLAIN,
        place=place,
        variant=None,
        assumed=None,
        workload=workload,
        gamma=0,
        found=Rates(
            E_tokens=np.ones(()), draft_seconds=none, verify_seconds=seconds, host_seconds=none, plain_seconds=seconds
        ),
        memory=place.memory(batch=workload.batch, context=workload.context),
    )


def best_candidate(
    name: str, place: Placement, variants: list[Variant], assumed: Assumed, workload: Workload
) -> Candidate:
    """The variant and the depth with the most tokens per second, of those that fit the memory if any does."""
    options = [_deepest(name, place, variant, assumed, workload) for variant in variants]
    return max(options, key=lambda option: (option.memory.fits, option.user_tokens_per_second))


def _deepest(name: str, place: Placement, variant: Variant, assumed: Assumed, workload: Workload) -> Candidate:
    """A variant at its best depth."""
    found = place.rates(
        variant.method,
        acceptance=variant.acceptance,
        gamma=variant.gammas,
        batch=workload.batch,
        context=workload.context,
    )
    best = int(np.argmax(found.user_tokens_per_second))
    gamma = int(variant.gammas[best])
    return Candidate(
        name=name,
        place=place,
        variant=variant,
        assumed=assumed,
        workload=workload,
        gamma=gamma,
        found=found.at(best),
        memory=place.memory(variant.method, batch=workload.batch, context=workload.context, gamma=gamma),
    )
