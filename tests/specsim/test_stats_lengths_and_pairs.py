"""Accepted lengths and drafts, pairs at lags, fixed prompts: exact cases, sizes far out, power, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from specsim import stats
from specsim.errors import InputError
from specsim.stats import accepted_drafts, accepted_lengths, across, fixed_prompt, pairs, within
from specsim.stats.chi_square_tail import guarded, type_three_tail
from specsim.stats.pairs import _cumulants, _interaction

LAW = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


def test_one_law_is_pearsons_test() -> None:
    lengths = np.repeat(np.arange(5), [33, 22, 21, 14, 10])
    theirs = scipy_stats.chisquare([33, 22, 21, 14, 10], 100 * LAW)
    assert accepted_lengths(lengths, LAW).statistic == pytest.approx(theirs.statistic)


def test_a_law_for_each_round_is_the_same_when_all_are_equal() -> None:
    """The quadratic form with equal rows is Pearson's statistic."""
    lengths = np.repeat(np.arange(5), [33, 22, 21, 14, 10])
    rows = accepted_lengths(lengths, np.tile(LAW, (100, 1)))
    assert rows.statistic == pytest.approx(accepted_lengths(lengths, LAW).statistic, rel=1e-9)
    assert rows.details["degrees"] == 4


def varied(rng: np.random.Generator, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Laws of lengths 0..4 that differ much from round to round, and draws."""
    alpha = rng.beta(0.6, 0.4, size=(rounds, 1))
    laws = np.concatenate([alpha ** np.arange(4) * (1 - alpha), alpha**4], axis=1)
    lengths = (laws.cumsum(axis=1) > rng.random((rounds, 1)) * laws.sum(1, keepdims=True)).argmax(axis=1)
    return lengths, laws


def test_varied_laws_keep_their_size_where_pearson_would_not() -> None:
    """Null: 2000 runs of 400 rounds; exact bands at 3e-7; Pearson's test on the mean law is idle instead."""
    rng, runs = np.random.default_rng(0), 2000
    drawn = [varied(rng, 400) for _ in range(runs)]
    pvalues = np.array([accepted_lengths(lengths, laws).pvalue for lengths, laws in drawn])
    for level in (1e-1, 1e-2, 1e-3):
        assert stats.exact_binomial(int((pvalues <= level).sum()), runs, probability=level).pvalue > 3e-7
    pooled = np.array([accepted_lengths(lengths, laws.mean(axis=0)).pvalue for lengths, laws in drawn])
    assert stats.exact_binomial(int((pooled <= 0.1).sum()), runs, probability=0.1).pvalue < 3e-7


def test_a_verifier_that_accepts_less_is_caught() -> None:
    """Coins 5 % too low, 20,000 rounds: rejected at 1e-6 by both tests."""
    rng = np.random.default_rng(1)
    _, laws = varied(rng, 20_000)
    alpha = 1 - laws[:, :1]
    slow = np.concatenate([(0.95 * alpha) ** np.arange(4) * (1 - 0.95 * alpha), (0.95 * alpha) ** 4], axis=1)
    lengths = (slow.cumsum(axis=1) > rng.random((len(slow), 1))).argmax(axis=1)
    assert not accepted_lengths(lengths, laws).passed(1e-6)
    assert not accepted_drafts(rng.random(20_000) < 0.95 * alpha[:, 0], alpha[:, 0]).passed(1e-6)


def test_long_lengths_are_merged_downwards() -> None:
    law = np.array([0.5, 0.3, 0.19, 0.009, 0.001])
    lengths = np.random.default_rng(2).choice(5, p=law, size=200)
    assert accepted_lengths(lengths, np.tile(law, (200, 1))).details["cells"] == 3


def test_an_impossible_length_rejects_at_once() -> None:
    laws = np.tile([0.5, 0.5, 0.0], (40, 1))
    outcome = accepted_lengths([0] * 39 + [2], laws)
    assert (outcome.pvalue, outcome.detail) == (0.0, "round 39 has a length of probability 0")
    assert accepted_lengths([0] * 39 + [2], laws[0]).pvalue == 0.0


def test_accepted_drafts_against_the_exact_poisson_binomial_law() -> None:
    """Every count of 40 drafts with their own chances: 0.99 to 1.1 times twice the exact tail, below 1e-3."""
    chances = np.linspace(0.05, 0.95, 40)
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    for count in range(41):
        tail = min(law[: count + 1].sum(), law[count:].sum())
        if tail < 1e-3:
            ours = accepted_drafts(np.arange(40) < count, chances).pvalue
            assert 0.99 * 2 * tail < ours < 1.1 * 2 * tail


def test_sure_drafts_say_nothing_unless_they_fail() -> None:
    assert accepted_drafts([True] * 5, [1.0] * 5).pvalue == 1.0
    failed = accepted_drafts([True] * 4 + [False], [1.0] * 5)
    assert (failed.pvalue, failed.statistic) == (0.0, -math.inf)


def test_pairs_have_exact_mean_variance_and_third_cumulant() -> None:
    """All tables of two and three disjoint pairs with two bins each, by enumeration."""
    for n in (2, 3):
        grids = np.stack(np.meshgrid(*[np.arange(4)] * n, indexing="ij"), -1).reshape(-1, n)
        values = np.array([_interaction(np.bincount(row, minlength=4).reshape(2, 2)) for row in grids])
        mean = values.mean()
        moments = (mean, ((values - mean) ** 2).mean(), ((values - mean) ** 3).mean())
        np.testing.assert_allclose(moments, _cumulants(n, 2), atol=1e-12)
    rows = np.stack(np.meshgrid(*[np.arange(9)] * 3, indexing="ij"), -1).reshape(-1, 3)
    values = np.array([_interaction(np.bincount(row, minlength=9).reshape(3, 3)) for row in rows])
    gaps = values - values.mean()
    np.testing.assert_allclose((values.mean(), (gaps**2).mean(), (gaps**3).mean()), _cumulants(3, 3), rtol=1e-9)


@pytest.mark.parametrize("lag", [1, 3])
def test_overlapping_pairs_keep_their_size_down_to_1e_5(lag: int) -> None:
    """Null: 200,000 runs of 200 overlapping pairs; two-sided bands at 0.1 and 0.01, one-sided below; 2e-7 each."""
    rng, runs, n = np.random.default_rng(lag), 200_000, 200
    statistics = []
    for _ in range(20):
        bins = rng.integers(4, size=(runs // 20, n + lag))
        index = 16 * np.arange(runs // 20)[:, None] + 4 * bins[:, :-lag] + bins[:, lag:]
        tables = np.bincount(index.ravel(), minlength=16 * runs // 20).reshape(-1, 4, 4)
        middle = tables.mean(axis=1, keepdims=True) + tables.mean(axis=2, keepdims=True) - n / 16
        statistics.append(((tables - middle) ** 2).sum(axis=(1, 2)) / (n / 16))
    found, inverse = np.unique(np.concatenate(statistics).round(9), return_inverse=True)
    tails = np.array([guarded(type_three_tail(x, *_cumulants(n, 4)), least=n / 16) for x in found])[inverse]
    for level in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        side = "two-sided" if level >= 1e-2 else "greater"
        rejected = int((tails <= level).sum())
        assert stats.exact_binomial(rejected, runs, probability=level, alternative=side).pvalue > 2e-7


def test_pairs_see_memory_but_no_bent_margins() -> None:
    rng = np.random.default_rng(3)
    u, requests = rng.random(20_000), np.arange(20_000) // 50
    echo = np.where(rng.random(20_000) < 0.15, np.roll(u, 2), u)
    assert not pairs(*within(echo, requests, lag=2)).passed(1e-6)
    assert pairs(*within(u, requests, lag=2)).passed(1e-6)
    assert pairs(*within(u**1.1, requests, lag=2)).pvalue > 1e-6  # that is for other tests


def test_shared_streams_show_across_requests_alone() -> None:
    """Every second request repeats the random numbers of the one before it, place by place, in 30 % of tokens."""
    rng = np.random.default_rng(4)
    u = rng.random((400, 40))
    shared = np.where(rng.random((400, 40)) < 0.3, np.roll(u, 1, axis=0), u).ravel()
    requests = np.repeat(np.arange(400), 40)
    assert not pairs(*across(shared, requests)).passed(1e-6)
    assert pairs(*across(u.ravel(), requests)).passed(1e-6)
    assert pairs(*within(shared, requests, lag=1)).passed(1e-6)


def test_pairs_are_the_right_ones() -> None:
    """Ragged requests 3, 1, 2 long; a direct loop is the twin."""
    u, requests = np.arange(6) / 10, np.array([5, 5, 5, 2, 9, 9])
    blocks = [u[:3], u[3:4], u[4:]]
    for lag in (1, 2):
        first, second = across(u, requests, lag=lag)
        hoped = [(a, b) for i in range(3 - lag) for a, b in zip(blocks[i], blocks[i + lag], strict=False)]
        assert list(zip(first, second, strict=True)) == hoped
        first, second = within(u, requests, lag=lag)
        hoped = [(a, b) for block in blocks for a, b in zip(block[:-lag], block[lag:], strict=True)]
        assert list(zip(first, second, strict=True)) == hoped


def test_fixed_prompts_add_up() -> None:
    rng = np.random.default_rng(5)
    laws = [LAW, np.full((2, 3), 1 / 6)]
    runs = [rng.choice(5, p=LAW, size=300), np.stack([rng.integers(2, size=400), rng.integers(3, size=400)], axis=1)]
    both, (one, two) = fixed_prompt(runs, laws), [fixed_prompt([a], [b]) for a, b in zip(runs, laws, strict=True)]
    assert both.statistic == pytest.approx(one.statistic + two.statistic)
    assert both.details["degrees"] == 9
    assert both.n == 700
    joint = np.bincount(runs[1][:, 0] * 3 + runs[1][:, 1], minlength=6)
    assert two.statistic == pytest.approx(scipy_stats.chisquare(joint).statistic)


def test_joint_tokens_see_what_single_ones_do_not() -> None:
    """Two fair tokens that agree too often: 4000 runs, rejected at 1e-6 jointly, first token fair."""
    rng = np.random.default_rng(6)
    first = rng.integers(2, size=4000)
    second = np.where(rng.random(4000) < 0.1, first, rng.integers(2, size=4000))
    assert fixed_prompt([first], [[0.5, 0.5]]).passed(1e-6)
    assert not fixed_prompt([np.stack([first, second], 1)], [np.full((2, 2), 0.25)]).passed(1e-6)


def test_the_band_is_the_noncentral_law() -> None:
    """CONFORMANCE: reject when X > ncx2.isf(level, K - 1, 2 K N delta^2)."""
    counts = np.array([2600, 2500, 2500, 2400])
    runs = np.repeat(np.arange(4), counts)
    result = fixed_prompt([runs], [np.full(4, 0.25)], tolerance=0.01)
    assert result.pvalue == pytest.approx(scipy_stats.ncx2.sf(result.statistic, 3, 2 * 4 * 10_000 * 0.01**2))
    assert result.pvalue > 2 * fixed_prompt([runs], [np.full(4, 0.25)]).pvalue


def test_a_law_inside_the_band_is_no_false_alarm() -> None:
    """Null: mass 0.01 moved between two average cells; 3000 runs of 20,000; at most nominal, bands at 5e-7."""
    rng, runs = np.random.default_rng(7), 3000
    law = np.full(8, 1 / 8)
    moved = law + 0.01 * (np.arange(8) == 0) - 0.01 * (np.arange(8) == 1)
    results = [rng.multinomial(20_000, moved) for _ in range(runs)]
    pvalues = np.array([stats.goodness_of_fit(counts, law, tolerance=0.01).pvalue for counts in results])
    for level in (1e-1, 1e-2):
        rejected = int((pvalues <= level).sum())
        assert stats.exact_binomial(rejected, runs, probability=level, alternative="greater").pvalue > 5e-7
    strict = np.array([stats.goodness_of_fit(counts, law).pvalue for counts in results])
    assert (strict <= 1e-2).mean() > 0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: accepted_lengths([5], LAW), r"lengths\[0\] must be in 0..4, got 5"),
        (lambda: accepted_lengths([], LAW), "lengths must be"),
        (lambda: accepted_lengths([0.5], LAW), "lengths must be whole numbers"),
        (lambda: accepted_lengths([0, 1], [[0.5, 0.5]]), "law must be one row, or one per round"),
        (lambda: accepted_lengths([0, 1], [[0.5, 0.5]] * 2), "two cells that expect 5"),
        (lambda: accepted_lengths([0], [0.5, 0.6]), "law must sum to 1"),
        (lambda: accepted_drafts([1], [0.5]), "accepted must be bool"),
        (lambda: accepted_drafts([True], [0.5, 0.5]), "accepted must be bool of shape"),
        (lambda: accepted_drafts([True], [1.5]), r"probabilities\[0\] must be in"),
        (lambda: pairs([0.5], [0.5]), "at least 80 pairs"),
        (lambda: pairs([0.5], [0.5, 0.5]), "second must have the shape"),
        (lambda: pairs([1.5], [0.5]), r"first\[0\]"),
        (lambda: within([0.5], [0, 1], lag=1), "requests must have the shape"),
        (lambda: within([0.5], [0], lag=0), "lag must be at least 1"),
        (lambda: fixed_prompt([], []), "laws must be one per prompt"),
        (lambda: fixed_prompt([[0]], [LAW, LAW]), "laws must be one per prompt"),
        (lambda: fixed_prompt([[7]], [LAW]), r"tokens\[0\]\[0\] must be inside its law"),
        (lambda: fixed_prompt([[[0, 1]]], [LAW]), r"tokens\[0\] must hold 1 tokens per run"),
        (lambda: fixed_prompt([[0]], [[0.5, 0.6]]), "must sum to 1"),
        (lambda: fixed_prompt([[0] * 50], [LAW], tolerance=-1.0), "tolerance must be"),
    ],
)
def test_bad_input_gives_one_clear_line(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
