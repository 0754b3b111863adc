"""What all lookups share: drafts that the host copies from text, without any pass."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.drafters.method import DraftMethod, Traits
from specsim.errors import InputError
from specsim.roofline import Count

LOOKED_UP = Traits(q="one_hot", dependence="copied", runs_on="host", trained=False)


class Lookup(DraftMethod):
    """No model, no passes, time of the host for each sequence.

    Raises
    ------
    InputError
        Negative seconds, or `proposed` outside [0, 1] or rising.

    Notes
    -----
    `proposed` holds P(at least k tokens found), k = 1, 2, ..., the last value held beyond; empty is always. A published
    acceptance length counts the rounds without a find already, so the two are not to be mixed.
    """

    __slots__ = ()

    seconds_per_sequence: float
    proposed: tuple[float, ...]

    def __post_init__(self) -> None:
        checks.non_negative("seconds_per_sequence", self.seconds_per_sequence)
        if (np.diff(checks.probabilities("proposed", self.proposed, ndim=1)) > 0).any():
            raise InputError(f"proposed must never rise with depth, got {self.proposed}")

    @classmethod
    @abstractmethod
    def default(cls, target: ModelShape) -> Lookup:
        """The usual configuration, whatever the target."""

    def model(self, target: ModelShape) -> None:
        """None: nothing is computed."""
        return

    def passes(self, gamma: Count) -> IntArray:
        """None [1]."""
        return np.zeros_like(self.depths(gamma))

    def host_seconds(self, gamma: Count, *, batch: Count = 1) -> FloatArray:
        """The lookups of all sequences one after the other [s]."""
        asked = self.depths(gamma) > 0
        return np.asarray(asked * checks.integers("batch", batch, low=1) * self.seconds_per_sequence)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """As given; the last depth is held beyond [1]."""
        rates = np.asarray(self.proposed or (1.0,))
        return np.asarray(rates[np.minimum(np.arange(int(self.depths(gamma))), len(rates) - 1)])
