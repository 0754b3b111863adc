"""Placement: a target on a machine, and what plain and speculative decoding cost there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.catalog import Hardware, ModelShape
from specsim.checks import BoolArray, FloatArray
from specsim.drafters import DraftMethod, PlacedDrafter
from specsim.errors import InputError
from specsim.memory import Memory, memory, sequence_bytes
from specsim.rates import Rates, rates
from specsim.roofline import Count, Efficiency, Roofline


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """A target on `tensor_parallel` accelerators, with what is reached of them.

    Parameters
    ----------
    target : ModelShape
        What is served.
    hardware : Hardware
        Each accelerator.
    efficiency : Efficiency
        What is reached of it, for the target and for drafters.
    tensor_parallel : int
        Accelerators that share every layer [1].

    Raises
    ------
    InputError
        A degree that does not divide the target's heads, or that the hardware has no links for.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> from specsim.drafters import Eagle3
    >>> gpu = hardware("H100-SXM")
    >>> place = Placement(target=model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.ideal())
    >>> found = place.rates(Eagle3(), acceptance=0.75, gamma=np.array([1, 3, 5]), batch=8, context=2048)
    >>> found.speedup.round(2)
    array([1.66, 2.36, 2.6 ])
    """

    target: ModelShape
    hardware: Hardware
    efficiency: Efficiency
    tensor_parallel: int = 1

    def __post_init__(self) -> None:
        self.cost(self.target)

    def cost(self, shape: ModelShape) -> Roofline:
        """Passes of the target, or of a drafter that shares its accelerators [s]."""
        return Roofline(
            model=shape, hardware=self.hardware, efficiency=self.efficiency, tensor_parallel=self.tensor_parallel
        )

    def draft_cost(self, shape: ModelShape) -> Roofline:
        """Passes of a drafter: split like the target where its heads divide, else whole on each accelerator [s]."""
        return replace(self, target=shape, tensor_parallel=self.draft_tensor_parallel(shape)).cost(shape)

    def draft_tensor_parallel(self, shape: ModelShape) -> int:
        """Accelerators that share a drafter [1]."""
        try:
            for block in shape.attention:
                block.sharded(self.tensor_parallel)
        except InputError:
            return 1
        return self.tensor_parallel

    def drafter(self, method: DraftMethod) -> PlacedDrafter:
        """A method on these accelerators."""
        return PlacedDrafter(method=method, target=self.target, cost_of=self.draft_cost)

    def rates(
        self,
        method: DraftMethod,
        *,
        acceptance: FloatArray | float | Acceptance,
        gamma: Count,
        batch: Count = 1,
        context: Count = 0,
    ) -> Rates:
        """Tokens and seconds of rounds with a method, for arrays of scenarios."""
        return rates(
            self.cost(self.target),
            self.drafter(method),
            acceptance=acceptance,
            gamma=gamma,
            batch=batch,
            context=context,
        )

    def memory(self, method: DraftMethod | None = None, *, batch: int, context: int, gamma: int = 0) -> Memory:
        """What lies in the memory of each accelerator."""
        return memory(
            self.target,
            method,
            hardware=self.hardware,
            batch=batch,
            context=context,
            gamma=gamma,
            tensor_parallel=self.tensor_parallel,
            draft_tensor_parallel=self._draft_split(method),
        )

    def fits(self, method: DraftMethod, *, gamma: Count, batch: Count, context: Count) -> BoolArray:
        """Whether each of many scenarios fits the memory, as `memory` says it of one."""
        fixed = self.memory(method, batch=1, context=0)
        free = fixed.capacity_bytes - fixed.reserved_bytes - fixed.weight_bytes - fixed.draft_weight_bytes
        tokens = np.asarray(context) + method.target_tokens(gamma)
        own = sequence_bytes(self.target, tokens=tokens, tensor_parallel=self.tensor_parallel)
        drafts = method.kv_bytes_per_token(self.target) / self._draft_split(method) * tokens
        return np.asarray(np.asarray(batch) * (own + drafts) <= free)

    def _draft_split(self, method: DraftMethod | None) -> int:
        own = method.model(self.target) if method else None
        return self.draft_tensor_parallel(own) if own else self.tensor_parallel


def token_price(hardware: Hardware, *, device_tokens_per_second: FloatArray | float) -> FloatArray:
    """Price of a million tokens, in the currency of `hardware.price_per_hour`.

    Raises
    ------
    InputError
        The hardware has no price.

    Examples
    --------
    >>> from specsim.catalog import hardware
    >>> token_price(replace(hardware("H100-SXM"), price_per_hour=2.5), device_tokens_per_second=1000.0).round(4)
    np.float64(0.6944)
    """
    if hardware.price_per_hour is None:
        raise InputError(f"price_per_hour of {hardware.name} must be set to price tokens, got none")
    hourly = 3600 * np.asarray(device_tokens_per_second, dtype=np.float64)
    return np.asarray(checks.non_negative("price_per_hour", hardware.price_per_hour) / hourly * 1e6)[()]
