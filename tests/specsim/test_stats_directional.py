"""Directional scores: the tail against exact laws, few tokens raise no false alarm, each fault has its name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specsim import stats
from specsim.errors import InputError
from specsim.stats import CAUSES, DIRECTIONS, Observed, directional_score, directional_scores, likeliest_cause, observe
from specsim.stats.directions import available, scores
from specsim.stats.saddlepoint import upper_tail

V = 8


def softmax(logits: np.ndarray) -> np.ndarray:
    grown = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(grown / grown.sum(-1, keepdims=True))


def tables(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Order-2 tables of target and draft."""
    logits = rng.normal(0, 1.5, (V, V, V))
    return softmax(logits), softmax(0.8 * logits + rng.normal(0, 0.9, (V, V, V)))


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rows.cumsum(axis=1) > rng.random(len(rows))[:, None]).argmax(axis=1)


def run(fault, n: int, rng: np.random.Generator) -> Observed:  # type: ignore[no-untyped-def]
    """Tokens from `fault(p, q, previous, seen)` in random contexts of two table models."""
    target, draft = tables(rng)
    context = rng.integers(V, size=(n, 3))
    p, q = target[context[:, 1], context[:, 2]], draft[context[:, 1], context[:, 2]]
    previous = target[context[:, 0], context[:, 1]]
    seen = (context[:, :, None] == np.arange(V)).any(axis=1)
    tokens = drawn(fault(p, q, previous, seen), rng)
    return observe(tokens, log_p=np.log(p), log_q=np.log(q), log_previous=np.log(previous), seen=seen)


def normal(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "chances", [[0.5] * 5, [0.1] * 30, [1e-3] * 3, [1e-3] * 800, list(np.linspace(0.01, 0.99, 120))]
)
def test_tail_agrees_with_exact_convolution(chances: list[float]) -> None:
    """Sums of indicators, both tails, down to 1e-13: at most 6 % too small (1 % below 1e-3), at most 10 % too large."""
    success = np.array(chances)
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    values, masses = np.stack([-success, 1 - success], 1), np.stack([1 - success, success], 1)
    counts = np.arange(law.size)
    for sign, tail in ((1, law[::-1].cumsum()[::-1]), (-1, law.cumsum())):
        totals = sign * (counts - success.sum())
        for total, exact in zip(
            totals[(totals > 0) & (tail > 1e-13)], tail[(totals > 0) & (tail > 1e-13)], strict=True
        ):
            ours = upper_tail(float(total), values=sign * values, masses=masses)
            assert 0.94 * exact < ours < 1.1 * exact
            assert exact > 1e-3 or ours > 0.99 * exact


def test_few_effective_tokens_give_no_false_alarm() -> None:
    """1000 sure tokens and three with a rare one of probability 1e-3 that comes twice: 2.998e-6."""
    p = np.tile([1.0 - 1e-12, 1e-12], (1003, 1))
    p[:3] = [1 - 1e-3, 1e-3]
    tokens = np.zeros(1003, dtype=int)
    tokens[:2] = 1
    result = directional_score(observe(tokens, log_p=np.log(p)), direction="argmax_p")
    assert result.statistic < -30  # a normal law would give 1e-200
    assert 1 < result.pvalue / (2 * 2.998e-6) < 1.2


def test_nothing_random_says_nothing_and_the_impossible_everything() -> None:
    with np.errstate(divide="ignore"):
        sure = np.log([[1.0, 0.0]])
    assert directional_score(observe([0], log_p=sure), direction="argmax_p").pvalue == 1.0
    wrong = directional_score(observe([1], log_p=sure), direction="argmax_p")
    assert (wrong.pvalue, wrong.statistic, wrong.smallest_tv) == (0.0, -math.inf, 1.0)


@pytest.mark.parametrize("direction", ["log_p", "q", "residual"])
def test_size_down_to_1e_5_on_a_million_nulls(direction: str) -> None:
    """Null: 25 fixed rows, the sum redrawn 1e6 times; at most nominal at four levels, bands at 2.5e-7 each.

    The p-value falls with the sum, so it is computed on a grid of sums and read off to the safe side.
    """
    rng, n, runs = np.random.default_rng(1), 25, 1_000_000
    observed = run(lambda p, q, previous, seen: p, n, rng)
    g = scores(observed, direction)
    gaps = g - (observed.p * g).sum(axis=1, keepdims=True)
    total = np.zeros(runs)
    for row, law in zip(gaps, observed.p, strict=True):
        total += rng.choice(row, p=law, size=runs)
    for sign in (1, -1):
        grid = np.linspace(0.01 * total.std(), (sign * total).max(), 400)
        tails = np.array([upper_tail(float(x), values=sign * gaps, masses=observed.p) for x in grid])
        assert (np.diff(tails) <= 1e-9).all()
        for level in (1e-2, 1e-3, 1e-4, 1e-5):
            rejected = int((sign * total >= grid[(tails <= level).argmax()]).sum()) if (tails <= level).any() else 0
            assert stats.exact_binomial(rejected, runs, probability=level, alternative="greater").pvalue > 2.5e-7
        assert (sign * total >= grid[(tails <= 1e-2).argmax()]).mean() > 1e-3  # and not idle


