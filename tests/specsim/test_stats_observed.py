"""Observed: cells keep the law, whoever was drawn; PIT on them is exact; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import stats
from specsim.errors import InputError
from specsim.stats import Observed, join, observe, observe_top, pit_values, strata
from specsim.stats.rows import BLOCKS, _largest

V, HEAD = 1000, 32


def laws(rng: np.random.Generator, n: int, size: int = V) -> tuple[np.ndarray, np.ndarray]:
    """Two laws that are alike, most mass on few tokens."""
    p = rng.dirichlet(np.full(size, 0.05), size=n) + 1e-12
    q = 0.6 * p + 0.4 * (rng.dirichlet(np.full(size, 0.05), size=n) + 1e-12)
    return p / p.sum(1, keepdims=True), q / q.sum(1, keepdims=True)


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rows.cumsum(axis=1) > rng.random(len(rows))[:, None] * rows.sum(axis=1, keepdims=True)).argmax(axis=1)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_merged_cells_sum_the_law_and_do_not_depend_on_the_token(kind: type) -> None:
    """Every token of a row in turn: the law over cells is one, and each cell's mass is that of the tokens in it."""
    p, q = laws(np.random.default_rng(0), 1)
    tall = [np.tile(np.log(law), (V, 1)).astype(kind) for law in (p, q)]
    observed = observe(np.arange(V), log_p=tall[0], log_q=tall[1], cells=HEAD)
    assert observed.p.shape == (V, HEAD + BLOCKS)
    assert observed.p.dtype == np.float64
    assert observed.q is not None
    for rows, law in ((observed.p, p[0]), (observed.q, q[0])):
        assert (rows == rows[0]).all()
        np.testing.assert_allclose(np.bincount(observed.cell, law), rows[0], atol=1e-6 if kind is np.float32 else 1e-15)
    np.testing.assert_allclose(observed.mass, p[0], rtol=1e-4 if kind is np.float32 else 1e-12)
    single = np.bincount(observed.cell)[observed.cell] == 1
    best = np.argsort(-np.maximum(p[0], q[0]))[:HEAD]
    assert set(best) == set(np.flatnonzero(single)) & set(best)
    assert (np.diff(observed.cell[np.sort(best)]) > 0).all()  # cells stand in the order of token ids


def test_small_vocabularies_are_not_merged() -> None:
    p, q = laws(np.random.default_rng(1), 50, size=8)
    ids = np.arange(50) % 8
    seen = np.zeros((50, 8), dtype=bool)
    seen[:, 3] = True
    observed = observe(ids, log_p=np.log(p), log_q=np.log(q), log_previous=np.log(q), seen=seen)
    np.testing.assert_allclose(observed.p, p, rtol=1e-12)
    assert observed.q is not None
    assert observed.previous is not None
    assert observed.seen is not None
    np.testing.assert_allclose(observed.q, q, rtol=1e-12)
    np.testing.assert_allclose(observed.previous, q, rtol=1e-12)
    assert observed.seen.tolist() == seen.astype(float).tolist()
    np.testing.assert_array_equal(observed.cell, ids)


def test_impossible_tokens_have_no_mass() -> None:
    with np.errstate(divide="ignore"):
        observed = observe([1, 0], log_p=np.log([[1.0, 0.0], [1.0, 0.0]]))
    assert observed.mass.tolist() == [0.0, 1.0]
    assert stats.support(observed.mass).pvalue == 0.0


def test_a_list_of_the_likeliest_merges_the_rest() -> None:
    observed = observe_top(
        [5, 9], ids=[[9, 5], [2, 1]], log_p=np.log([[0.5, 0.2], [0.6, 0.3]]), log_q=np.log([[0.1] * 2] * 2)
    )
    np.testing.assert_allclose(observed.p, [[0.2, 0.5, 0.3], [0.3, 0.6, 0.1]], atol=1e-12)
    assert observed.cell.tolist() == [0, 2]
    assert observed.q is not None
    np.testing.assert_allclose(observed.q[0], [0.1, 0.1, 0.8], atol=1e-12)
    whole = observe_top([7], ids=[[1, 2]], log_p=np.log([[0.5, 0.5]]))
    assert whole.mass[0] > 0  # rounding cannot make it impossible


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 5000))
def test_largest_are_the_largest(seed: int, count: int, size: int) -> None:
    values = np.random.default_rng(seed).normal(size=max(size, count)).astype(np.float32)
    assert set(_largest(values, count)) == set(np.argsort(-values)[:count])


