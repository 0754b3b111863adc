"""Acceptance as it was counted by depth: the data that laws are fitted to, and a law of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.by_depth import check_beyond, extended
from specsim.acceptance.data import Refit
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.interval import proportion_interval

IMPOSSIBLE = 1e-12
"""Probability given to what a law rules out, so that its log likelihood is a number [1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedAcceptance(Acceptance):
    """See `Acceptance.from_counts`.

    Parameters
    ----------
    reached : tuple of int
        Rounds in which draft k was judged: it was drafted and k - 1 drafts stood [1].
    accepted : tuple of int
        Those in which it stood [1].
    beyond : str
        What holds past the last depth that was reached: "raise" or "hold".
    source : str
        Where the counts come from.

    Raises
    ------
    InputError
        Counts of two lengths, no round at all, more accepted than reached, or more reached than accepted before.

    Notes
    -----
    As data it is `Lengths`: the counts hold every round but for its order. Rounds that stop at depth k because no
    more was drafted are those accepted at k and not reached at k + 1.

    Examples
    --------
    >>> counted = Acceptance.from_counts([100, 80], [80, 40])
    >>> counted.conditional(3)
    array([0.8, 0.5, 0.5])
    >>> low, high = counted.interval(0.95)
    >>> low.round(3), high.round(3)
    (array([0.708, 0.386]), array([0.873, 0.614]))
    """

    reached: tuple[int, ...]
    accepted: tuple[int, ...]
    beyond: str = "hold"
    source: str = ""

    def __post_init__(self) -> None:
        if len(self.reached) != len(self.accepted):
            raise InputError(f"accepted must have {len(self.reached)} depths as reached has, got {len(self.accepted)}")
        before = None
        for depth, (reached, accepted) in enumerate(zip(self.reached, self.accepted, strict=True)):
            checks.integer(f"reached[{depth}]", reached, low=1 if before is None else 0, high=before)
            before = checks.integer(f"accepted[{depth}]", accepted, high=reached)
        check_beyond(self.beyond, depths=self.depths)

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"counted, {self.depths} depths"

    @property
    def depths(self) -> int:
        """K, the depths that were reached at least once; deeper ones say nothing and are left out [1]."""
        return len(self.reached) - self.reached.count(0)

    @property
    def size(self) -> int:
        """Rounds [1]."""
        return self.reached[0]

    @property
    def edges(self) -> tuple[int, ...]:
        """Depths at which an acceptance of its own can be told: all of them."""
        return tuple(range(1, self.depths + 1))

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Clopper-Pearson interval of each alpha_k, two arrays of shape (K,) [1].

        Each covers with probability `level` at least where rounds are independent; rounds of one text are not quite.
        """
        reached, accepted = self._counts()
        return proportion_interval(accepted, trials=reached, level=level)

    def rough(self) -> FloatArray:
        """Shares that stood at each depth, shape (K,) [1]."""
        return self._conditional(self.depths)

    def log_likelihood(self, conditional: FloatArray) -> float:
        """Log probability of these rounds in their order, given conditional acceptance by depth, (K,) [nat]."""
        reached, accepted = self._counts()
        alphas = conditional.clip(IMPOSSIBLE, 1 - IMPOSSIBLE)
        return float(accepted @ np.log(alphas) + (reached - accepted) @ np.log1p(-alphas))

    def cutoff(self, level: float, *, parameters: int) -> float:
        """How far twice the log likelihood may fall below its maximum inside an interval, chi-square [nat]."""
        return float(stats.chi2.ppf(level, 1))

    def held_out(self, refit: Refit) -> tuple[FloatArray, FloatArray]:
        """Leave one round out: those that fell at k, or ran out of drafts after k, are one part each."""
        least = 0.5 / (self.size + 1)  # one round never seen before must not rule a law out
        scores, weights = [], []
        for judged, stood, rounds in self._kinds() if self.size > 1 else ():
            law, _ = refit(self._without(judged, stood))
            alphas = law.conditional(judged).clip(least, 1 - least)
            scores.append(float(np.log(np.where(np.arange(judged) < stood, alphas, 1 - alphas)).sum()))
            weights.append(float(rounds))
        return np.asarray(scores), np.asarray(weights)

    def _kinds(self) -> Iterator[tuple[int, int, int]]:
        """Drafts judged, drafts that stood, and how many rounds there are of that kind."""
        deeper = (*self.reached[1:], 0)
        for depth, (reached, accepted, went_on) in enumerate(zip(self.reached, self.accepted, deeper, strict=True)):
            if reached > accepted:
                yield depth + 1, depth, reached - accepted
            if accepted > went_on:
                yield depth + 1, depth + 1, accepted - went_on

    def _without(self, judged: int, stood: int) -> CountedAcceptance:
        reached = tuple(count - (depth < judged) for depth, count in enumerate(self.reached))
        accepted = tuple(count - (depth < stood) for depth, count in enumerate(self.accepted))
        return replace(self, reached=reached, accepted=accepted)

    def _counts(self) -> tuple[FloatArray, FloatArray]:
        return (
            np.asarray(self.reached[: self.depths], dtype=np.float64),
            np.asarray(self.accepted[: self.depths], dtype=np.float64),
        )

    def _conditional(self, gamma: int) -> FloatArray:
        reached, accepted = self._counts()
        return extended(accepted / reached, gamma=gamma, beyond=self.beyond)
