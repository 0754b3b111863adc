"""Laws, overlaps and draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from specsim.distributions import (
    Sampling,
    argmax_overlap,
    entropy,
    one_hot,
    overlap,
    sample,
    softmax,
    total_variation,
)
from specsim.distributions.draw import BLOCK
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from tests.reference import golden_spine

LEVEL = 1e-7  # false-alarm rate of each random test here
LOGITS = np.log([0.1, 0.4, 0.2, 0.3])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two laws over one vocabulary, zeros included."""
    size = draw(st.integers(1, 8))
    rows = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    p, q = np.array(draw(rows), float), np.array(draw(rows), float)
    return p / p.sum(), q / q.sum()


# --- from logits to laws -------------------------------------------------------------------------------------------


def test_softmax_is_scipys() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 4, 7)) * 10
    np.testing.assert_allclose(softmax(logits, temperature=0.7), special.softmax(logits / 0.7, axis=-1), rtol=1e-12)


def test_greedy_is_one_hot_at_the_first_argmax() -> None:
    laws = Sampling(temperature=0).probabilities([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(laws, [[0, 1, 0], [1, 0, 0]])
    assert Sampling(temperature=0).is_greedy
    assert not Sampling(temperature=0.01).is_greedy


def test_top_k_keeps_the_largest_and_their_ties() -> None:
    np.testing.assert_allclose(Sampling(top_k=2).probabilities(LOGITS), [0, 4 / 7, 0, 3 / 7], rtol=1e-12)
    np.testing.assert_allclose(Sampling(top_k=2).probabilities([0.0, 5.0, 0.0, 0.0])[2:] > 0, True)
    np.testing.assert_allclose(Sampling(top_k=99).probabilities(LOGITS), softmax(LOGITS), rtol=1e-12)


@pytest.mark.parametrize(
    ("mass", "kept"),
    [(0.05, [1]), (0.4, [1]), (0.41, [1, 3]), (0.7, [1, 3]), (0.71, [1, 2, 3]), (0.9, [1, 2, 3]), (1.0, [0, 1, 2, 3])],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_top_p_keeps_the_fewest_that_reach_the_mass(mass: float, kept: list[int], dtype: type) -> None:
    law = Sampling(top_p=mass).probabilities(LOGITS.astype(dtype))
    assert np.flatnonzero(law).tolist() == kept
    np.testing.assert_allclose(law[kept], np.exp(LOGITS[kept]) / np.exp(LOGITS[kept]).sum(), rtol=1e-5)


def test_of_tokens_tied_at_the_top_p_cut_the_lower_ids_stay() -> None:
    assert Sampling(top_p=0.5).probabilities(np.zeros(4)).tolist() == [0.5, 0.5, 0, 0]


def test_the_order_is_temperature_then_top_k_then_top_p() -> None:
    # At temperature 1/2 the law is (1, 16, 4, 9)/30: top-p 0.8 keeps two tokens, where it would keep three at 1.
    assert np.flatnonzero(Sampling(temperature=0.5, top_p=0.8).probabilities(LOGITS)).tolist() == [1, 3]
    assert np.flatnonzero(Sampling(top_p=0.8).probabilities(LOGITS)).tolist() == [1, 2, 3]
    # Among the top two, 0.4 and 0.3, the first holds 4/7 of the mass: top-p 0.5 keeps it alone.
    assert np.flatnonzero(Sampling(top_k=2, top_p=0.5).probabilities(LOGITS)).tolist() == [1]
    assert np.flatnonzero(Sampling(top_p=0.5).probabilities(LOGITS)).tolist() == [1, 3]


@pytest.mark.parametrize(
    "sampling",
    [Sampling(), Sampling(temperature=0), Sampling(temperature=0.3, top_k=5, top_p=0.9), Sampling(top_p=0.5)],
    ids=str,
)
def test_float32_in_float32_out_and_the_same_law(sampling: Sampling) -> None:
    logits = np.random.default_rng(1).normal(size=(5, 50)) * 4
    single = sampling.probabilities(logits.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, sampling.probabilities(logits), atol=1e-6)
    np.testing.assert_allclose(single.sum(axis=-1), 1, atol=1e-6)


def test_banned_tokens_have_probability_zero() -> None:
    lowest = np.finfo(np.float32).min
    for ban in (-np.inf, lowest):
        for sampling in (Sampling(), Sampling(temperature=0.1, top_k=3, top_p=0.99), Sampling(temperature=0)):
            law = sampling.probabilities(np.array([ban, 5.0, 6.0, ban], np.float32))
            assert (law[[0, 3]] == 0).all(), (ban, sampling)


@pytest.mark.parametrize(
    ("row", "name"),
    [([np.nan, 1.0], "NaN"), ([np.inf, 1.0], "infinity"), ([-np.inf, -np.inf], "every token banned")],
    ids=str,
)
def test_a_row_that_is_no_law_is_named(row: list[float], name: str) -> None:
    for sampling in (Sampling(), Sampling(temperature=0)):
        with pytest.raises(InputError, match=r"logits\[1, 0\]"):
            sampling.probabilities([[[0.0, 1.0]], [row]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "temperature must be at least 0"),
        ({"temperature": 1e-9}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
    ],
    ids=str,
)
def test_settings_outside_their_range(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**settings)  # type: ignore[arg-type]


def test_logits_need_a_vocabulary() -> None:
    for logits in (1.0, [], [[]]):
        with pytest.raises(InputError, match="vocabulary axis"):
            softmax(logits)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 9)), elements=st.integers(-5, 5)),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    st.sampled_from([None, 1, 2, 20]),
    st.sampled_from([None, 0.1, 0.5, 0.9, 1.0]),
)
def test_every_law_is_one_and_keeps_the_argmax(
    logits: np.ndarray, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    laws = Sampling(temperature=temperature, top_k=top_k, top_p=top_p).probabilities(logits)
    np.testing.assert_allclose(laws.sum(axis=-1), 1, rtol=1e-12)
    assert (laws.max(axis=-1) > 0).all()
    kept = np.where(laws > 0, logits, np.inf).min(axis=-1)
    left_out = np.where(laws > 0, -np.inf, logits).max(axis=-1)
    assert (kept >= left_out).all()


# --- overlaps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_spine.rows("single_step"), ids=lambda row: row["id"])
def test_overlap_and_total_variation_are_the_goldens(row: dict) -> None:
    p, q = (golden_spine.numbers(row["case"][name]) for name in "pq")
    assert float(overlap(p, q)) == pytest.approx(float(Fraction(row["expected"]["alpha"])), rel=row["rtol"])
    assert float(total_variation(p, q)) == pytest.approx(float(Fraction(row["expected"]["TV"])), rel=row["rtol"])


def test_neither_sampled_nor_argmax_drafts_dominate() -> None:
    first, second = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), ([0.95, 0.05], [0.6, 0.4])
    assert [round(float(overlap(*pair)), 9) for pair in (first, second)] == [0.7, 0.65]
    assert [float(argmax_overlap(*pair)) for pair in (first, second)] == [0.2, 0.95]


