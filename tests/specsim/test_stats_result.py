"""TestResult, Holm, intervals and the refusals of the tests."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import stats
from specsim.errors import InputError
from specsim.stats import TestResult


def result(pvalue: float, **changes: object) -> TestResult:
    return TestResult(**{"test": "a", "statistic": 1.0, "pvalue": pvalue, "n": 3, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pvalue", "changes"),
    [(1.2, {}), (math.nan, {}), (0.5, {"statistic": math.nan}), (0.5, {"n": -1}), (0.5, {"smallest_tv": 1.5})],
)
def test_impossible_results_are_refused(pvalue: float, changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        result(pvalue, **changes)


def test_passed_is_strict_and_checks_its_level() -> None:
    assert not result(0.01).passed(0.01)
    assert not result(0.0).passed(0.0)
    with pytest.raises(InputError, match="level"):
        result(0.5).passed(1.5)


def test_a_session_is_adjusted_by_name() -> None:
    session = {"pit": result(0.5), "scores": result(1e-9), "pairs": result(0.02)}
    assert stats.holm_named(session) == pytest.approx({"pit": 0.5, "scores": 3e-9, "pairs": 0.04})
    assert list(stats.holm_named(session)) == list(session)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_the_raw_value_and_bonferroni(pvalues: list[float]) -> None:
    adjusted = stats.holm(pvalues)
    assert (adjusted >= pvalues).all()
    assert (adjusted <= np.minimum(1, len(pvalues) * np.array(pvalues)) + 1e-15).all()
    assert adjusted.min() == min(1.0, len(pvalues) * min(pvalues))
    assert (np.diff(adjusted[np.argsort(pvalues, kind="stable")]) >= 0).all()


def test_combining_keeps_the_size_under_dependence_and_sees_one_bad_test() -> None:
    """Null: four identical uniform p-values, 4000 times; at level 0.05, one-sided band at 1e-6."""
    rng = np.random.default_rng(0)
    combined = [stats.combine([result(p)] * 4, test="all").pvalue for p in rng.random(4000)]
    rejected = int((np.array(combined) <= 0.05).sum())
    assert stats.exact_binomial(rejected, 4000, probability=0.05, alternative="greater").pvalue > 1e-6
    assert stats.combine([result(0.5), result(1e-9, detail="why")], test="all").detail == "smallest of 2: a (why)"
    assert not stats.combine([result(0.5), result(1e-9)], test="all").passed(1e-6)
    assert stats.combine([result(1.0), result(0.7, test="b")], test="all").detail == "smallest of 2: b"


@pytest.mark.parametrize("method", ["clopper_pearson", "jeffreys"])
@pytest.mark.parametrize("truth", [0.02, 0.3, 0.5])
def test_interval_coverage_is_exact_binomial(method: str, truth: float) -> None:
    """Summed over the binomial law: Clopper-Pearson covers at least 95 %, Jeffreys 95 % give or take 5 %."""
    trials = 60
    low, high = stats.proportion_interval(np.arange(trials + 1), trials=trials, method=method)
    weights = [
        math.comb(trials, k) * Fraction(truth) ** k * (1 - Fraction(truth)) ** (trials - k) for k in range(trials + 1)
    ]
    coverage = float(sum(w for w, a, b in zip(weights, low, high, strict=True) if a <= truth <= b))
    assert coverage >= (0.95 if method == "clopper_pearson" else 0.9)
    assert coverage <= 0.999
    assert (np.diff(low) > 0).all()
    assert (np.diff(high) > 0).all()


def test_clopper_pearson_inverts_the_exact_test() -> None:
    low, high = stats.proportion_interval(7, trials=20, level=0.9)
    for end, side in ((low, "greater"), (high, "less")):
        tail = stats.exact_binomial(7, 20, probability=float(end), alternative=side).pvalue
        assert tail == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stats.goodness_of_fit([1, 2], [0.5, 0.2, 0.3]), "counts must have the shape"),
        (lambda: stats.goodness_of_fit([-1, 20], [0.5, 0.5]), r"counts\[0\] must be a whole number"),
        (lambda: stats.goodness_of_fit([1.5, 20], [0.5, 0.5]), r"counts\[0\] must be a whole number"),
        (lambda: stats.goodness_of_fit([0, 0], [0.5, 0.5]), "at least one observation"),
        (lambda: stats.goodness_of_fit([2, 2], [0.5, 0.5]), "two cells that expect 5"),
        (lambda: stats.goodness_of_fit([2, 2], [0.5, 0.6]), "probabilities must sum to 1"),
        (lambda: stats.uniformity(np.full(20, 0.5)), "five values per bin"),
        (lambda: stats.uniformity([0.5] * 20, bins=1), "bins must be at least 2"),
        (lambda: stats.uniformity([1.2] * 200), r"u\[0\] must be in \[0, 1\]"),
        (lambda: stats.anderson_darling([0.5] * 7), "at least 8 values"),
        (lambda: stats.kolmogorov_smirnov([]), "at least one value"),
        (lambda: stats.exact_binomial(3, 2, probability=0.5), r"successes must be in 0..2"),
        (lambda: stats.exact_binomial(1, 2, probability=0.5, alternative="up"), "alternative 'up' is unknown"),
        (lambda: stats.support([0.5, np.nan]), r"mass\[1\] must be finite"),
        (lambda: stats.holm([]), "at least one value"),
        (lambda: stats.holm_named({}), "at least one test"),
        (lambda: stats.combine([], test="all"), "at least one test"),
        (lambda: stats.proportion_interval(3, trials=2), "successes must be in 0..trials"),
        (lambda: stats.proportion_interval(1, trials=2, level=1.0), "level must be in"),
    ],
)
def test_bad_input_gives_one_clear_line(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
