"""A smaller model that drafts one token per pass of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.drafters import counts
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

    Notes
    -----
    The first pass scores two tokens: after a round whose drafts were all accepted, the drafter has not yet seen the
    last of them. It is charged in every round, for in a batch some sequence is nearly always in that case.

    Examples
    --------
    >>> from specsim.roofline import Staircase
    >>> small = Staircase(tokens=(1, 2), seconds=(0.002, 0.003), source="benchmark")
    >>> ModelDrafter(name="small", passes=small).draft_seconds(5)
    0.011
    """

    name: str
    passes: PassCost

    @property
    def verify_share(self) -> float:
        """1: the target's whole pass [1]."""
        return 1.0

    def draft_seconds(self, drafted: Count, *, batch: Count = 1, context: Count = 0) -> Seconds:
        """A pass over two tokens, then one over one token for every further drafted token [s]."""
        count, sequences, cached = counts.checked(drafted, batch, context)
        first = np.asarray(self.passes.pass_seconds(tokens=2, batch=batch, context=context))
        later = np.asarray(self.passes.pass_seconds(tokens=1, batch=batch, context=context))
        taken = np.where(count > 0, first + (count - 1) * later, 0.0)
        return counts.seconds(taken, count, sequences, cached)

    def target_tokens(self, drafted: Count) -> Count:
        """The last committed token and the drafted ones [1]."""
        return counts.chain_tokens(drafted)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """1 at every depth: a model always proposes [1]."""
        return np.ones(checks.integer("gamma", gamma))