def test_leading_axes_broadcast() -> None:
    p, q = np.full((2, 1, 4), 0.25), np.tile([0.7, 0.1, 0.1, 0.1], (3, 1))
    for function in (overlap, total_variation, argmax_overlap):
        assert function(p, q).shape == (2, 3)
    assert entropy(p).shape == (2, 1)


@given(pairs())
def test_overlap_is_one_minus_total_variation_and_symmetric(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair
    assert float(overlap(p, q)) == pytest.approx(1 - float(total_variation(p, q)), abs=1e-12)
    assert float(overlap(p, q)) == pytest.approx(float(overlap(q, p)), abs=1e-12)
    assert float(overlap(p, p)) == pytest.approx(1)
    assert -1e-12 <= float(entropy(p)) <= np.log(p.size) + 1e-12


@given(pairs(), st.randoms(use_true_random=False))
def test_relabelling_the_vocabulary_changes_nothing(pair: tuple[np.ndarray, np.ndarray], order: object) -> None:
    p, q = pair
    labels = list(range(p.size))
    order.shuffle(labels)  # type: ignore[attr-defined]
    for function in (overlap, total_variation):
        assert float(function(p[labels], q[labels])) == pytest.approx(float(function(p, q)), abs=1e-12)
    assert float(entropy(p[labels])) == pytest.approx(float(entropy(p)), abs=1e-12)


def test_entropy_of_one_hot_and_uniform() -> None:
    assert entropy([[1.0, 0.0], [0.5, 0.5]]).tolist() == [0.0, np.log(2)]


def test_laws_of_two_vocabularies_are_refused() -> None:
    with pytest.raises(InputError, match="one vocabulary, got 2 and 3"):
        overlap([0.5, 0.5], [0.5, 0.25, 0.25])
    with pytest.raises(InputError, match=r"q\[1\] must sum to 1"):
        overlap([0.5, 0.5], [[0.5, 0.5], [0.5, 0.6]])


# --- drawing -------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([0.0, 1e-12, 0.1, 1.0, 3.0]), min_size=1, max_size=8).filter(any),
    st.sampled_from([0.0, 5e-324, 0.25, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1),
    st.sampled_from([np.float32, np.float64]),
)
def test_a_token_without_mass_is_never_drawn(weights: list[float], uniform: float, dtype: type) -> None:
    row = np.array(weights, dtype)
    for rows in (row, row[None]):  # one row and many rows take different paths
        token = int(np.ravel(sample(rows, np.full(rows.shape[:-1], uniform)))[0])
        assert row[token] > 0
        assert row[:token].sum(dtype=np.float64) <= uniform * row.sum(dtype=np.float64) * (1 + 1e-12)


def test_one_row_and_many_rows_draw_alike() -> None:
    rng = np.random.default_rng(2)
    rows, uniforms = rng.dirichlet(np.ones(6), size=40), rng.random(40)
    together = sample(rows, uniforms)
    assert together.tolist() == [int(sample(row, u)) for row, u in zip(rows, uniforms, strict=True)]
    np.testing.assert_array_equal(sample(rows.reshape(5, 8, 6), uniforms.reshape(5, 8)), together.reshape(5, 8))


@given(
    st.integers(BLOCK + 1, 3 * BLOCK + 7),
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from([5e-324, 1e-12, 0.1, 1.0])), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1),
)
def test_long_rows_are_drawn_by_blocks_from_the_same_law(
    vocabulary: int, filled: list[tuple[int, float]], uniform: float
) -> None:
    """Few tokens with mass among blocks that have none; the token drawn is where the running sum passes the uniform."""
    row = np.zeros(vocabulary)
    for place, weight in filled:
        row[place % vocabulary] = weight
    token = int(sample(row[None], [uniform])[0])
    steps, wanted = np.cumsum(row), uniform * row.sum()
    assert row[token] > 0
    assert steps[token] >= wanted * (1 - 1e-12)
    assert steps[token] - row[token] <= wanted * (1 + 1e-12)


