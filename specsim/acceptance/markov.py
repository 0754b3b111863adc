"""Acceptance set by a hidden state that changes from draft to draft: a two-state Markov chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.family import Family
from specsim.checks import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkovAcceptance(Acceptance):
    """See `Acceptance.markov`.

    Parameters
    ----------
    start_good : float
        Probability that the first draft of a round is judged in the good state [1].
    stay_good, stay_bad : float
        Probability that the next draft is judged in the same state [1].
    alpha_good, alpha_bad : float
        Acceptance in each state [1].
    source : str
        Where it comes from.

    Notes
    -----
    Exact by dynamic programming over the state given that all drafts stood. s_k is w x^k + (1 - w) y^k with x and y
    the eigenvalues of diag(alpha) times the transition matrix, so lengths alone tell three numbers, not five. A fit
    therefore names the member of each class with alpha_good = stay_bad = 1: a round starts in a run of drafts that
    all stand with `start_good`, the run goes on with `stay_good`, and after it every draft stands with `alpha_bad`.
    With x > y >= 0 every law of the family is in that form: it gives w = start_good (1 - y) / (x - y), and
    s_1 <= 1 allows no larger w. States that tend to alternate (y < 0) are left out of fits.

    Examples
    --------
    >>> text = MarkovAcceptance(start_good=0.5, stay_good=0.9, stay_bad=0.9, alpha_good=0.9, alpha_bad=0.5)
    >>> text.survival(2).round(4)
    array([0.7  , 0.522])
    """

    start_good: float
    stay_good: float
    stay_bad: float
    alpha_good: float
    alpha_bad: float
    source: str = ""

    def __post_init__(self) -> None:
        for part in ("start_good", "stay_good", "stay_bad", "alpha_good", "alpha_bad"):
            checks.probability(part, getattr(self, part))

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"two states, {self.alpha_good:g} and {self.alpha_bad:g}"

    def _conditional(self, gamma: int) -> FloatArray:
        return _conditional(
            gamma,
            good=float(self.start_good),
            stay=(float(self.stay_good), float(self.stay_bad)),
            alpha=(float(self.alpha_good), float(self.alpha_bad)),
        )


def _conditional(gamma: int, *, good: float, stay: tuple[float, float], alpha: tuple[float, float]) -> FloatArray:
    alphas = np.zeros(gamma)
    for depth in range(gamma):
        in_good, in_bad = good * alpha[0], (1 - good) * alpha[1]  # this draft stands, and was judged there
        stands = in_good + in_bad
        alphas[depth] = min(1.0, stands)
        if stands == 0:
            break  # no round gets deeper
        good = (in_good * stay[0] + in_bad * (1 - stay[1])) / stands
    return alphas


def _law(point: FloatArray) -> MarkovAcceptance:
    start, stay, bad = point.tolist()
    return MarkovAcceptance(start_good=start, stay_good=stay, stay_bad=1.0, alpha_good=1.0, alpha_bad=bad)


def _run_then_constant(point: FloatArray, gamma: int) -> FloatArray:
    start, stay, bad = point.tolist()
    return _conditional(gamma, good=start, stay=(stay, 1.0), alpha=(1.0, bad))


FAMILY = Family(
    name="markov",
    parameters=("start_good", "stay_good", "alpha_bad"),
    conditional=_run_then_constant,
    law=_law,
    starts=lambda rough: [
        (0.05, 0.5, float(rough.mean())),
        (0.3, 0.9, 0.7 * float(rough[0])),
        (0.7, 0.5, 0.8 * float(rough[-1])),
        (0.95, 0.2, float(rough[-1])),
    ],
)
