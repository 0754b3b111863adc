"""PlacedDrafter: a method for a target, on a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import FloatArray
from specsim.drafters import counts
from specsim.drafters.method import DraftMethod
from specsim.errors import InputError
from specsim.roofline import Count, PassCost, Seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedDrafter:
    """What a method costs where `cost_of` says what passes cost: a `Drafter`.

    Parameters
    ----------
    method : DraftMethod
        How drafts are made.
    target : ModelShape
        Whom they are made for.
    cost_of : callable
        Cost of the passes of a shape, such as `lambda shape: Roofline(model=shape, hardware=gpu, efficiency=losses)`;
        asked once, when the drafter is made.

    Raises
    ------
    InputError
        A part of the wrong kind, a draft model with another vocabulary; later, a gamma that is too deep for the method.

    Notes
    -----
    All passes of a round are taken to see the context of its start.

    Examples
    --------
    >>> from specsim.catalog import hardware, model
    >>> from specsim.drafters import Eagle3
    >>> from specsim.roofline import Efficiency, Roofline
    >>> gpu = hardware("H100-SXM")
    >>> ideal = lambda shape: Roofline(model=shape, hardware=gpu, efficiency=Efficiency.ideal())
    >>> drafter = PlacedDrafter(method=Eagle3(), target=model("Llama-3.1-8B"), cost_of=ideal)
    >>> [round(1e3 * drafter.draft_seconds(gamma), 2) for gamma in (0, 1, 4)]
    [0.0, 0.25, 1.01]
    """

    method: DraftMethod
    target: ModelShape
    cost_of: Callable[[ModelShape], PassCost]
    _passes: PassCost | None = field(init=False, repr=False, compare=False)
    _serial: PassCost | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for part, kind in (("method", DraftMethod), ("target", ModelShape)):
            if not isinstance(getattr(self, part), kind):
                raise InputError(f"{part} must be of type {kind.__name__}, got {getattr(self, part)!r}")
        own, serial = self.method.model(self.target), self.method.serial_model(self.target)
        object.__setattr__(self, "_passes", None if own is None else self.cost_of(own))
        object.__setattr__(self, "_serial", None if serial is None else self.cost_of(serial))

    @property
    def name(self) -> str:
        """Of the method."""
        return self.method.name

    @property
    def verify_share(self) -> float:
        """What is left of the target's pass [1]."""
        return self.method.verify_share(self.target)

    def draft_seconds(self, drafted: Count, *, batch: Count = 1, context: Count = 0) -> Seconds:
        """Passes, what follows them one draft at a time, and the host [s]."""
        depths, sequences, cached = counts.checked(drafted, batch, context)
        taken = np.asarray(self.method.host_seconds(depths, batch=sequences))
        if self._passes is not None:
            passes = self.method.passes(depths)
            first = _seconds(self._passes, self.method.first_pass_tokens(depths), batch, context)
            later = _seconds(self._passes, self.method.pass_tokens(depths), batch, context)
            taken = taken + np.where(passes > 0, first + (passes - 1) * later, 0.0)
        if self._serial is not None:
            taken = taken + depths * _seconds(self._serial, np.asarray(1), batch, context)
        return counts.seconds(np.asarray(taken), depths, sequences, cached)

    def target_tokens(self, drafted: Count) -> Count:
        """Of the method: chain, tree, or window [1]."""
        return counts.tokens(self.method.target_tokens(drafted))

    def proposed_survival(self, gamma: int) -> FloatArray:
        """Of the method [1]."""
        return self.method.proposed_survival(checks.integer("gamma", gamma))


def _seconds(cost: PassCost, tokens: Count, batch: Count, context: Count) -> FloatArray:
    """Of a pass; depths that take none are asked as passes over one token."""
    return np.asarray(cost.pass_seconds(tokens=np.maximum(tokens, 1), batch=batch, context=context))