def test_long_rows_of_many_shapes() -> None:
    rng = np.random.default_rng(4)
    rows, uniforms = rng.dirichlet(np.full(BLOCK + 100, 0.1), size=30).astype(np.float32), rng.random(30)
    steps = np.cumsum(rows, axis=-1, dtype=np.float64)
    token_by_token = [int(np.searchsorted(step, u)) for step, u in zip(steps, uniforms, strict=True)]
    assert sample(rows, uniforms).tolist() == token_by_token
    assert [int(sample(row, u)) for row, u in zip(rows, uniforms, strict=True)] == token_by_token
    assert sample(rows.reshape(5, 6, -1), uniforms.reshape(5, 6)).ravel().tolist() == token_by_token
    many = sample(rows[0], uniforms)  # one law, many draws
    assert many.shape == (30,)
    assert sample(rows[:0], uniforms[:0]).shape == (0,)


@pytest.mark.parametrize("weight", [np.uint8(1), np.True_, np.int16(300), np.float16(200), np.float32(3e37)])
def test_long_rows_of_weights_that_a_sum_of_their_own_type_could_not_hold(weight: np.generic) -> None:
    rows = np.full((1, 3 * BLOCK), weight)
    rows[0, : 2 * BLOCK : 2] = 0
    uniforms = np.linspace(0, 1, 41)
    steps = np.cumsum(rows[0].astype(np.float64))
    expected = np.minimum(np.searchsorted(steps, uniforms * steps[-1] * (1 + 1e-12), side="right"), 3 * BLOCK - 1)
    assert [int(sample(rows, [each])[0]) for each in uniforms] == expected.tolist()


def test_the_last_tokens_of_a_block_are_drawn_however_its_sum_rounds() -> None:
    """One token holds nearly all of the block, the others round away where they are added to it in float32."""
    row = np.full((1, 2 * BLOCK), 1e-8, dtype=np.float32)
    row[0, 0] = 1.0
    mass = row.astype(np.float64)[0] / row.sum(dtype=np.float64)
    ends = np.cumsum(mass)
    uniforms = ends - mass / 2  # in the middle of each token's part
    assert [int(sample(row, [each])[0]) for each in uniforms[BLOCK // 2 : BLOCK]] == list(range(BLOCK // 2, BLOCK))


def _counts(law: list[float], uniforms: np.ndarray) -> np.ndarray:
    return np.bincount(sample(law, uniforms), minlength=len(law))


def test_drawn_tokens_follow_the_law() -> None:
    """Null: tokens follow the law, n = 200000, false-alarm rate 1e-7."""
    law = [0.05, 0.0, 0.6, 0.35]
    assert goodness_of_fit(_counts(law, np.random.default_rng(3).random(200_000)), law).passed(LEVEL)


def test_draws_with_coarse_uniforms_are_caught() -> None:
    """Power: uniforms on a grid of sixteenths shift 0.0125 of the mass."""
    law = [0.05, 0.0, 0.6, 0.35]
    uniforms = np.floor(np.random.default_rng(3).random(200_000) * 16) / 16
    assert not goodness_of_fit(_counts(law, uniforms), law).passed(LEVEL)


@pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [-0.1, 1.1]], ids=str)
def test_rows_that_cannot_be_drawn_from(row: list[float]) -> None:
    with pytest.raises(InputError, match=r"rows\[1\]"):
        sample([[0.5, 0.5], row], [0.5, 0.5])
    with pytest.raises(InputError, match="rows must"):
        sample(row, 0.5)


def test_uniforms_outside_the_unit_interval() -> None:
    for uniform in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="uniforms"):
            sample([0.5, 0.5], uniform)


def test_one_hot_keeps_the_type() -> None:
    assert one_hot([1, 0], vocabulary=2, dtype=np.float32).dtype == np.float32
