"""ServerMetrics: a server's counters, put into the quantities of `conversions`."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import optimize

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.counted import CountedAcceptance
from specsim.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerMetrics:
    """What a server says of its speculation.

    Parameters
    ----------
    server : str
        Name of the engine.
    draft_utilisation : float
        Accepted over drafted tokens: what engines call acceptance rate [1].
    drafted_per_round, accepted_per_round : float, optional
        Means over rounds, where the number of rounds is known [1].
    counts : CountedAcceptance, optional
        By depth, where it is reported.

    Examples
    --------
    >>> metrics = ServerMetrics(server="one", draft_utilisation=0.5, drafted_per_round=3, accepted_per_round=1.5)
    >>> metrics.E_tokens, round(metrics.acceptance().conditional(1).item(), 4)
    (2.5, 0.6914)
    """

    server: str
    draft_utilisation: float
    drafted_per_round: float | None = None
    accepted_per_round: float | None = None
    counts: CountedAcceptance | None = None

    def __post_init__(self) -> None:
        checks.probability("draft_utilisation", self.draft_utilisation)
        if self.drafted_per_round is not None:
            checks.positive("drafted_per_round", self.drafted_per_round)
        if self.accepted_per_round is not None:
            checks.non_negative("accepted_per_round", self.accepted_per_round)

    @property
    def E_tokens(self) -> float:
        """Tokens per round, bonus included [1]."""
        return 1 + self._per_round()[1]

    def acceptance(self) -> Acceptance:
        """The counts by depth, or the constant acceptance that accepts as many tokens per round.

        Raises
        ------
        InputError
            The number of rounds was not reported: accepted over drafted tokens alone fixes no acceptance.

        Notes
        -----
        The constant takes every draft to have the mean length. If lengths differ, whatever the text, acceptance is
        higher than it says, since accepted tokens are concave in the length.
        """
        if self.counts is not None:
            return self.counts
        alpha = _constant_alpha(*self._per_round())
        return Acceptance.constant(alpha, source=f"{self.server}: the constant with the reported mean, an assumption")

    def _per_round(self) -> tuple[float, float]:
        if self.drafted_per_round is None or self.accepted_per_round is None:
            raise InputError(f"{self.server} metrics must come with the number of rounds to give tokens per round")
        return self.drafted_per_round, self.accepted_per_round


def _constant_alpha(drafted: float, accepted: float) -> float:
    """Solves alpha (1 - alpha^g) / (1 - alpha) = accepted for a mean length g that need not be whole."""

    def surplus(alpha: float) -> float:
        return alpha * float(1 - alpha**drafted) / (1 - alpha) - accepted

    highest = 1 - 1e-9
    return float(optimize.brentq(surplus, 0.0, highest)) if surplus(highest) > 0 else 1.0
