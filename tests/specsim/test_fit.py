"""Fitted laws: the maximum, the profile, the interval's coverage, and the choice among laws."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from specsim import tau
from specsim.acceptance import FAMILIES, Acceptance, CountedAcceptance, MeanLengths, compare, fit_law
from specsim.acceptance.data import Lengths
from specsim.acceptance.likelihood import axes, maximum
from specsim.errors import InputError
from specsim.stats.binomial import exact_binomial
from tests.reference import exact_laws

LEVEL = 1e-6  # false-alarm rate of each random test here
TRUTHS = {
    "constant": Acceptance.constant(0.7),
    "decay": Acceptance.decay(0.85, 0.93),
    "beta": Acceptance.beta(7, 3),
    "markov": Acceptance.markov(start_good=0.5, stay_good=0.9, stay_bad=0.9, alpha_good=0.9, alpha_bad=0.5),
    "by_depth": Acceptance.by_depth([0.8, 0.75, 0.6, 0.65], beyond="hold"),
}


def drawn(law: Acceptance, *, gamma: int, rounds: int, rng: np.random.Generator) -> CountedAcceptance:
    """Counts of `rounds` rounds that follow a law."""
    lengths = rng.multinomial(rounds, tau.accepted_pmf(law, gamma=gamma))
    reaching = np.cumsum(lengths[::-1])[::-1].tolist()
    return Acceptance.from_counts(reaching[:-1], reaching[1:])


def mean_lengths(
    law: Acceptance, *, gammas: tuple[int, ...], rounds: int, known: bool, rng: np.random.Generator
) -> MeanLengths:
    """Means of `rounds` rounds at each gamma; whether their number is told."""
    counts = [rng.multinomial(rounds, tau.accepted_pmf(law, gamma=gamma)) for gamma in gammas]
    tokens = [1 + float(count @ np.arange(count.size)) / rounds for count in counts]
    return MeanLengths(gammas=gammas, E_tokens=tuple(tokens), rounds=(rounds,) * len(gammas) if known else None)


# --- the maximum ---------------------------------------------------------------------------------------------------


def test_counts_are_as_likely_as_their_rounds_one_by_one() -> None:
    rounds = [(3, 3), (3, 0), (3, 1), (2, 2), (3, 1), (1, 0)]
    reached = [sum(judged >= k and stood >= k - 1 for judged, stood in rounds) for k in (1, 2, 3)]
    accepted = [sum(stood >= k for _, stood in rounds) for k in (1, 2, 3)]
    alphas = [Fraction(3, 4), Fraction(1, 2), Fraction(2, 3)]
    found = Acceptance.from_counts(reached, accepted).log_likelihood(np.array([0.75, 0.5, 2 / 3]))
    assert found == pytest.approx(log(exact_laws.likelihood(alphas, rounds)))


@given(st.integers(1, 1000), st.floats(0, 1), st.floats(0, 1))
def test_closed_forms(reached: int, first: float, second: float) -> None:
    """Constant: accepted over judged; by depth: the shares."""
    stood = round(reached * first)
    data = Acceptance.from_counts([reached, stood], [stood, round(stood * second)])
    pooled = sum(data.accepted) / sum(data.reached)
    assert fit_law(data, law="constant").parameters["alpha"] == pytest.approx(pooled, abs=1e-6)
    np.testing.assert_allclose(fit_law(data, law="by_depth").point, data.rough(), atol=1e-6)


@pytest.mark.parametrize("law", ["decay", "beta", "markov"])
def test_no_point_of_a_grid_is_more_likely(law: str) -> None:
    data = drawn(TRUTHS["markov"], gamma=5, rounds=3000, rng=np.random.default_rng(1))
    fit = fit_law(data, law=law)
    for point in itertools.product(np.linspace(0, 1, 26), repeat=len(fit.point)):
        alphas = fit.family.conditional(np.array(point), data.depths)
        assert data.log_likelihood(alphas) <= fit.log_likelihood + 1e-6


@pytest.mark.parametrize("law", FAMILIES)
def test_counts_without_noise_give_the_law_back(law: str) -> None:
    """Counts in the proportions of a law, 1e9 rounds of it; the fit must predict what the law does, and beyond."""
    survival = TRUTHS[law].survival(6)
    reaching = [10**9, *np.round(survival * 1e9).astype(int).tolist()]
    fit = fit_law(Acceptance.from_counts(reaching[:-1], reaching[1:]), law=law)
    assert fit.expected_tokens(6) == pytest.approx(1 + survival.sum(), rel=1e-6)
    assert fit.expected_tokens(10) == pytest.approx(tau.expected_tokens(TRUTHS[law], gamma=10), rel=1e-4)


@pytest.mark.parametrize("law", ["constant", "decay", "beta"])
def test_means_without_noise_give_the_law_back(law: str) -> None:
    gammas = (1, 2, 3, 5, 6)
    tokens = tuple(tau.expected_tokens(TRUTHS[law], gamma=gamma) for gamma in gammas)
    for rounds in (None, (10**6,) * 5):
        fit = fit_law(MeanLengths(gammas=gammas, E_tokens=tokens, rounds=rounds), law=law)
        assert fit.expected_tokens(10) == pytest.approx(tau.expected_tokens(TRUTHS[law], gamma=10), rel=1e-3)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=5), st.sampled_from(sorted(FAMILIES)))
def test_any_counts_can_be_fitted(steps: list[int], law: str) -> None:
    """All stood, none stood, one round: no warning, a law, and an interval that holds its own estimate."""
    reaching = np.cumsum([*steps, 1])[::-1].tolist()
    fit = fit_law(Acceptance.from_counts(reaching[:-1], reaching[1:]), law=law)
    low, high = fit.tokens_interval(8)
    assert 1 - 1e-9 <= low <= fit.expected_tokens(8) <= high <= 9 + 1e-9


def test_a_family_sees_itself_in_the_richer_one() -> None:
    """Constant is in decay, in beta and in markov: no data make it more likely than these."""
    data = drawn(TRUTHS["constant"], gamma=4, rounds=500, rng=np.random.default_rng(5))
    best = {law: fit_law(data, law=law).log_likelihood for law in FAMILIES}
    assert all(best["constant"] <= best[law] + 1e-6 for law in ("decay", "beta", "markov"))
    assert all(best[law] <= best["by_depth"] + 1e-6 for law in best)


# --- the profile ---------------------------------------------------------------------------------------------------


def test_the_constant_interval_is_that_of_alpha() -> None:
    """One parameter: the ends are where its likelihood ratio meets the chi-square, found by bisection."""
    data = Acceptance.from_counts([1000, 700, 490], [700, 490, 343])
    stood, fell = 1533, 657

    def excess(alpha: float) -> float:
        top = stood * log(0.7) + fell * log(0.3)
        return 2 * (top - stood * log(alpha) - fell * log(1 - alpha)) - stats.chi2.ppf(0.95, 1)

    alphas = [optimize.brentq(excess, 0.5, 0.7), optimize.brentq(excess, 0.7, 0.9)]
    fit = fit_law(data, law="constant")
    np.testing.assert_allclose(fit.parameter_interval("alpha"), alphas, atol=1e-5)
    tokens = [tau.expected_tokens(Acceptance.constant(alpha), gamma=8) for alpha in alphas]
    np.testing.assert_allclose(fit.tokens_interval(8), tokens, atol=1e-4)


BOXES = {
    "decay": [(0.6, 0.9), (0.85, 1.0)],
    "beta": [(0.55, 0.8), (0.0, 0.3)],
    "markov": [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)],
}
"""Where a grid is laid, by parameter: all that the data of the next test leave possible."""


@pytest.mark.parametrize("law", BOXES)
@pytest.mark.parametrize("kind", ["counts", "means"])
def test_the_interval_is_that_of_a_grid(law: str, kind: str) -> None:
    """Brute force: the extremes of E_tokens over all points of a fine grid that are likely enough."""
    rng = np.random.default_rng(2)
    data: Lengths = drawn(TRUTHS["beta"], gamma=5, rounds=400, rng=rng)
    if kind == "means":
        data = mean_lengths(TRUTHS["beta"], gammas=(1, 2, 3, 4, 6), rounds=400, known=True, rng=rng)
    fit = fit_law(data, law=law)
    sides = [np.linspace(*side, 24 if len(fit.point) == 3 else 120) for side in BOXES[law]]
    points = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, len(fit.point))
    inside = [
        1 + np.cumprod(fit.family.conditional(point, 8)).sum()
        for point in points
        if 2 * (fit.log_likelihood - data.log_likelihood(fit.family.conditional(point, data.depths)))
        <= data.cutoff(0.95, parameters=len(point))
    ]
    low, high = fit.tokens_interval(8)
    assert low <= min(inside) + 1e-3
    assert max(inside) - 1e-3 <= high
    short = 0.15 if len(fit.point) == 3 else 0.03  # of the ends, which lie between points of the grid
    assert (low, high) == pytest.approx((min(inside), max(inside)), abs=short)


def test_an_interval_grows_with_its_level_and_falls_with_the_data() -> None:
    small, large = (Acceptance.from_counts([n, 7 * n // 10], [7 * n // 10, 49 * n // 100]) for n in (100, 10000))
    widths = [
        np.diff(fit_law(data, law="decay").tokens_interval(6, level=level))[0]
        for data, level in ((small, 0.99), (small, 0.9), (large, 0.9), (large, 0.5))
    ]
    assert widths == sorted(widths, reverse=True)


def test_axes_are_those_of_a_quadratic() -> None:
    """A thin slanted likelihood: along each axis it falls by the drop."""
    form = np.array([[4e6, 3.9e6], [3.9e6, 4e6]])
    centre = np.array([0.4, 0.6])

    def quadratic(point: np.ndarray) -> float:
        return -0.5 * float((point - centre) @ form @ (point - centre))

    for way in axes(quadratic, centre, drop=4.0).T:
        assert -2 * quadratic(centre + way) == pytest.approx(4.0, rel=1e-3)


def test_the_best_of_several_starts_is_kept() -> None:
    def two_peaks(point: np.ndarray) -> float:
        return float(-100 * min((point[0] - 0.1) ** 2 + 0.01, (point[0] - 0.9) ** 2))

    assert maximum(two_peaks, [(0.1,), (0.8,)], size=1)[0] == pytest.approx([0.9], abs=1e-5)


# --- coverage ------------------------------------------------------------------------------------------------------


def hits(law: str, *, sets: int, level: float, rounds: int = 800) -> int:
    """Of `sets` data sets of 4 depths, in how many the interval for gamma 8 holds the truth."""
    rng = np.random.default_rng(11)
    truth = tau.expected_tokens(TRUTHS[law], gamma=8)
    found = (
        fit_law(drawn(TRUTHS[law], gamma=4, rounds=rounds, rng=rng), law=law).tokens_interval(8, level=level)
        for _ in range(sets)
    )
    return sum(low <= truth <= high for low, high in found)


@pytest.mark.parametrize(("law", "sets"), [("constant", 300), ("decay", 200), ("beta", 200), ("by_depth", 200)])
def test_intervals_beyond_the_data_cover(law: str, sets: int) -> None:
    """Null: coverage of the 95 % interval at gamma 8 from 4 depths is 93 % at least; false-alarm rate 1e-6.

    Power: an interval of level 0.75 called 95 % is caught.
    """
    covered = exact_binomial(hits(law, sets=sets, level=0.95), sets, probability=0.93, alternative="less")
    short = exact_binomial(hits(law, sets=sets, level=0.75), sets, probability=0.93, alternative="less")
    assert covered.passed(LEVEL)
    assert not short.passed(LEVEL)


def test_the_constant_interval_is_not_too_long() -> None:
    """Null: coverage is 96 % at most; n = 400; false-alarm rate 1e-6. Power: level 0.99999 called 95 % is caught."""
    right, long = (
        exact_binomial(hits("constant", sets=400, level=level), 400, probability=0.96, alternative="greater")
        for level in (0.95, 0.99999)
    )
    assert right.passed(LEVEL)
    assert not long.passed(LEVEL)


def test_the_two_state_interval_covers() -> None:
    """Null: coverage is 90 % at least; n = 60; false-alarm rate 1e-6. Power: level 0.3 is caught with 25 data sets."""
    covered = exact_binomial(hits("markov", sets=60, level=0.95), 60, probability=0.9, alternative="less")
    short = exact_binomial(hits("markov", sets=25, level=0.3), 25, probability=0.9, alternative="less")
    assert covered.passed(LEVEL)
    assert not short.passed(LEVEL)


@pytest.mark.parametrize("known", [True, False], ids=["rounds known", "noise unknown"])
@pytest.mark.parametrize("law", ["constant", "decay"])
def test_intervals_from_means_cover(law: str, known: bool) -> None:
    """Null: coverage of the 95 % interval at gamma 8 from 5 means is 92 % at least; n = 100; false-alarm rate 1e-6.

    Power: an interval of level 0.7 called 95 % is caught.
    """
    rng = np.random.default_rng(12)
    truth = tau.expected_tokens(TRUTHS[law], gamma=8)
    inside = {0.95: 0, 0.7: 0}
    for _ in range(100):
        data = mean_lengths(TRUTHS[law], gammas=(1, 2, 3, 4, 6), rounds=500, known=known, rng=rng)
        fit = fit_law(data, law=law)
        for level in inside:
            low, high = fit.tokens_interval(8, level=level)
            inside[level] += low <= truth <= high
    covered, short = (exact_binomial(count, 100, probability=0.92, alternative="less") for count in inside.values())
    assert covered.passed(LEVEL)
    assert not short.passed(LEVEL)


SIMPLE = ("constant", "decay", "beta", "by_depth")


@pytest.mark.parametrize("truth", ["decay", "beta"])
def test_the_interval_over_open_laws_covers_whoever_is_right(truth: str) -> None:
    """Null: it covers with 93 % at least though the law is chosen too; n = 60; false-alarm rate 1e-6.

    Power: that of a constant, fitted to the same data, is caught.
    """
    rng = np.random.default_rng(13)
    exact = tau.expected_tokens(TRUTHS[truth], gamma=8)
    found, constant = 0, 0
    for _ in range(60):
        compared = compare(drawn(TRUTHS[truth], gamma=5, rounds=10_000, rng=rng), laws=SIMPLE)
        prediction = compared.predict(8)
        found += prediction.low <= exact <= prediction.high
        constant += prediction.by_law["constant"][1] <= exact <= prediction.by_law["constant"][2]
    assert exact_binomial(found, 60, probability=0.93, alternative="less").passed(LEVEL)
    assert not exact_binomial(constant, 60, probability=0.93, alternative="less").passed(LEVEL)


# --- the choice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", FAMILIES)
def test_held_out_likelihood_is_leave_one_out(law: str) -> None:
    """Brute force: every single round left out in turn."""
    rounds = [(2, 2)] * 5 + [(2, 0)] * 4 + [(2, 1)] * 3 + [(1, 1)] * 2
    counted = lambda some: Acceptance.from_counts(  # noqa: E731
        [sum(j >= k and s >= k - 1 for j, s in some) for k in (1, 2)], [sum(s >= k for _, s in some) for k in (1, 2)]
    )
    brute = 0.0
    for place, (judged, stood) in enumerate(rounds):
        left = fit_law(counted(rounds[:place] + rounds[place + 1 :]), law=law).acceptance.conditional(judged)
        brute += float(np.log(left[:stood]).sum() + (0 if stood == judged else np.log(1 - left[stood])))
    assert compare(counted(rounds), laws=[law]).held_out[law] == pytest.approx(brute, abs=2e-3)


@pytest.mark.parametrize("law", ["constant", "decay", "beta", "by_depth"])
def test_the_right_law_is_chosen_from_many_rounds(law: str) -> None:
    """From 200000 rounds of 6 depths; a constant is in all others and chosen for being simple."""
    truth = TRUTHS[law] if law != "by_depth" else Acceptance.by_depth([0.9, 0.5, 0.8, 0.3, 0.9, 0.6])
    compared = compare(drawn(truth, gamma=6, rounds=200_000, rng=np.random.default_rng(6)))
    assert compared.chosen.law == law
    assert law in compared.left_open


def test_a_rhythm_is_seen_by_two_states_only() -> None:
    """A run of sure drafts, then a fair coin: acceptance falls, then levels off, as no other law does."""
    truth = Acceptance.markov(start_good=0.9, stay_good=0.6, stay_bad=1, alpha_good=1, alpha_bad=0.4)
    compared = compare(drawn(truth, gamma=9, rounds=200_000, rng=np.random.default_rng(7)))
    assert compared.chosen.law == "markov"
    assert set(compared.left_open) <= {"markov", "by_depth"}


def test_the_choice_from_means() -> None:
    for law in ("constant", "decay", "beta"):
        gammas = (1, 2, 3, 4, 5, 6)
        tokens = tuple(round(tau.expected_tokens(TRUTHS[law], gamma=gamma), 3) for gamma in gammas)
        compared = compare(MeanLengths(gammas=gammas, E_tokens=tokens))
        prediction = compared.predict(8)
        assert compared.chosen.law == law
        assert prediction.low <= tau.expected_tokens(TRUTHS[law], gamma=8) <= prediction.high
        assert prediction.high - prediction.low < 0.02


def test_two_means_tell_a_constant_and_no_more() -> None:
    compared = compare(MeanLengths(gammas=(2, 5), E_tokens=(2.19, 2.94)))
    assert compared.left_open == ("constant",)
    assert not compared.fits["decay"].is_told
    assert compared.fits["decay"].tokens_interval(8) == (1, 9)
    assert compared.fits["decay"].parameter_interval("b") == (0, 1)


def test_one_round_leaves_everything_open() -> None:
    compared = compare(Acceptance.from_counts([1], [1]))
    prediction = compared.predict(8)
    assert compared.left_open == tuple(FAMILIES)
    assert prediction.low < 1.2
    assert prediction.high == pytest.approx(9)


def test_extrapolation_is_less_sure_than_interpolation() -> None:
    compared = compare(drawn(TRUTHS["beta"], gamma=4, rounds=1000, rng=np.random.default_rng(8)))
    near, far = compared.predict(4), compared.predict(12)
    assert far.high - far.low > 2 * (near.high - near.low)


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gammas": (2,)}, "one value for each of 1 gammas, got 2"),
        ({"gammas": (2, 2)}, r"two gammas at least to tell laws apart, got \[2\]"),
        ({"gammas": (0, 2)}, r"gammas\[0\] must be at least 1"),
        ({"E_tokens": (0.9, 2.0)}, r"E_tokens\[0\] must be in \[1, 3\], got 0.9"),
        ({"E_tokens": (2.0, 5.5)}, r"E_tokens\[1\] must be in \[1, 5\], got 5.5"),
        ({"E_tokens": (2.0, float("nan"))}, r"E_tokens\[1\] must be"),
        ({"rounds": (0, 5)}, r"rounds\[0\] must be at least 1"),
        ({"rounds": (5,)}, "rounds must have one value for each"),
    ],
)
def test_means_that_cannot_be_are_named(changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MeanLengths(**({"gammas": (2, 4), "E_tokens": (2.0, 2.5)} | changes))


def test_unknown_names_and_levels_are_refused() -> None:
    data = Acceptance.from_counts([10], [5])
    with pytest.raises(InputError, match="did you mean beta"):
        fit_law(data, law="betta")
    with pytest.raises(InputError, match="parameter 'b' is unknown"):
        fit_law(data, law="constant").parameter_interval("b")
    for level in (0.0, 1.0, 1.5):
        with pytest.raises(InputError, match="level must be in"):
            fit_law(data, law="constant").tokens_interval(4, level=level)
    with pytest.raises(InputError, match="gamma must be at least 0"):
        compare(data).predict(-1)
