"""A smaller model that drafts one token per pass of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.roofline import Count, PassCost, Seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelDrafter:
    """Drafts with a model of its own: as many one-token passes as there are drafted tokens.

    Parameters
    ----------
    name : str
        Name for people.
    passes : PassCost
        Cost of one pass of the drafting model, on the hardware where it runs.
    context : int
        Tokens cached per sequence [1].

    Notes
    -----
    The pass that reads the last accepted token after a full acceptance scores two tokens; it is taken to cost one.

    Examples
    --------
    >>> from specsim.roofline import Staircase
    >>> small = Staircase(tokens=(1,), seconds=(0.002,), source="benchmark")
    >>> ModelDrafter(name="small", passes=small).draft_seconds(4)
    0.008
    """

    name: str
    passes: PassCost
    context: int = 0

    def __post_init__(self) -> None:
        checks.integer("context", self.context)

    def draft_seconds(self, drafted: Count, *, batch: int = 1) -> Seconds:
        """One pass over one token for every drafted token [s]."""
        count = checks.integers("drafted", drafted)
        seconds = np.asarray(count * float(self.passes.pass_seconds(tokens=1, batch=batch, context=self.context)))
        return seconds if seconds.ndim else float(seconds)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """1 at every depth: a model always proposes [1]."""
        return np.ones(checks.integer("gamma", gamma))
