"""TestResult: what every statistical test here returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

    def __post_init__(self) -> None:
        if math.isnan(self.statistic):
            raise InputError(f"statistic of {self.test} must not be NaN")
        checks.probability("pvalue", self.pvalue)
        checks.integer("n", self.n)

    def passed(self, level: float) -> bool:
        """Whether the null stands: the p-value is above `level`, the false-alarm rate [1]."""
        return self.pvalue > checks.probability("level", level)
