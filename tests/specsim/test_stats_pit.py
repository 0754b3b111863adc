"""PIT: exact on small laws, uniform when tokens follow them, and each order finds the faults it is for."""

from __future__ import annotations

import numpy as np
import pytest

from specsim import stats
from specsim.errors import InputError
from specsim.stats import pit
from specsim.stats.pit import ORDERS, order_position, randomized_pit

V, N = 40, 3000


def _laws(rng: np.random.Generator, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Target and draft laws that are alike."""
    p = rng.dirichlet(np.full(V, 0.3), size=n)
    return p, 0.6 * p + 0.4 * rng.dirichlet(np.full(V, 0.3), size=n)


def _draw(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rows.cumsum(axis=1) > rng.random(len(rows))[:, None] * rows.sum(axis=1, keepdims=True)).argmax(axis=1)


def _u(p: np.ndarray, ids: np.ndarray, q: np.ndarray, *, order: str, rng: np.random.Generator) -> np.ndarray:
    return randomized_pit(*order_position(p, ids, order=order, draft_rows=q), rng)


@pytest.mark.parametrize("order", ORDERS)
def test_positions_tile_the_unit_interval(order: str) -> None:
    """One law, every token once: the intervals [below, below + mass) follow each other without gap or overlap."""
    p, q = np.array([0.1, 0.4, 0.1, 0.0, 0.4]), np.array([0.5, 0.1, 0.1, 0.2, 0.1])
    below, mass = order_position(np.tile(p, (5, 1)), np.arange(5), order=order, draft_rows=np.tile(q, (5, 1)))
    assert mass.tolist() == p.tolist()
    ids = np.arange(5)
    place = np.lexsort((ids, {"token_id": ids, "p_descending": -p, "ratio": q / np.where(p > 0, p, 1e-300)}[order]))
    np.testing.assert_allclose(below[place], np.concatenate([[0], np.cumsum(p[place])[:-1]]), atol=1e-15)


@pytest.mark.parametrize("order", ORDERS)
def test_u_is_uniform_and_independent_when_tokens_follow_their_laws(order: str) -> None:
    """Null: uniform; 3000 tokens; four tests, each at 2.5e-7."""
    rng = np.random.default_rng(1)
    p, q = _laws(rng)
    u = _u(p, _draw(p, rng), q, order=order, rng=rng)
    for test in (stats.anderson_darling, stats.uniformity, stats.kolmogorov_smirnov):
        assert test(u).passed(2.5e-7)
    pairs = np.histogram2d(u[0::2], u[1::2], bins=4, range=[[0, 1], [0, 1]])[0].ravel()
    assert stats.goodness_of_fit(pairs, np.full(16, 1 / 16)).passed(2.5e-7)


@pytest.mark.parametrize(
    ("order", "fault"),
    [
        ("ratio", lambda p, q: 0.5 * p + 0.5 * q),
        ("ratio", lambda p, q: np.minimum(p, q) + (1 - np.minimum(p, q).sum(1, keepdims=True)) * p),
        ("p_descending", lambda p, q: p**1.3 / (p**1.3).sum(1, keepdims=True)),
        ("p_descending", lambda p, q: np.roll(p, 1, axis=0)),
        ("token_id", lambda p, q: p * np.linspace(1.3, 0.7, V) / (p * np.linspace(1.3, 0.7, V)).sum(1, keepdims=True)),
    ],
    ids=["looks like q", "residual is p", "temperature", "row of another token", "low ids preferred"],
)
def test_each_order_finds_its_faults(order: str, fault) -> None:  # type: ignore[no-untyped-def]
    """3000 tokens from a faulty law are rejected at 1e-6."""
    rng = np.random.default_rng(2)
    p, q = _laws(rng)
    u = _u(p, _draw(fault(p, q), rng), q, order=order, rng=rng)
    assert not stats.anderson_darling(u).passed(1e-6)


def test_an_order_that_knows_the_token_is_no_order() -> None:
    """The trap that the rule names: sorting the observed token first makes a perfect decoder fail."""
    rng = np.random.default_rng(3)
    p, _ = _laws(rng)
    mass = p[np.arange(N), _draw(p, rng)]
    assert not stats.anderson_darling(randomized_pit(np.zeros(N), mass, rng)).passed(1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    p, q = _laws(rng, 50)
    ids = _draw(p, rng)
    whole = order_position(p, ids, order="ratio", draft_rows=q)
    monkeypatch.setattr(pit, "_BLOCK_CELLS", 7 * V)
    for a, b in zip(whole, order_position(p, ids, order="ratio", draft_rows=q), strict=True):
        np.testing.assert_array_equal(a, b)


def test_float32_rows_are_normalised_in_float64() -> None:
    rng = np.random.default_rng(5)
    p, _ = _laws(rng, 200)
    rows = (p * (1 + 3e-4)).astype(np.float32)
    below, mass = order_position(rows, np.full(200, V - 1))
    np.testing.assert_allclose(below + mass, 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ids": [0, 3]}, r"ids\[1\] must be in 0..1, got 3"),
        ({"ids": [0]}, "one per row"),
        ({"ids": [0.0, 1.0]}, "whole numbers"),
        ({"order": "size"}, "order 'size' is unknown"),
        ({"order": "ratio"}, "draft_rows must be given"),
        ({"order": "ratio", "draft_rows": [[1.0]]}, "draft_rows must have the shape"),
        ({"rows": [[0.5, 0.4], [1, 0]]}, r"rows\[0\] must sum to 1"),
    ],
)
def test_bad_input_gives_one_clear_line(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        order_position(**{"rows": [[0.5, 0.5], [1, 0]], "ids": [0, 0], **arguments})  # type: ignore[arg-type]


def test_pit_refuses_what_is_no_probability() -> None:
    with pytest.raises(InputError, match="mass"):
        randomized_pit([0.5], [1.5], np.random.default_rng(0))
    with pytest.raises(InputError, match="shape"):
        randomized_pit([0.5], [0.5, 0.5], np.random.default_rng(0))
