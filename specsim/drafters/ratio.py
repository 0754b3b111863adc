"""A drafter whose step takes a fixed share of a target's step: the `c` of Leviathan et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
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
        The target's pass, so that the drafter's step grows with the batch as the target's does.
    context : int
        Cached tokens at which `step` is asked [1].
    name : str
        Name for people.

    Raises
    ------
    InputError
        c below 0, or not exactly one of `step_seconds` and `step`.

    Notes
    -----
    c is defined in section 3.3 of [1]. It proposes as many tokens as it is asked for.

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
    context: int = 0
    name: str = "ratio"

    def __post_init__(self) -> None:
        checks.non_negative("c", self.c)
        checks.integer("context", self.context)
        if (self.step_seconds is None) == (self.step is None):
            raise InputError("a ratio drafter must have exactly one of step_seconds and step")
        if self.step_seconds is not None:
            checks.positive("step_seconds", self.step_seconds)

    def draft_seconds(self, drafted: Count, *, batch: int = 1) -> Seconds:
        """A share `c` of a target step for every drafted token [s]."""
        count = checks.integers("drafted", drafted)
        checks.integer("batch", batch, low=1)
        seconds = np.asarray(self.c * count * self._step(batch))
        return seconds if seconds.ndim else float(seconds)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """1 at every depth: a model always proposes [1]."""
        return np.ones(checks.integer("gamma", gamma))

    def _step(self, batch: int) -> float:
        if self.step is None:
            return float(self.step_seconds or 0.0)
        return float(self.step.pass_seconds(tokens=1, batch=batch, context=self.context))
