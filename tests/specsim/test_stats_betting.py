"""Betting: each bet is fair under p, the mixture keeps Ville's bound, batches do not matter, faults are caught."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import stats
from specsim.errors import InputError
from specsim.stats import BettingProcess, Observed, observe

module = importlib.import_module("specsim.stats.betting")
V = 8


def laws(rng: np.random.Generator, n: int) -> Observed:
    """Rows of laws with everything that directions need, each observed at cell 0."""
    p, q, previous = (rng.dirichlet(np.full(V, 0.7), size=n) + 1e-9 for _ in range(3))
    p, q = (rows / rows.sum(1, keepdims=True) for rows in (p, 0.6 * p + 0.4 * q))
    return Observed(
        p=p,
        q=q,
        previous=previous / previous.sum(1, keepdims=True),
        seen=(rng.random((n, V)) < 0.3).astype(float),
        cell=np.zeros(n, int),
        mass=p[:, 0],
    )


def drawn(observed: Observed, rows: np.ndarray, rng: np.random.Generator) -> Observed:
    cell = (rows.cumsum(axis=1) > rng.random(len(rows))[:, None] * rows.sum(1, keepdims=True)).argmax(axis=1)
    return Observed(
        p=observed.p, q=observed.q, previous=observed.previous, seen=observed.seen, cell=cell, mass=observed.mass
    )


def factors(observed: Observed, cell: int, tolerance: float) -> np.ndarray:
    at = Observed(
        p=observed.p,
        q=observed.q,
        previous=observed.previous,
        seen=observed.seen,
        cell=np.full(len(observed), cell),
        mass=observed.mass,
    )
    return np.asarray(np.exp(module._log_factors(at, tolerance)[0]))


@given(st.integers(0, 2**32 - 1))
def test_every_bet_is_fair_and_never_negative(seed: int) -> None:
    """By summing over all cells: mean exactly 1 under p, for all 54 bets."""
    observed = laws(np.random.default_rng(seed), 3)
    by_cell = np.stack([factors(observed, cell, 0.0) for cell in range(V)], axis=1)
    assert by_cell.shape == (3, V, 9, 6)
    assert (by_cell >= 0.2 - 1e-12).all()
    np.testing.assert_allclose(np.einsum("nk,nkij->nij", observed.p, by_cell), 1.0, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.3))
def test_within_the_tolerance_no_bet_gains(seed: int, tolerance: float) -> None:
    """The worst law at that total variation moves mass from the cell that pays least to the one that pays most."""
    observed = laws(np.random.default_rng(seed), 1)
    by_cell = np.stack([factors(observed, cell, tolerance) for cell in range(V)], axis=1)[0]
    for bet in by_cell.reshape(V, -1).T:
        worst, moved = observed.p[0].copy(), 0.0
        for cell in np.argsort(bet):
            step = min(worst[cell], tolerance - moved)
            worst[cell] -= step
            moved += step
        worst[bet.argmax()] += moved
        assert worst @ bet <= 1 + 1e-12


def test_scores_that_differ_by_rounding_alone_are_no_bet() -> None:
    """Where q is p but for the last digits, q / (p + q) is a half everywhere, and its range is rounding."""
    p = np.random.default_rng(0).dirichlet(np.full(V, 0.7), size=200)
    cell = np.zeros(200, int)
    alike = Observed(p=p, q=p * (1 + 1e-16), previous=p * (1 - 2e-16), seen=np.zeros_like(p), cell=cell, mass=p[:, 0])
    for at in range(V):
        by_bet = factors(alike, at, 0.0)
        assert np.isfinite(by_bet).all()
        assert by_bet[:, [0, 7]] == pytest.approx(1.0)


def test_ville_holds_at_loosened_levels() -> None:
    """Null: 12,000 runs of 50 tokens; share that ever reaches 1 / level at most level; three bands at 3e-7."""
    rng, runs, length = np.random.default_rng(1), 1000, 50
    peaks = []
    for _ in range(12):
        observed = laws(rng, runs * length)
        moves, _ = module._log_factors(drawn(observed, observed.p, rng), 0.0)
        running = moves.reshape(runs, length, -1).cumsum(axis=1)
        path = module._log_mean(running.reshape(runs * length, -1)).reshape(runs, length)
        peaks.append(path.max(axis=1))
    peak = np.concatenate(peaks)
    for level in (1e-1, 1e-2, 1e-3):
        reached = int((peak >= -math.log(level)).sum())
        assert stats.exact_binomial(reached, peak.size, probability=level, alternative="greater").pvalue > 3e-7
    assert (peak >= -math.log(0.1)).mean() > 1e-3  # the bound is not idle


def test_the_band_would_see_an_unfair_bet() -> None:
    """The same with tokens from a law 10 % off: Ville's bound at 0.01 is broken."""
    rng, runs, length = np.random.default_rng(2), 1000, 100
    observed = laws(rng, runs * length)
    assert observed.q is not None
    moves, _ = module._log_factors(drawn(observed, observed.q, rng), 0.0)
    path = module._log_mean(moves.reshape(runs, length, -1).cumsum(axis=1).reshape(runs * length, -1))
    reached = int((path.reshape(runs, length).max(axis=1) >= math.log(100)).sum())
    assert stats.exact_binomial(reached, runs, probability=0.01, alternative="greater").pvalue < 3e-7


