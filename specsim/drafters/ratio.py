"""A drafter whose step takes a fixed share of a target's step: the `c` of Leviathan et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.drafters import counts
from specsim.errors import InputError
from specsim.roofline import Count, PassCost, Seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class RatioDrafter:
    """Drafts one token per step, and a step takes `c` times a plain step of the target.

    Parameters
    ----------
    c : float
        Seconds of a drafter step over seconds of a target step [1].
    step_seconds : float, optional
        The target's step, the same at any batch [s].
    step : PassCost, optional
        The target's pass, so that the drafter's step grows with batch and context as the target's does.
    name : str
        Name for people.

    Raises
    ------
    InputError
        c below 0, or not exactly one of `step_seconds` and `step`.

    Notes
    -----
    c is defined in section 3.3 of [1], whose theorems know no catch-up pass. It proposes as many tokens as it is
    asked for.

    References
    ----------
    .. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192.

    Examples
    --------
    >>> RatioDrafter(c=0.1, step_seconds=0.04).draft_seconds(5)
    0.02
    """

    c: float
    step_seconds: float | None = None
    step: PassCost | None = None
    name: str = "ratio"

    def __post_init__(self) -> None:
        checks.non_negative("c", self.c)
        if (self.step_seconds is None) == (self.step is None):
            raise InputError("a ratio drafter must have exactly one of step_seconds and step")
        if self.step_seconds is not None:
            checks.positive("step_seconds", self.step_seconds)

    @property
    def verify_share(self) -> float:
        """1: the target's whole pass [1]."""
        return 1.0

    def draft_seconds(self, drafted: Count, *, batch: Count = 1, context: Count = 0) -> Seconds:
        """A share `c` of a target step for every drafted token [s]."""
        count, sequences, cached = counts.checked(drafted, batch, context)
        taken = self.c * count * np.asarray(self._step(batch, context))
        return counts.seconds(np.asarray(taken), count, sequences, cached)

    def target_tokens(self, drafted: Count) -> Count:
        """The last committed token and the drafted ones [1]."""
        return counts.chain_tokens(drafted)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """1 at every depth: a model always proposes [1]."""
        return np.ones(checks.integer("gamma", gamma))

    def _step(self, batch: Count, context: Count) -> Seconds:
        if self.step is None:
            return float(self.step_seconds or 0.0)
        return self.step.pass_seconds(tokens=1, batch=batch, context=context)
