"""TestResult: what every statistical test here returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from specsim import checks
from specsim.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class TestResult:
    """The outcome of one statistical test.

    Parameters
    ----------
    test : str
        Name of the test.
    statistic : float
        The test's own statistic; infinite when something impossible was seen [1].
    pvalue : float
        Probability under the null of a statistic at least as extreme [1].
    n : int
        Observations that entered [1].
    detail : str
        One line for people.
    log_evalue : float, optional
        Natural logarithm of the largest e-value on the way, of tests by betting [1].
    smallest_tv : float, optional
        Total variation of the smallest fault that a test of this size catches at level 1e-6 with probability 0.99; of
        which faults is said by the test [1].
    details : mapping
        Figures behind the result, by name, for programs.

    Raises
    ------
    InputError
        A statistic that is NaN, or a p-value outside [0, 1].

    Examples
    --------
    >>> result = TestResult(test="chi_square", statistic=3.84, pvalue=0.05, n=100)
    >>> result.passed(0.01), result.passed(0.1)
    (True, False)

    """

    __test__: ClassVar[bool] = False  # pytest: this is no test class

    test: str
    statistic: float
    pvalue: float
    n: int
    detail: str = ""
    log_evalue: float | None = None
    smallest_tv: float | None = None
    details: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if math.isnan(self.statistic):
            raise InputError(f"statistic of {self.test} must not be NaN")
        checks.probability("pvalue", self.pvalue)
        checks.integer("n", self.n)
        if self.smallest_tv is not None:
            checks.probability("smallest_tv", self.smallest_tv)

    def passed(self, level: float) -> bool:
        """Whether the null stands: the p-value is above `level`, the false-alarm rate [1]."""
        return self.pvalue > checks.probability("level", level)
