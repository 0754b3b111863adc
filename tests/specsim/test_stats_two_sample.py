"""Two samples: homogeneity against SciPy, MMD against all permutations; sizes, and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from specsim import stats
from specsim.errors import InputError
from specsim.stats import homogeneity, mmd
from specsim.stats.mmd import EXCEEDANCES, _sequential


def test_homogeneity_agrees_with_scipy_up_to_its_scale() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(4, size=100), rng.integers(4, size=160)
    table = np.stack([np.bincount(sample, minlength=4) for sample in (first, second)])
    theirs = scipy_stats.chi2_contingency(table, correction=False)
    ours = homogeneity([first], [second])
    assert ours.statistic == pytest.approx(theirs.statistic * 259 / 260, rel=1e-12)
    assert ours.details["degrees"] == theirs.dof
    both = homogeneity([first, first], [second, second])
    assert both.statistic == pytest.approx(2 * ours.statistic)
    assert both.details["effective_n"] == pytest.approx(2 * 100 * 160 / 260)


def test_its_mean_given_the_totals_is_exact() -> None:
    """All splits of ten tokens into five and five: the mean of the statistic is its degrees of freedom."""
    tokens = np.array([0] * 4 + [1] * 3 + [2] * 3)
    values = []
    for chosen in itertools.combinations(range(10), 5):
        mask = np.isin(np.arange(10), chosen)
        values.append(homogeneity([tokens[mask]], [tokens[~mask]], min_expected=1).statistic)
    assert np.mean(values) == pytest.approx(2.0, rel=1e-12)


def test_rare_tokens_are_merged_by_both_samples_together() -> None:
    first, second = np.array([0] * 50 + list(range(100, 150))), np.array([0] * 50 + list(range(200, 250)))
    result = homogeneity([first], [second])
    assert result.details["degrees"] == 1
    assert result.pvalue > 0.9  # blind to which of the rare tokens came, as stated


def test_homogeneity_keeps_its_size_far_out() -> None:
    """Null: 30 tokens each of one of five laws, expected about 5 a cell; 8000 runs, three bands at 3e-7.

    At most 1.3 times nominal at 1e-2, as chi-square laws are at 5 a cell; below 1e-3 at most nominal.
    """
    rng, runs = np.random.default_rng(1), 8000
    pvalues = np.array(
        [homogeneity([rng.integers(5, size=30)], [rng.integers(5, size=30)]).pvalue for _ in range(runs)]
    )
    for level, allowed in ((1e-2, 1.3e-2), (1e-3, 1.3e-3), (1e-4, 1e-4)):
        rejected = int((pvalues <= level).sum())
        assert stats.exact_binomial(rejected, runs, probability=allowed, alternative="greater").pvalue > 3e-7


def test_mmd_is_the_sum_of_squared_gaps_of_the_marginals() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.integers(3, size=(20, 4)), rng.integers(3, size=(30, 4))
    gaps = [np.bincount(first[:, i], minlength=3) / 20 - np.bincount(second[:, i], minlength=3) / 30 for i in range(4)]
    assert mmd([first], [second], rng=rng, permutations=19).statistic == pytest.approx(np.square(gaps).sum())


def test_mmd_p_values_are_those_of_all_permutations() -> None:
    """8 texts in two fours: 70 splits. Null: the drawn share is binomial around the exact one; band at 1e-6."""
    first, second = np.array([[0, 0], [0, 1], [0, 0], [1, 0]]), np.array([[1, 1], [1, 1], [0, 1], [1, 1]])
    texts = np.concatenate([first, second])

    def distance(mask: np.ndarray) -> float:
        return float(
            sum(((texts[mask, i] == v).mean() - (texts[~mask, i] == v).mean()) ** 2 for i in (0, 1) for v in (0, 1))
        )

    splits = [np.isin(np.arange(8), chosen) for chosen in itertools.combinations(range(8), 4)]
    all_distances = np.array([distance(mask) for mask in splits])
    exact = (all_distances >= distance(np.arange(8) < 4) - 1e-12).mean()
    result = mmd([first], [second], rng=np.random.default_rng(3), permutations=100_000)
    drawn = int(result.details["permutations"])
    assert 0.01 < exact < 0.5
    assert drawn < 5000  # stopped at the twentieth
    law = scipy_stats.nbinom(EXCEEDANCES, exact)  # of draws that miss before the twentieth that hits
    assert min(law.sf(drawn - EXCEEDANCES - 1), law.cdf(drawn - EXCEEDANCES)) > 5e-7


def test_sequential_p_values() -> None:
    every = np.ones(100)
    assert _sequential(1.0, iter([every]), 100) == (1.0, EXCEEDANCES)
    assert _sequential(2.0, iter([every]), 100) == (1 / 101, 100)
    late = np.r_[np.zeros(80), np.ones(20)]
    assert _sequential(1.0, iter([late]), 100) == (0.2, 100)


def test_mmd_sees_a_shift_of_the_size_that_it_states() -> None:
    """Mass 1.2 times the stated moved from token 0 to 1 at each of 8 places, 60 texts a side of 10 prompts: rejected
    at 1e-3 in all of 20 runs (each is missed with probability below 1e-2: six misses or more have 1e-7).
    """
    rng = np.random.default_rng(4)

    def texts(moved: float) -> list[np.ndarray]:
        return [rng.choice(4, p=[0.4 - moved, 0.2 + moved, 0.2, 0.2], size=(60, 8)) for _ in range(10)]

    size = mmd(texts(0.0), texts(0.0), rng=rng, permutations=999).smallest_tv
    assert size is not None
    missed = sum(not mmd(texts(0.0), texts(1.2 * size), rng=rng, permutations=999).pvalue <= 1e-3 for _ in range(20))
    assert missed < 6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: homogeneity([], []), "second must have one sample per prompt"),
        (lambda: homogeneity([[1]], [[1], [2]]), "second must have one sample per prompt"),
        (lambda: homogeneity([[1]], [[2]]), "two cells that expect 5"),
        (lambda: homogeneity([[]], [[2]]), r"first\[0\]"),
        (lambda: homogeneity([[0.5]], [[2]]), r"first\[0\] must be whole numbers"),
        (lambda: homogeneity([[-1]], [[2]]), r"first\[0\]\[0\] must be at least 0, got -1"),
        (lambda: mmd([], [], rng=np.random.default_rng(0)), "second must have one sample per prompt"),
        (lambda: mmd([[[1]]], [[[1, 2]]], rng=np.random.default_rng(0)), r"must be \(N, L\) and \(M, L\)"),
        (lambda: mmd([[1]], [[1]], rng=np.random.default_rng(0)), r"must be \(N, L\) and \(M, L\)"),
        (
            lambda: mmd([[[1]]], [[[1]]], rng=np.random.default_rng(0), permutations=0),
            "permutations must be at least 1",
        ),
    ],
)
def test_bad_input_gives_one_clear_line(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
