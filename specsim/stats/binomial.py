"""The exact binomial test."""

from __future__ import annotations

from typing import Literal, cast

from scipy import stats

from specsim import checks
from specsim.stats.power import score_tv
from specsim.stats.result import TestResult

Alternative = Literal["two-sided", "less", "greater"]


def exact_binomial(successes: int, trials: int, *, probability: float, alternative: str = "two-sided") -> TestResult:
    """Whether `successes` out of `trials` fit a known probability.

    Parameters
    ----------
    successes, trials : int
        Counts [1].
    probability : float
        Of a success under the null [1].
    alternative : str
        "two-sided", "less" or "greater": what the true probability may be instead.

    Returns
    -------
    TestResult
        The statistic is the share of successes; `smallest_tv` is the change of the probability that is caught.

    Raises
    ------
    InputError
        More successes than trials, no trials, a probability outside [0, 1], an unknown alternative.

    Notes
    -----
    Exact; conservative, since the count is discrete. Two-sided: all counts no likelier than the observed one.

    Examples
    --------
    >>> round(exact_binomial(9, 10, probability=0.5).pvalue, 4)
    0.0215

    """
    total = checks.integer("trials", trials, low=1)
    count = checks.integer("successes", successes, high=total)
    side = cast("Alternative", checks.one_of("alternative", alternative, ("two-sided", "less", "greater")))
    outcome = stats.binomtest(count, total, p=checks.probability("probability", probability), alternative=side)
    variance = total * probability * (1 - probability)
    return TestResult(
        test="exact_binomial",
        statistic=count / total,
        pvalue=min(1.0, float(outcome.pvalue)),
        n=total,
        smallest_tv=score_tv(spread=2 * variance, variance=variance, n=total),
    )