def test_batches_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    base = laws(rng, 3000)
    observed = drawn(base, base.q, rng)  # type: ignore[arg-type]
    whole = BettingProcess().update(observed)
    process, paths = BettingProcess(), []
    for start in range(0, 3000, 700):
        process = process.update(observed.take(slice(start, start + 700)))
        paths.append(process.path)
    np.testing.assert_allclose(np.concatenate(paths), whole.path, rtol=1e-10)
    assert process.n == whole.n == 3000
    assert process.log_e == pytest.approx(whole.log_e)
    assert process.peak == pytest.approx(whole.peak)
    crossing = whole.crossing(1e-6)
    assert crossing is not None
    assert whole.path[crossing - 1] >= math.log(1e6) > whole.path[: crossing - 1].max(initial=0.0)
    assert whole.rejects(1e-6)
    assert process.update(observed.take(slice(0, 0))).peak == process.peak


def test_a_new_process_says_nothing() -> None:
    process = BettingProcess()
    assert (process.log_e, process.peak, process.n) == (0.0, 0.0, 0)
    assert process.result().pvalue == 1.0
    assert not process.rejects(0.5)
    assert process.crossing(0.5) is None
    assert process.smallest_tv(level=1e-6, power=0.99) == 1.0


def test_the_peak_counts_not_the_end() -> None:
    """A fault at the beginning is remembered: the p-value is 1 over the largest E."""
    rng = np.random.default_rng(4)
    base = laws(rng, 2000)
    faulty = BettingProcess().update(drawn(base, base.q, rng))  # type: ignore[arg-type]
    later = faulty.update(drawn(base, base.p, rng))
    assert later.log_e < later.peak
    assert later.result().pvalue == pytest.approx(math.exp(-later.peak))
    assert later.result().log_evalue == later.peak


def test_a_tolerance_costs_power_and_spares_what_is_inside() -> None:
    """Tokens from a law 0.02 off: caught without tolerance, not with 0.03."""
    rng = np.random.default_rng(5)
    base = laws(rng, 60_000)
    bent = base.p * np.where(base.q > base.p, 1.12, 1.0)  # type: ignore[operator]
    bent /= bent.sum(axis=1, keepdims=True)
    distance = np.abs(bent - base.p).sum(axis=1).max() / 2
    observed = drawn(base, bent, rng)
    assert distance < 0.03
    assert BettingProcess().update(observed).rejects(1e-6)
    assert not BettingProcess(tolerance=0.03).update(observed).rejects(1e-6)


def test_the_smallest_tilt_is_nearly_caught_as_often_as_promised() -> None:
    """The tilt of direction "sign" at 1.3 times the promised size (the grid of stakes costs some): at least 0.9.

    Level 1e-3, power 0.9, 300 runs of 2000 tokens; one band at 1e-6.
    """
    rng, n, runs = np.random.default_rng(6), 2000, 300
    base = laws(rng, n)
    gains = module._gains(base, "sign")
    spread, variance = float((base.p * abs(gains)).sum()), float((base.p * gains**2).sum())
    tv = 1.3 * stats.betting_tv(spread=spread, variance=variance, n=n, bets=54, level=1e-3, power=0.9)
    bent = base.p * (1 + 2 * tv * n / spread * gains)
    caught = sum(BettingProcess().update(drawn(base, bent, rng)).rejects(1e-3) for _ in range(runs))
    assert stats.exact_binomial(caught, runs, probability=0.9, alternative="less").pvalue > 1e-6


def test_bad_input_gives_one_clear_line() -> None:
    with pytest.raises(InputError, match=r"tolerance must be in \[0, 1\], got 2"):
        BettingProcess(tolerance=2.0)
    with pytest.raises(InputError, match=r"level must be in \(0, 1\], got 0"):
        BettingProcess().rejects(0.0)
    bare = observe([0], log_p=np.log([[0.5, 0.5]]))
    assert BettingProcess().update(bare).n == 1  # directions whose laws are missing do not bet