def test_size_holds_on_chains_whose_laws_depend_on_the_past() -> None:
    """Null: 2000 chains of 60 tokens, one score each; conservative at three levels, bands at 3e-7."""
    rng, chains, length = np.random.default_rng(2), 2000, 60
    target, draft = tables(rng)
    state = rng.integers(V, size=(chains, 2))
    rows, drafts, tokens = [], [], []
    for _ in range(length):
        rows.append(target[state[:, 0], state[:, 1]])
        drafts.append(draft[state[:, 0], state[:, 1]])
        tokens.append(drawn(rows[-1], rng))
        state = np.stack([state[:, 1], tokens[-1]], axis=1)
    p, q, x = (np.stack(values, axis=1) for values in (rows, drafts, tokens))
    pvalues = np.array(
        [
            directional_score(observe(x[i], log_p=np.log(p[i]), log_q=np.log(q[i])), direction="sign").pvalue
            for i in range(chains)
        ]
    )
    for level in (1e-1, 1e-2, 1e-3):
        rejected = int((pvalues <= level).sum())
        assert stats.exact_binomial(rejected, chains, probability=level, alternative="greater").pvalue > 3e-7


FAULTS = {
    "q": lambda p, q, previous, seen: 0.8 * p + 0.2 * q,
    "sign": lambda p, q, previous, seen: normal(p * np.where(q > p, 1.3, 1.0)),
    "log_p": lambda p, q, previous, seen: normal(p**1.2),
    "argmax_p": lambda p, q, previous, seen: 0.9 * p + 0.1 * (p == p.max(1, keepdims=True)),
    "argmax_q": lambda p, q, previous, seen: 0.8 * p + 0.2 * (q == q.max(1, keepdims=True)),
    "previous": lambda p, q, previous, seen: 0.7 * p + 0.3 * previous,
    "seen": lambda p, q, previous, seen: normal(p * np.where(seen, 0.75, 1.0)),
    "low_id": lambda p, q, previous, seen: normal(p * np.where(p.cumsum(1) - p / 2 < 0.25, 1.3, 1.0)),
    "high_id": lambda p, q, previous, seen: normal(p * np.where(p.cumsum(1) - p / 2 > 0.75, 1.3, 1.0)),
    "residual": lambda p, q, previous, seen: np.minimum(p, q) + (1 - np.minimum(p, q).sum(1, keepdims=True)) * p,
}
LOOKS = {
    "q": "q",
    "seen": "penalty state",
    "previous": "row off by one",
    "log_p": "temperature",
    "residual": "(p - q)+",
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_caught_under_its_own_name(name: str) -> None:
    """40,000 tokens: rejected at 1e-6, and the winning direction is the fault's."""
    results = directional_scores(run(FAULTS[name], 40_000, np.random.default_rng(3)))
    winner = likeliest_cause(results)
    assert winner.pvalue < 1e-6
    assert winner.details["direction"] == name or {name, winner.details["direction"]} == {"q", "sign"}  # near twins
    assert LOOKS.get(name, "") in winner.detail


def test_variance_and_total_are_exact() -> None:
    """All 4 outcomes of two tokens: mean 0 and the variance that is stated."""
    p = np.array([[0.3, 0.7], [0.6, 0.4]])
    moments = []
    for a in range(2):
        for b in range(2):
            result = directional_score(observe([a, b], log_p=np.log(p)), direction="log_p")
            moments.append((p[0, a] * p[1, b], result.details["total"], result.details["variance"]))
    weight, total, variance = np.array(moments, dtype=float).T
    assert (weight * total).sum() == pytest.approx(0, abs=1e-12)
    assert (weight * total**2).sum() == pytest.approx(variance[0], rel=1e-9)


def test_the_smallest_tilt_is_caught_as_often_as_promised() -> None:
    """A tilt at level 1e-3 and power 0.9, 600 runs of 2000 tokens: power in 0.84..0.95, two bands at 5e-7."""
    rng, n, runs = np.random.default_rng(4), 2000, 600
    observed = run(lambda p, q, previous, seen: p, n, rng)
    g = scores(observed, "sign")
    gaps = g - (observed.p * g).sum(1, keepdims=True)
    spread, variance = float((observed.p * abs(gaps)).sum()), float((observed.p * gaps**2).sum())
    tv = stats.score_tv(spread=spread, variance=variance, n=n, level=1e-3, power=0.9)
    bent = observed.p * (1 + 2 * tv * n / spread * gaps)
    assert np.abs(bent - observed.p).sum() / 2 / n == pytest.approx(tv)
    caught = 0
    for _ in range(runs):
        total = gaps[np.arange(n), drawn(bent, rng)].sum()
        caught += 2 * upper_tail(float(total), values=gaps, masses=observed.p) <= 1e-3
    assert stats.exact_binomial(caught, runs, probability=0.84, alternative="less").pvalue > 5e-7
    assert stats.exact_binomial(caught, runs, probability=0.95, alternative="greater").pvalue > 5e-7


def test_every_direction_has_causes_and_needs() -> None:
    assert set(CAUSES) == {(name, sign) for name in DIRECTIONS for sign in (1, -1)}
    bare = observe([0], log_p=np.log([[0.5, 0.5]]))
    for name in set(DIRECTIONS) - set(available(bare)):
        with pytest.raises(InputError, match="observed must hold"):
            directional_score(bare, direction=name)
    assert len(DIRECTIONS) == 11


def test_bad_input_gives_one_clear_line() -> None:
    bare = observe([0], log_p=np.log([[0.5, 0.5]]))
    with pytest.raises(InputError, match="direction 'up' is unknown"):
        directional_score(bare, direction="up")
    with pytest.raises(InputError, match="at least one token"):
        directional_score(bare.take(slice(0, 0)), direction="log_p")
    with pytest.raises(InputError, match="at least one direction"):
        likeliest_cause({})
