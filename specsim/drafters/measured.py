"""A drafter as it was measured: seconds per round and per token, and how often it finds something to propose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.drafters import counts
from specsim.errors import InputError
from specsim.roofline import Count, Seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredDrafter:
    """Seconds linear in the drafted tokens; what is proposed by depth as counted.

    Parameters
    ----------
    name : str
        Name of the proposer.
    per_round_seconds, per_token_seconds : float
        Cost of a round, and of every drafted token on top [s].
    proposed : tuple of float
        P(at least k tokens proposed), k = 1, 2, ...; never rising. Depths beyond hold the last; empty means always
        (a model drafter), otherwise a hit rate (a lookup) [1].

    Raises
    ------
    InputError
        Negative seconds, or `proposed` outside [0, 1] or rising.

    Notes
    -----
    The cost is that of the batch and context at which it was measured and is not scaled with others.

    Examples
    --------
    >>> lookup = MeasuredDrafter(name="ngram", per_round_seconds=1e-4, per_token_seconds=0.0, proposed=(0.6, 0.5))
    >>> lookup.draft_seconds(3), lookup.proposed_survival(3)
    (0.0001, array([0.6, 0.5, 0.5]))
    """

    name: str
    per_round_seconds: float
    per_token_seconds: float
    proposed: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        checks.non_negative("per_round_seconds", self.per_round_seconds)
        checks.non_negative("per_token_seconds", self.per_token_seconds)
        rates = checks.probabilities("proposed", self.proposed, ndim=1)
        if (np.diff(rates) > 0).any():
            raise InputError(f"proposed must never rise with depth, got {self.proposed}")

    @property
    def verify_share(self) -> float:
        """1: the target's whole pass [1]."""
        return 1.0

    def draft_seconds(self, drafted: Count, *, batch: Count = 1, context: Count = 0) -> Seconds:
        """Seconds per round plus seconds per token [s]."""
        count, sequences, cached = counts.checked(drafted, batch, context)
        taken = np.asarray(self.per_round_seconds + self.per_token_seconds * count)
        return counts.seconds(taken, count, sequences, cached)

    def target_tokens(self, drafted: Count) -> Count:
        """The last committed token and the drafted ones [1]."""
        return counts.chain_tokens(drafted)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """As counted; the last depth is held beyond [1]."""
        rates = np.asarray(self.proposed or (1.0,))
        depths = np.minimum(np.arange(checks.integer("gamma", gamma)), len(rates) - 1)
        return np.asarray(rates[depths])