@pytest.mark.parametrize("order", stats.ORDERS)
def test_cells_tile_the_unit_interval(order: str) -> None:
    """All cells of one row: intervals [u(v=0), u(v=1)) meet without gap or overlap."""
    p, q = laws(np.random.default_rng(3), 1)
    one = observe(np.zeros(1, int), log_p=np.log(p), log_q=np.log(q), cells=HEAD)
    k = one.p.shape[1]
    assert one.q is not None
    every = Observed(p=np.tile(one.p, (k, 1)), q=np.tile(one.q, (k, 1)), cell=np.arange(k), mass=np.ones(k))

    class Fixed:
        def random(self, size: int) -> np.ndarray:
            return np.zeros(size)

    starts = np.sort(pit_values(every, order=order, rng=Fixed()))  # type: ignore[arg-type]
    lengths = one.p[0][np.argsort(pit_values(every, order=order, rng=Fixed()))]  # type: ignore[arg-type]
    np.testing.assert_allclose(np.append(starts, 1.0)[1:], starts + lengths, atol=1e-12)


@pytest.mark.parametrize("order", stats.ORDERS)
def test_u_agrees_with_the_test_on_whole_rows(order: str) -> None:
    rng = np.random.default_rng(4)
    p, q = laws(rng, 200, size=12)
    ids = drawn(p, rng)
    below, mass = stats.order_position(p, ids, order=order, draft_rows=q)
    expected = stats.randomized_pit(below, mass, np.random.default_rng(5))
    observed = observe(ids, log_p=np.log(p), log_q=np.log(q))
    np.testing.assert_allclose(pit_values(observed, order=order, rng=np.random.default_rng(5)), expected, atol=1e-12)


@pytest.mark.parametrize("order", stats.ORDERS)
def test_u_is_uniform_on_merged_cells_and_on_lists(order: str) -> None:
    """Null: uniform; 3000 tokens with a law each, 1000 tokens wide; four tests at 2.5e-7."""
    rng = np.random.default_rng(6)
    p, q = laws(rng, 3000)
    ids = drawn(p, rng)
    top = np.argsort(-p, axis=1)[:, :20]
    listed = observe_top(
        ids, ids=top, log_p=np.log(np.take_along_axis(p, top, 1)), log_q=np.log(np.take_along_axis(q, top, 1))
    )
    for observed in (observe(ids, log_p=np.log(p), log_q=np.log(q), cells=HEAD), listed):
        u = pit_values(observed, order=order, rng=rng)
        assert stats.anderson_darling(u).passed(2.5e-7)
        assert stats.uniformity(u).passed(2.5e-7)


@pytest.mark.parametrize("order", stats.ORDERS)
def test_u_keeps_its_size_down_to_1e_5(order: str) -> None:
    """Null: uniform; 1e6 tokens, both tails at three levels: six exact binomial bands at 1.6e-7 each."""
    rng, n = np.random.default_rng(7), 1_000_000
    p, q = laws(rng, 500, size=8)
    rows = rng.integers(500, size=n)
    ids = (p.cumsum(axis=1)[rows] > rng.random(n)[:, None]).argmax(axis=1)
    u = pit_values(observe(ids, log_p=np.log(p)[rows], log_q=np.log(q)[rows]), order=order, rng=rng)
    for level in (1e-2, 1e-3, 1e-5):
        for tail in (u, 1 - u):
            assert stats.exact_binomial(int((tail <= level).sum()), n, probability=level).pvalue > 1.6e-7


def test_strata_find_where_the_fault_is() -> None:
    """One position of five follows a law bent to twice its weight; null elsewhere: four tests at 2.5e-7."""
    rng = np.random.default_rng(8)
    u, position = rng.random(10_000), np.arange(10_000) % 5
    u[position == 3] **= 1.3
    results = strata(u, position)
    assert list(results) == [0, 1, 2, 3, 4]
    assert [name for name, result in results.items() if not result.passed(2.5e-7)] == [3]
    assert list(strata(u[:13], np.array([0] * 8 + [1] * 5))) == [0]  # too few values for a test of label 1


