"""Gumbel coupling: match probabilities, the noise, and text that does not depend on the drafter."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from specsim.checks import IntArray
from specsim.distributions import overlap, sample, total_variation
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.stats.kolmogorov_smirnov import kolmogorov_smirnov
from specsim.verifiers import VERIFIERS, CoupledNoise, Gumbel, Rejection, Verification, at_position
from specsim.verifiers.coupling import gumbel_match, independent_match, minhash_match, pick_given_draft, shared_mass
from tests.reference import exact, exact_rules, golden_rules, golden_spine

LEVEL = 1e-7  # false-alarm rate of each random test here
RNG = np.random.default_rng(0)  # handed to rules that read no coins


@st.composite
def two_laws(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Laws with zeros, ties and equal entries now and then."""
    size = draw(st.integers(1, 8))
    weights = st.lists(st.sampled_from([0.0, 1e-12, 0.5, 1.0, 2.0, 7.0]), min_size=size, max_size=size).filter(any)
    p, q = (np.array(draw(weights)) for _ in range(2))
    return p / p.sum(), q / q.sum()


# --- how often both draw the same ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_rules.rows("single_step"), ids=lambda row: row["id"])
def test_match_golden(row: dict) -> None:
    p, q = (golden_spine.numbers(row["case"][side]) for side in "pq")
    found = {
        "alpha": overlap(p, q),
        "TV": total_variation(p, q),
        "gumbel_match": gumbel_match(p, q),
        "weighted_minhash_match": minhash_match(p, q),
        "independent_match": independent_match(p, q),
    }
    for name, value in found.items():
        assert float(value) == pytest.approx(float(Fraction(row["expected"][name])), rel=row["rtol"], abs=1e-15), name
    expected = row["expected"]["accepted_token_distribution"]
    if expected:
        stands = np.array(q) * Rejection().accept_probability(p, q)
        np.testing.assert_allclose(stands / stands.sum(), golden_spine.numbers(expected), rtol=1e-12)
    left = golden_spine.numbers(row["expected"]["residual"] or row["case"]["p"])
    np.testing.assert_allclose(Rejection().residual(p, q), left, rtol=1e-12, atol=1e-15)


