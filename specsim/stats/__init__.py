"""Statistical tests on anyone's data: one test per file, each returning a TestResult.

To add one: write its file, add its line to `STATISTICAL_TESTS`, and give `tests/specsim/test_stats_tests.py` a null and
an alternative for it.
"""

from collections.abc import Callable

from specsim.stats.anderson_darling import anderson_darling
from specsim.stats.binomial import exact_binomial
from specsim.stats.chi_square import goodness_of_fit
from specsim.stats.holm import combine, holm
from specsim.stats.interval import proportion_interval
from specsim.stats.kolmogorov_smirnov import kolmogorov_smirnov
from specsim.stats.pit import ORDERS, order_position, randomized_pit
from specsim.stats.power import chi_square_power, smallest_total_variation
from specsim.stats.result import TestResult
from specsim.stats.support import support
from specsim.stats.uniformity import uniformity

STATISTICAL_TESTS: dict[str, Callable[..., TestResult]] = {
    "anderson_darling": anderson_darling,
    "chi_square": goodness_of_fit,
    "exact_binomial": exact_binomial,
    "kolmogorov_smirnov": kolmogorov_smirnov,
    "support": support,
    "uniformity": uniformity,
}

__all__ = [
    "ORDERS",
    "STATISTICAL_TESTS",
    "TestResult",
    "anderson_darling",
    "chi_square_power",
    "combine",
    "exact_binomial",
    "goodness_of_fit",
    "holm",
    "kolmogorov_smirnov",
    "order_position",
    "proportion_interval",
    "randomized_pit",
    "smallest_total_variation",
    "support",
    "uniformity",
]
