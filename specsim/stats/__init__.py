"""Statistical tests on anyone's data: one test per file, each returning a TestResult.

To add one: write its file, add its line to `STATISTICAL_TESTS`, and give `tests/specsim/test_stats_tests.py` a null and
an alternative for it.
"""

from collections.abc import Callable

from specsim.stats.acceptance import accepted_drafts, accepted_lengths
from specsim.stats.anderson_darling import anderson_darling
from specsim.stats.betting import BettingProcess, betting
from specsim.stats.binomial import exact_binomial
from specsim.stats.chi_square import goodness_of_fit
from specsim.stats.directional import directional_score, directional_scores, likeliest_cause
from specsim.stats.directions import CAUSES, DIRECTIONS
from specsim.stats.fixed_prompt import fixed_prompt
from specsim.stats.holm import combine, holm, holm_named
from specsim.stats.homogeneity import homogeneity
from specsim.stats.interval import proportion_interval
from specsim.stats.kolmogorov_smirnov import kolmogorov_smirnov
from specsim.stats.mmd import mmd
from specsim.stats.observed import Observed, join, observe, observe_top
from specsim.stats.observed_pit import pit_values, strata
from specsim.stats.pairs import across, pairs, within
from specsim.stats.pit import ORDERS, order_position, randomized_pit
from specsim.stats.power import (
    betting_power,
    betting_tv,
    chi_square_power,
    observations,
    score_tv,
    smallest_total_variation,
)
from specsim.stats.result import TestResult
from specsim.stats.support import support
from specsim.stats.uniform_power import anderson_darling_tv, kolmogorov_smirnov_tv
from specsim.stats.uniformity import uniformity

STATISTICAL_TESTS: dict[str, Callable[..., TestResult]] = {
    "accepted_drafts": accepted_drafts,
    "accepted_lengths": accepted_lengths,
    "anderson_darling": anderson_darling,
    "betting": betting,
    "chi_square": goodness_of_fit,
    "directional_score": directional_score,
    "exact_binomial": exact_binomial,
    "fixed_prompt": fixed_prompt,
    "homogeneity": homogeneity,
    "kolmogorov_smirnov": kolmogorov_smirnov,
    "mmd": mmd,
    "pairs": pairs,
    "support": support,
    "uniformity": uniformity,
}

__all__ = [
    "CAUSES",
    "DIRECTIONS",
    "ORDERS",
    "STATISTICAL_TESTS",
    "BettingProcess",
    "Observed",
    "TestResult",
    "accepted_drafts",
    "accepted_lengths",
    "across",
    "anderson_darling",
    "anderson_darling_tv",
    "betting",
    "betting_power",
    "betting_tv",
    "chi_square_power",
    "combine",
    "directional_score",
    "directional_scores",
    "exact_binomial",
    "fixed_prompt",
    "goodness_of_fit",
    "holm",
    "holm_named",
    "homogeneity",
    "join",
    "kolmogorov_smirnov",
    "kolmogorov_smirnov_tv",
    "likeliest_cause",
    "mmd",
    "observations",
    "observe",
    "observe_top",
    "order_position",
    "pairs",
    "pit_values",
    "proportion_interval",
    "randomized_pit",
    "score_tv",
    "smallest_total_variation",
    "strata",
    "support",
    "uniformity",
    "within",
]