@settings(deadline=None)
@given(two_laws())
def test_minhash_at_most_gumbel_at_most_alpha(laws: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = laws
    distance = total_variation(p, q)
    assert minhash_match(p, q) == pytest.approx((1 - distance) / (1 + distance), abs=1e-12)
    assert minhash_match(p, q) <= gumbel_match(p, q) + 1e-12
    assert gumbel_match(p, q) <= overlap(p, q) + 1e-12
    assert gumbel_match(p, q) == pytest.approx(gumbel_match(q, p), abs=1e-12)
    assert independent_match(p, q) <= p.max() + 1e-12


@settings(deadline=None)
@given(two_laws())
def test_the_match_is_the_formula_of_the_paper(laws: tuple[np.ndarray, np.ndarray]) -> None:
    """The sorted sums against the sum over pairs, term by term."""
    p, q = laws
    both = (p > 0) & (q > 0)
    terms = [1 / np.maximum(p / p[j], q / q[j]).sum() if both[j] else 0.0 for j in range(p.size)]
    np.testing.assert_allclose(shared_mass(p, q), terms, rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_joint_law_of_both_picks_is_exact(seed: int) -> None:
    """Rows and columns of the twin's matrix sum to q and p as fractions, and the package has the same matrix."""
    p, q = (exact.random_table(seed + side, 4, zeros=True)(()) for side in (0, 1000))
    matrix = [[exact_rules.picks(p, q, x, v) for v in range(4)] for x in range(4)]
    assert tuple(map(sum, matrix)) == q
    assert tuple(map(sum, zip(*matrix, strict=True))) == p
    floats = [np.tile([float(x) for x in law], (4, 1)) for law in (p, q)]
    found = floats[1][0][:, None] * pick_given_draft(*floats, np.arange(4))
    expected = np.array(matrix, dtype=float)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert exact_rules.gumbel_match(p, q) == sum(matrix[x][x] for x in range(4))


def test_a_current_vocabulary_in_the_time_of_a_sort() -> None:
    """152064 tokens of very different sizes; the sum over pairs would be 2e10 terms."""
    rng = np.random.default_rng(1)
    p, q = np.exp(rng.normal(scale=4, size=(2, 3, 152_064)))
    p, q = (law / law.sum(axis=-1, keepdims=True) for law in (p, q))
    found = gumbel_match(p, q)
    assert found.shape == (3,)
    assert (minhash_match(p, q) <= found).all()
    assert (found <= overlap(p, q)).all()
    at = int(p[0].argmax())
    term = 1 / np.maximum(p[0] / p[0, at], q[0] / q[0, at]).sum()
    assert shared_mass(p, q)[0, at] == pytest.approx(term, rel=1e-9)


# --- the noise -----------------------------------------------------------------------------------------------------


def test_the_hash_is_splitmix64() -> None:
    """The published first words of seed 1234567."""
    from specsim.verifiers import noise

    words = noise._words(np.array([1234567], dtype=np.uint64), at=np.arange(5, dtype=np.uint64))
    assert words.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_the_noise_is_a_function_of_seed_position_and_token() -> None:
    times = CoupledNoise(seed=3).times(np.arange(4), vocabulary=6)
    assert times.shape == (4, 6)
    assert len(np.unique(times)) == 24
    for position in range(4):  # alone or in a batch, whatever the vocabulary
        np.testing.assert_array_equal(CoupledNoise(seed=3).times(position, vocabulary=3), times[position, :3])
    np.testing.assert_array_equal(CoupledNoise(seed=np.array([5, 3])).times(2, vocabulary=6)[1], times[2])
    assert not np.isin(CoupledNoise(seed=4).times(np.arange(4), vocabulary=6), times).any()


def test_the_noise_is_exponential_at_every_seed_position_and_token() -> None:
    """Null: standard exponential, and neighbours independent; n = 2e6 and 1e6 pairs each; false-alarm rate 1e-7."""
    times = CoupledNoise(seed=np.arange(100)[:, None]).times(np.arange(200), vocabulary=100)
    assert kolmogorov_smirnov(stats.expon.cdf(times.ravel())).passed(LEVEL)
    cells = np.minimum((4 * -np.expm1(-times)).astype(int), 3)
    for axis in range(3):  # seeds, positions, tokens
        near, far = (np.take(cells, np.arange(start, 100 * (1 + (axis == 1)), 2), axis=axis) for start in (0, 1))
        counts = np.bincount((4 * near + far).ravel(), minlength=16)
        assert goodness_of_fit(counts, np.full(16, 1 / 16)).passed(LEVEL), axis
    assert not kolmogorov_smirnov(stats.expon.cdf(times.ravel() * 1.01)).passed(LEVEL)  # power


def test_coupled_draws_follow_their_law() -> None:
    """Null: tokens at three places in a row are independent draws from p; n = 200000; false-alarm rate 1e-7."""
    p = np.array([0.5, 0.0, 0.2, 0.3])
    drawn = CoupledNoise(seed=np.arange(200_000)[:, None]).sample(p, position=[7, 8, 9])
    counts = np.bincount(drawn @ [16, 4, 1], minlength=64)
    law = np.einsum("i,j,k->ijk", p, p, p).ravel()
    assert goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)
    same = CoupledNoise(seed=np.arange(200_000)[:, None]).sample(p, position=[7, 7, 9])  # power: one place twice
    assert not goodness_of_fit(np.bincount(same @ [16, 4, 1], minlength=64), law, min_expected=20).passed(LEVEL)


def test_two_laws_draw_the_same_as_often_as_they_should() -> None:
    """Null: (draft's token, target's token) has the exact joint law; n = 400000; false-alarm rate 1e-7."""
    p, q = (exact.random_table(side, 4)(()) for side in (1, 2))
    joint = np.array([[float(exact_rules.picks(p, q, x, v)) for v in range(4)] for x in range(4)])
    noise = CoupledNoise(seed=11)
    drafted, drawn = (noise.sample([float(x) for x in law], position=np.arange(400_000)) for law in (q, p))
    counts = np.bincount(4 * drafted + drawn, minlength=16)
    assert goodness_of_fit(counts, joint.ravel(), min_expected=20).passed(LEVEL)
    alone = CoupledNoise(seed=12).sample([float(x) for x in p], position=np.arange(400_000))  # power: other noise
    assert not goodness_of_fit(np.bincount(4 * drafted + alone, minlength=16), joint.ravel()).passed(LEVEL)


def test_a_law_of_a_hair_never_overflows_into_a_draw() -> None:
    assert CoupledNoise(seed=1).sample([1e-310, 1.0, 0.0], position=np.arange(1000)).tolist() == [1] * 1000


# --- text that does not depend on the drafter ----------------------------------------------------------------------

Tables = tuple[np.ndarray, ...]
Drafting = Callable[[np.ndarray, IntArray, IntArray, int], IntArray]


def random_tables(seed: int, *, vocabulary: int = 6) -> np.ndarray:
    """A law for every pair of last tokens."""
    return np.random.default_rng(seed).dirichlet(np.full(vocabulary, 0.5), size=(vocabulary, vocabulary))


def decode(
    target: np.ndarray, drafter: np.ndarray, noise: CoupledNoise, *, gamma: int, length: int, per_round: bool = False
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Batched rounds until every text has `length` tokens, and what each round accepted.

    `per_round` plants the fault of noise that is indexed by round and depth instead of by place in the text.
    """
    count = np.asarray(noise.seed).size
    texts, lengths, rounds, accepted = np.zeros((count, length + gamma + 3), dtype=int), np.full(count, 2), 0, []
    every = np.arange(count)
    while lengths.min() < length:
        start = np.full(count, rounds * (gamma + 1)) if per_round else lengths
        line = [texts[every, lengths - 2], texts[every, lengths - 1]]
        for depth in range(gamma):
            line.append(noise.sample(drafter[line[-2], line[-1]], position=start + depth))
        p = np.stack([target[line[k], line[k + 1]] for k in range(gamma + 1)], axis=1)
        got = at_position(Gumbel(noise=noise), start).verify(p, np.stack(line[2:], axis=1), q=None, rng=RNG)
        going = np.minimum(length, lengths)
        for depth in range(gamma):
            stands = depth < got.accepted
            texts[every, going + depth] = np.where(stands, line[2 + depth], texts[every, going + depth])
        texts[every, going + got.accepted] = got.token
        lengths = going + got.accepted + 1
        accepted.append(got.accepted)
        rounds += 1
    return texts[:, :length], accepted


def plainly(target: np.ndarray, noise: CoupledNoise, *, length: int) -> np.ndarray:
    texts = np.zeros((np.asarray(noise.seed).size, length), dtype=int)
    for place in range(2, length):
        texts[:, place] = noise.sample(target[texts[:, place - 2], texts[:, place - 1]], position=place)
    return texts


def test_two_drafters_and_no_drafter_write_the_same_text() -> None:
    """End to end, 50 texts side by side: good, bad and adversarial drafters, chains of 1 and 4, ragged acceptance."""
    target, noise = random_tables(0), CoupledNoise(seed=np.arange(50))
    plain = plainly(target, noise, length=60)
    assert len({tuple(text) for text in plain.tolist()}) == 50
    mean = {}
    for name, drafter in {
        "good": 0.9 * target + 0.1 / 6,
        "bad": random_tables(1),
        "same": target,
        "flat": np.full((6, 6, 6), 1 / 6),
    }.items():
        for gamma in (1, 4):
            text, accepted = decode(target, drafter, noise, gamma=gamma, length=60)
            np.testing.assert_array_equal(text, plain)
            mean[name, gamma] = np.mean(accepted)
            assert name == "same" or len(np.unique(accepted)) == gamma + 1  # rounds accepted every number of drafts
    assert mean["same", 4] == 4
    assert mean["good", 4] > max(mean["bad", 4], mean["flat", 4])


def test_noise_that_counts_rounds_gives_each_drafter_its_own_text() -> None:
    """The planted fault: the law is right, but the text depends on what earlier rounds accepted."""
    target, noise = random_tables(0), CoupledNoise(seed=np.arange(50))
    good, bad = (
        decode(target, drafter, noise, gamma=4, length=60, per_round=True)[0]
        for drafter in (0.9 * target + 0.1 / 6, random_tables(1))
    )
    assert (good != bad).any(axis=1).mean() > 0.9


def test_the_text_follows_the_target() -> None:
    """Null: four tokens over two rounds or more have the target's joint law; n = 100000; false-alarm rate 1e-7."""
    target, count = random_tables(4, vocabulary=3), 100_000
    text, _ = decode(target, random_tables(5, vocabulary=3), CoupledNoise(seed=np.arange(count)), gamma=2, length=6)
    law: np.ndarray = np.ones((1, 1))
    state = np.zeros((1, 2), dtype=int)
    for _ in range(4):
        law = (law[..., None] * target[state[:, 0], state[:, 1]][:, None, :]).reshape(-1, 1)
        state = np.array([[b, v] for _, b in state for v in range(3)])
    counts = np.bincount(text[:, 2:] @ [27, 9, 3, 1], minlength=81)
    assert goodness_of_fit(counts, law.ravel(), min_expected=20).passed(LEVEL)
    assert not goodness_of_fit(counts, np.roll(law.ravel(), 1), min_expected=20).passed(LEVEL)


def test_accepted_lengths_have_the_exact_law() -> None:
    """Null: rounds with shared noise accept as `accepted_pmf` says; n = 200000; false-alarm rate 1e-7."""
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(5), size=4), rng.dirichlet(np.ones(5), size=3)
    noise, places = CoupledNoise(seed=np.arange(200_000)), np.arange(3)
    draft = np.stack([noise.sample(q[k], position=20 + k) for k in places], axis=1)
    got = Gumbel(noise=noise).at(20).verify(p, draft, q=None, rng=RNG)
    counts = np.bincount(got.accepted, minlength=4)
    assert goodness_of_fit(counts, Gumbel().accepted_pmf(p, q)).passed(LEVEL)
    late = Gumbel(noise=noise).at(21).verify(p, draft, q=None, rng=RNG)  # power: the rule is one place ahead
    assert not goodness_of_fit(np.bincount(late.accepted, minlength=4), Gumbel().accepted_pmf(p, q)).passed(LEVEL)


def test_whatever_is_drafted_the_text_is_the_targets() -> None:
    """Lossless even for drafts that have nothing to do with the noise: every token is the target's own draw."""
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=3)
    noise = CoupledNoise(seed=np.arange(1000))
    plain = np.stack([noise.sample(p[k], position=5 + k) for k in range(3)], axis=1)
    draft = np.random.default_rng(1).integers(4, size=(1000, 2))
    got = Gumbel(noise=noise).at(5).verify(p, draft, q=None, rng=RNG)
    for text, chain, accepted, token in zip(plain, draft, got.accepted, got.token, strict=True):
        assert [*chain[:accepted], token] == text[: accepted + 1].tolist()


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), gamma=st.integers(0, 3), vocabulary=st.integers(1, 5))
def test_shared_noise_does_what_the_definition_says(seed: int, gamma: int, vocabulary: int) -> None:
    """Ragged rounds of any leading shape, each text at its own position, against a loop."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(vocabulary), size=(2, 3, gamma + 1))
    seeds, position = rng.integers(2**62, size=(2, 3)), rng.integers(100, size=(2, 1))
    noise = CoupledNoise(seed=seeds)
    picked = np.stack([noise.sample(p[..., k, :], position=position + k) for k in range(gamma + 1)], axis=-1)
    wrong = rng.integers(vocabulary, size=(2, 3, gamma))
    draft = np.where(rng.random((2, 3, gamma)) < 0.8, picked[..., :gamma], wrong)
    drafted = rng.integers(gamma + 1, size=(2, 3))
    got = Gumbel(noise=noise).at(position).verify(p, draft, q=None, rng=RNG, drafted=drafted)
    for place in np.ndindex(2, 3):
        limit = int(drafted[place])
        stands = next((k for k in range(limit) if draft[place][k] != picked[place][k]), limit)
        assert (int(got.accepted[place]), int(got.token[place])) == (stands, int(picked[place][stands]))


# --- the protocol --------------------------------------------------------------------------------------------------


def test_only_a_rule_with_noise_is_told_its_position() -> None:
    for rule in VERIFIERS.values():
        if rule.name != "gumbel":
            assert at_position(rule, 5) is rule
    shared = Gumbel(noise=CoupledNoise(seed=1))
    assert (shared.needs_coupled_noise, shared.needs_draft_rows) == (True, False)
    assert at_position(shared, 5) == shared.at(5)
    assert (Gumbel().needs_coupled_noise, Gumbel().needs_draft_rows) == (False, True)
    assert isinstance(at_position(Gumbel(), 3).verify([[1.0]], [], q=None, rng=RNG), Verification)


def test_coins_of_the_round_give_the_same_law_as_shared_noise() -> None:
    """Null: without noise, (draft, accepted, token) has the law of the race; n = 200000; false-alarm rate 1e-7 each."""
    p, q = np.random.default_rng(8).dirichlet(np.ones(3), size=2)
    rng = np.random.default_rng(9)
    draft = sample(q, rng.random(200_000))
    got = Gumbel().verify(np.stack([p, p]), draft[:, None], q=q[None], rng=rng)
    drafted, drawn = (CoupledNoise(seed=0).sample(law, position=np.arange(200_000)) for law in (q, p))
    exactly = q[:, None] * Gumbel().outcomes(np.tile(p, (3, 2, 1)), np.arange(3)[:, None], q=q[None])[:, 0]
    exactly += np.diag(shared_mass(p, q))
    for one, other in ((drafted, drawn), (draft, np.where(got.accepted == 1, draft, got.token))):
        assert goodness_of_fit(np.bincount(3 * one + other, minlength=9), exactly.ravel()).passed(LEVEL)
    blind = np.bincount(3 * draft + sample(p, rng.random(200_000)), minlength=9)  # power: independent draws
    assert not goodness_of_fit(blind, exactly.ravel()).passed(LEVEL)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gumbel(noise=CoupledNoise(seed=1)).verify([[1.0]], [], q=None, rng=RNG), "position must be set"),
        (lambda: CoupledNoise(seed=-1), "seed must be at least 0"),
        (lambda: CoupledNoise(seed=1.5), "seed must be whole numbers"),
        (lambda: CoupledNoise(seed=2**63), "seed must be at most"),
        (lambda: CoupledNoise(seed=1).times(-1, vocabulary=3), "position must be at least 0"),
        (lambda: CoupledNoise(seed=1).sample([0.5, 0.6], position=0), "p must sum to 1"),
        (lambda: CoupledNoise(seed=1).sample([np.nan, 1.0], position=0), r"p\[0\] must be finite"),
        (
            lambda: Gumbel(noise=CoupledNoise(seed=1)).at([1, 2]).verify([[1.0]], [], q=None, rng=RNG),
            r"position must have shape \(\)",
        ),
        (
            lambda: (
                Gumbel(noise=CoupledNoise(seed=np.arange(3))).at(1).verify([[[1.0]]] * 2, [[]] * 2, q=None, rng=RNG)
            ),
            r"seed must have shape \(2,\)",
        ),
        (
            lambda: Gumbel(noise=CoupledNoise(seed=1)).at(0).verify([[0.5, 0.6]], [], q=None, rng=RNG),
            r"p\[0, 0\] must hold",
        ),
        (lambda: gumbel_match([0.5, 0.5], [1.0]), "one vocabulary"),
    ],
)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