def test_join_and_take() -> None:
    p, _ = laws(np.random.default_rng(9), 6, size=5)
    whole = observe(np.arange(5).repeat(2)[:6], log_p=np.log(p))
    again = join([whole.take(slice(0, 2)), whole.take(np.arange(2, 6))])
    np.testing.assert_array_equal(again.p, whole.p)
    np.testing.assert_array_equal(again.cell, whole.cell)
    narrow = observe([0], log_p=np.log([[0.5, 0.5]]))
    assert join([whole, narrow]).p[-1].tolist() == [0.5, 0.5, 0, 0, 0]
    with pytest.raises(InputError, match="same fields"):
        join([whole, observe([0], log_p=np.log([[0.5, 0.5]]), log_q=np.log([[0.5, 0.5]]))])
    with pytest.raises(InputError, match="at least one Observed"):
        join([])


HALF = np.log([[0.5, 0.5]])
WIDE = np.log(np.full((1, 300), 1 / 300))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: observe([0], log_p=np.log([[0.5, 0.4]])), r"log_p\[0\] must sum to 1 as probabilities, got 0.9"),
        (lambda: observe([0], log_p=[[np.nan, 0.0]]), r"log_p\[0\] must sum to 1 as probabilities, got nan"),
        (lambda: observe([0], log_p=[[np.inf, 0.0]]), r"log_p\[0\] must sum to 1 as probabilities, got inf"),
        (lambda: observe([0], log_p=[["a", "b"]]), "log_p must be an array of numbers"),
        (lambda: observe([0], log_p=HALF[0]), r"log_p must have shape \(N, V\)"),
        (lambda: observe([2], log_p=HALF), r"tokens\[0\] must be in 0..1, got 2"),
        (lambda: observe([-1], log_p=HALF), r"tokens\[0\] must be in 0..1, got -1"),
        (lambda: observe([0, 1], log_p=HALF), r"tokens must be whole numbers, one per row"),
        (lambda: observe([0.0], log_p=HALF), r"tokens must be whole numbers"),
        (lambda: observe([0], log_p=HALF, log_q=WIDE), r"log_q must have shape \(1, 2\)"),
        (lambda: observe([0], log_p=HALF, log_q=np.log([[0.5, 0.6]])), r"log_q\[0\] must sum to 1"),
        (lambda: observe([0], log_p=HALF, log_previous=[[np.nan, 0.0]]), r"log_previous\[0\]"),
        (lambda: observe([0], log_p=HALF, seen=[[0, 1]]), "seen must be bool"),
        (lambda: observe([0], log_p=WIDE + 0.1), r"log_p\[0\] must sum to 1"),
        (lambda: observe([0], log_p=np.where(np.arange(300) == 7, np.nan, WIDE)), r"log_p\[0\]"),
        (lambda: observe([0], log_p=np.full((1, 30_000), np.nan)), r"log_p\[0\] and log_q must not hold NaN"),
        (lambda: observe_top([0], ids=[[1, 1]], log_p=HALF), r"ids\[0\] must name every token once"),
        (lambda: observe_top([0], ids=[[1, 2]], log_p=[[0.0, 0.0]]), r"log_p\[0\] must sum to at most 1"),
        (lambda: observe_top([0], ids=[[1, 2]], log_p=[[np.nan, -1.0]]), r"log_p\[0\] must sum to at most 1"),
        (lambda: observe_top([0], ids=[[1]], log_p=HALF), "ids must have the shape"),
        (lambda: observe_top([0.5], ids=[[1, 2]], log_p=HALF), "tokens must be whole numbers"),
        (lambda: pit_values(observe([0], log_p=HALF), order="ratio", rng=np.random.default_rng(0)), "must hold q"),
        (lambda: pit_values(observe([0], log_p=HALF), order="up", rng=np.random.default_rng(0)), "order 'up'"),
        (lambda: strata([0.5], [0, 1]), "labels must have the shape"),
    ],
)
def test_bad_input_gives_one_clear_line(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
