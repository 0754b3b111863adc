"""Rules for several candidates: lossless by exact enumeration, the package against the twin, samplers against laws."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from specsim.distributions import softmax
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.verifiers.multi_draft import MULTI_DRAFT, KSeq, Optimal, TopK, drawing, optimal, optimum, search
from specsim.verifiers.multi_draft import RecursiveWithoutReplacement as Without
from specsim.verifiers.multi_draft import RecursiveWithReplacement as With
from specsim.verifiers.multi_draft.covered import covered_without_replacement
from specsim.verifiers.multi_draft.points import Points
from tests.reference import exact, exact_trees, golden_trees

LEVEL = 1e-7  # false-alarm rate of each random test here
ROUNDS = 200_000
SIZES = [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3)]
P_A, Q_A = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
TWINS: dict[str, tuple[exact_trees.Judge, exact_trees.Draws]] = {
    "recursive_with_replacement": (exact_trees.recursive_with_replacement, exact_trees.independent),
    "recursive_without_replacement": (exact_trees.recursive_without_replacement, exact_trees.distinct),
    "k_seq": (exact_trees.k_seq, exact_trees.independent),
    "top_k": (exact_trees.top_k, exact_trees.likeliest),
}
LAWS = st.tuples(st.integers(2, 6), st.integers(1, 4), st.integers(0, 10**6), st.floats(-1.3, 1))


def coins(value: float) -> Any:
    """A generator whose uniforms are all the same."""
    return SimpleNamespace(random=lambda shape: np.full(shape, value))


def pair(vocabulary: int, *, seed: int, zeros: bool = False) -> tuple[exact.Law, exact.Law]:
    p, q = (exact.random_table(seed + side, vocabulary, zeros=zeros)(()) for side in (0, 1000))
    return p, q


def floats(law: Any) -> np.ndarray:
    return np.array([float(x) for x in law])


def dirichlet_pair(vocabulary: int, seed: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Two laws, from nearly one-hot to nearly uniform."""
    rows = np.random.default_rng(seed).dirichlet(np.full(vocabulary, 10**exponent), size=2) + 1e-9
    p, q = rows / rows.sum(axis=-1, keepdims=True)
    return p, q


# --- exact: what is emitted is p -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_every_rule_emits_p(name: str, zeros: bool) -> None:
    for (vocabulary, count), seed in product(SIZES, range(3)):
        p, q = pair(vocabulary, seed=seed, zeros=zeros)
        assert exact_trees.emitted(exact_trees.step_law(p, q, *TWINS[name], count=count), vocabulary) == p


@pytest.mark.parametrize(
    ("fault", "draws"),
    [
        (exact_trees.second_against_p, exact_trees.independent),
        (exact_trees.q_not_renormalised, exact_trees.distinct),
        (exact_trees.recursive_without_replacement, exact_trees.independent),
        (exact_trees.recursive_with_replacement, exact_trees.likeliest),
    ],
    ids=["second against p", "q not renormalised", "drawn with, judged without", "no draw, judged as one"],
)
def test_a_faulty_rule_does_not(fault: exact_trees.Judge, draws: exact_trees.Draws) -> None:
    p, q = pair(4, seed=3)  # where q exceeds p at two tokens: with one, which candidates were rejected does not matter
    law = exact_trees.emitted(exact_trees.step_law(p, q, fault, draws, count=3), 4)
    assert sum(abs(a - b) for a, b in zip(law, p, strict=True)) / 2 > Fraction(1, 1000)


# --- the package against the twin ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_trees.rows("multi_draft_single_step"), ids=lambda row: row["id"])
def test_single_step_golden(row: dict) -> None:
    p, q, count, said = *(floats(golden_trees.law(row["case"][x])) for x in "pq"), row["case"]["k"], row["expected"]
    close = {"rtol": row["rtol"], "atol": row["rtol"]}
    for name in ("recursive_with_replacement", "recursive_without_replacement"):
        vector = MULTI_DRAFT[name].acceptance_vector(p, q, candidates=count)
        np.testing.assert_allclose(vector, floats(map(Fraction, said[name])), **close)
    for name in ("top_k", "k_seq"):
        np.testing.assert_allclose(
            MULTI_DRAFT[name].acceptance_vector(p, q, candidates=count).sum(), float(Fraction(said[name])), **close
        )
    assert TopK().draw(q, candidates=count, rng=coins(0.5)).tolist() == said["top_k_tokens"]
    np.testing.assert_allclose(KSeq().rho(p, q, candidates=count), float(said["k_seq_rho"]), **close)
    residual = KSeq().residual(p, [0] * count, q=q)
    np.testing.assert_allclose(residual, [float(x) for x in said["k_seq_residual"]], **close)
    for replacement in (True, False):
        best = float(Fraction(said[f"optimum_with{'' if replacement else 'out'}_replacement"]))
        np.testing.assert_allclose(optimum(p, q, candidates=count, replacement=replacement), best, **close)
    best = float(Fraction(said["optimum_with_replacement"]))
    np.testing.assert_allclose(Optimal().acceptance_vector(p, q, candidates=count).sum(), best, **close)


@pytest.mark.parametrize("row", golden_trees.rows("optimal_multi_draft_fast"), ids=lambda row: row["id"])
def test_optimum_golden(row: dict) -> None:
    p, q = (floats(golden_trees.law(row["case"][x])) for x in "pq")
    for name, replacement in (("with_replacement", True), ("without_replacement", False)):
        found = optimum(p, q, candidates=row["case"]["k"], replacement=replacement)
        np.testing.assert_allclose(found, float(Fraction(row["expected"][name])), rtol=row["rtol"])


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("seed", range(6))
def test_exact_laws_are_the_enumerated_ones(name: str, seed: int) -> None:
    for vocabulary, count in SIZES:
        p, q = pair(vocabulary, seed=seed, zeros=seed % 2 == 0)
        law = exact_trees.step_law(p, q, *TWINS[name], count=count)
        expected = np.zeros((count, vocabulary))
        for (place, token), share in law.items():
            if place is not None:
                expected[place, token] += float(share)
        rule = MULTI_DRAFT[name]
        found = rule.accepted_law(floats(p), floats(q), candidates=count)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        vector = rule.acceptance_vector(floats(p), floats(q), candidates=count)
        np.testing.assert_allclose(vector, expected.sum(axis=-1), atol=1e-12)


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("seed", range(6))
def test_chances_and_residual_of_given_candidates_are_the_definition(name: str, seed: int) -> None:
    """And together they emit p, by the package's own numbers."""
    judge, draws = TWINS[name]
    rule: Any = MULTI_DRAFT[name]
    for vocabulary, count in SIZES:
        p, q = pair(vocabulary, seed=seed, zeros=seed % 2 == 0)
        emitted = np.zeros(vocabulary)
        for tokens, drawn in draws(q, count):
            chances, rest = judge(p, q, tokens)
            padded = [*tokens, *[-1] * (count - len(tokens))]
            found = rule.accept_probability(floats(p), padded, q=floats(q))
            np.testing.assert_allclose(found, [*map(float, chances), *[0.0] * (count - len(tokens))], atol=1e-12)
            residual = rule.residual(floats(p), padded, q=floats(q))
            if sum(chances) < 1:
                np.testing.assert_allclose(residual, floats(rest), atol=1e-9)
            np.add.at(emitted, np.array(tokens), float(drawn) * found[: len(tokens)])
            emitted += float(drawn) * (1 - found.sum()) * residual
        np.testing.assert_allclose(emitted, floats(p), atol=1e-12)


def test_leading_axes_are_handled_as_one_row_each() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), size=(2, 3, 1)), rng.dirichlet(np.ones(4), size=(1, 5))
    for rule in MULTI_DRAFT.values():
        many = rule.accepted_law(p, q, candidates=2)
        assert many.shape == (2, 3, 5, 2, 4)
        for place in np.ndindex(2, 3, 5):
            one = rule.accepted_law(p[place[0], place[1], 0], q[0, place[2]], candidates=2)
            np.testing.assert_allclose(many[place], one, atol=1e-14)
        np.testing.assert_allclose(rule.acceptance_vector(p, q, candidates=2), many.sum(axis=-1), atol=1e-14)
    assert optimum(p, q, candidates=3, replacement=False).shape == (2, 3, 5)


# --- the optimum ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replacement", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_the_prefix_rule_finds_the_best_of_all_sets(replacement: bool, zeros: bool) -> None:
    draws = exact_trees.independent if replacement else exact_trees.distinct
    for (vocabulary, count), seed in product([*SIZES, (5, 3)], range(4)):
        p, q = pair(vocabulary, seed=seed, zeros=zeros)
        best = float(exact_trees.optimum(p, q, draws, count=count))
        found = optimum(floats(p), floats(q), candidates=count, replacement=replacement)
        np.testing.assert_allclose(found, best, atol=1e-11)


@pytest.mark.parametrize("draws", [exact_trees.independent, exact_trees.distinct], ids=["with", "without"])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_set_is_the_best_transport_plan(draws: exact_trees.Draws, seed: int) -> None:
    """A linear programme: which candidate is passed on, so that as much as possible fits under p."""
    p, q = pair(3, seed=seed)
    drawn = list(draws(q, 2))
    plan = [(row, x) for row, (tokens, _) in enumerate(drawn) for x in sorted(set(tokens))]
    limits = [[float(row == at) for at, _ in plan] for row in range(len(drawn))]
    limits += [[float(x == token) for _, x in plan] for token in range(3)]
    room = [float(chance) for _, chance in drawn] + [float(x) for x in p]
    best = -linprog([-1.0] * len(plan), A_ub=limits, b_ub=room).fun
    assert float(exact_trees.optimum(p, q, draws, count=2)) == pytest.approx(best, abs=1e-9)


@given(st.integers(2, 6), st.integers(3, 4), st.integers(0, 10**6), st.floats(-1, 1))
@settings(max_examples=40)
def test_prefixes_covered_without_replacement(vocabulary: int, count: int, seed: int, exponent: float) -> None:
    _, q = dirichlet_pair(vocabulary, seed, exponent)
    drawn = list(exact_trees.distinct(tuple(q.tolist()), count))  # type: ignore[arg-type]
    expected = [sum(chance for tokens, chance in drawn if max(tokens) < m) for m in range(vocabulary + 1)]
    found = covered_without_replacement(q[None], candidates=count)[0]
    np.testing.assert_allclose(found, np.array(expected, dtype=float), atol=1e-10)


def test_covered_prefixes_at_extremes() -> None:
    """Clocks that ring for certain, laws with fewer tokens than candidates, and many equal tokens."""
    one_hot = covered_without_replacement(np.array([[1.0, 0.0, 0.0]]), candidates=3)
    np.testing.assert_array_equal(one_hot, [[0, 1, 1, 1]])
    last = covered_without_replacement(np.array([[0.0, 0.5, 0.5]]), candidates=3)
    np.testing.assert_array_equal(last, [[0, 0, 0, 1]])
    rare = np.array([[1 - 3e-12, 1e-12, 1e-12, 1e-12]])  # after the first, any two of three alike: 1 in 3 for a pair
    np.testing.assert_allclose(covered_without_replacement(rare, candidates=3)[0, 3], 1 / 3, rtol=1e-3)
    alike = covered_without_replacement(np.full((1, 40), 1 / 40), candidates=3)[0]
    expected = [math.comb(m, 3) / math.comb(40, 3) for m in range(41)]
    np.testing.assert_allclose(alike, expected, atol=1e-11)


def large_pairs(vocabulary: int = 5000) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Laws near and far from each other, flat and peaked, with forbidden tokens, with ties, all in one bucket."""
    rng = np.random.default_rng(0)
    logits, noise = rng.normal(size=(2, vocabulary))
    flat, top = np.zeros(vocabulary), np.where(logits > np.quantile(logits, 0.99), 0.0, -np.inf)
    one = np.where(np.arange(vocabulary) == 7, 40.0, 0.0)
    rising = 2 * np.log(np.arange(1.0, vocabulary + 1))
    cases = {
        "near": (3 * logits + 0.1 * noise, 3 * logits),
        "far": (3 * logits + 2 * noise, 3 * logits),
        "peaked": (9 * logits, 8 * logits + noise),
        "one token and a rest": (noise, one),
        "top tokens only": (3 * logits, 3 * logits + top),
        "target of top tokens": (3 * logits + top, 3 * logits),
        "ties": (np.round(noise), np.round(logits)),
        "one bucket": (1e-4 * noise, flat),
        "as convex as three candidates": (rising, flat),
        "equal": (logits, logits),
    }
    return {name: (softmax(p), softmax(q)) for name, (p, q) in cases.items()}


@pytest.mark.parametrize("replacement", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("name", large_pairs())
def test_the_search_finds_what_sorting_finds(name: str, replacement: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = large_pairs()[name]
    for count in (1, 2, 3, 4, 9):
        found = optimum(p, q, candidates=count, replacement=replacement)
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[optimum.__module__], "LARGE", 5001)
            sorted_ = optimum(p, q, candidates=count, replacement=replacement)
        np.testing.assert_allclose(found, sorted_, rtol=0, atol=1e-11)


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_the_search_is_exact_for_equal_tokens(count: int) -> None:
    """Candidates are then any `count` tokens alike, so that the covered probability is a ratio of binomials."""
    vocabulary = 5000
    p = np.random.default_rng(1).dirichlet(np.ones(vocabulary))
    covered = [math.comb(m, count) / math.comb(vocabulary, count) for m in range(vocabulary + 1)]
    best = 1 + (np.concatenate([[0.0], np.cumsum(np.sort(p))]) - covered).min()
    found = optimum(p, np.full(vocabulary, 1 / vocabulary), candidates=count, replacement=False)
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-11)


def test_a_bound_below_no_value_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: a search that trusts the ends of its intervals alone misses the least value."""
    p, q = large_pairs()["far"]
    right = float(optimum(p, q, candidates=4, replacement=False))
    monkeypatch.setattr(search, "_bounds", lambda prefixes, value, start, end: np.minimum(value[start], value[end]))
    assert float(optimum(p, q, candidates=4, replacement=False)) > right + 1e-9


@given(LAWS)
@example((4, 4, 1478, -1.05078125))  # what was left of q once rounded to 1.1e-9 too much
def test_no_rule_accepts_more_than_the_optimum(case: tuple[int, int, int, float]) -> None:
    vocabulary, count, seed, exponent = case
    p, q = dirichlet_pair(vocabulary, seed, exponent)
    best = {kind: float(optimum(p, q, candidates=count, replacement=kind)) for kind in (True, False)}
    found = {name: float(rule.acceptance_vector(p, q, candidates=count).sum()) for name, rule in MULTI_DRAFT.items()}
    assert found["recursive_with_replacement"] <= best[True] + 1e-9
    assert found["k_seq"] <= best[True] + 1e-9
    assert found["recursive_without_replacement"] <= best[False] + 1e-9
    assert found["optimal"] == pytest.approx(best[True], abs=1e-10)
    assert best[True] <= best[False] + 1e-9
    assert found["k_seq"] >= (1 - 1 / math.e) * best[True] - 1e-9
    assert found["recursive_with_replacement"] >= float(np.minimum(p, q).sum()) - 1e-12
    if count <= 2:  # proven: after a rejection q without x is at least q wherever anything is left of p
        assert found["recursive_without_replacement"] >= found["recursive_with_replacement"] - 1e-9


@given(LAWS)
def test_a_further_candidate_never_hurts(case: tuple[int, int, int, float]) -> None:
    vocabulary, count, seed, exponent = case
    p, q = dirichlet_pair(vocabulary, seed, exponent)
    for rule in (With(), Without(), KSeq(), Optimal(), TopK()):
        few, more = (float(rule.acceptance_vector(p, q, candidates=k).sum()) for k in (count, count + 1))
        assert few <= more + 1e-9


def test_all_tokens_of_q_as_candidates_always_succeed() -> None:
    for seed in range(5):
        p, q = dirichlet_pair(4, seed, 0)
        assert Without().acceptance_vector(p, q, candidates=4).sum() == pytest.approx(1, abs=1e-9)
        assert float(optimum(p, q, candidates=4, replacement=False)) == pytest.approx(1, abs=1e-9)


@given(LAWS, st.randoms(use_true_random=False))
def test_relabelling_the_vocabulary_changes_nothing(case: tuple[int, int, int, float], order: Any) -> None:
    vocabulary, count, seed, exponent = case
    p, q = dirichlet_pair(vocabulary, seed, exponent)
    labels = list(range(vocabulary))
    order.shuffle(labels)
    for rule in MULTI_DRAFT.values():
        law = rule.accepted_law(p, q, candidates=count)
        np.testing.assert_allclose(rule.accepted_law(p[labels], q[labels], candidates=count), law[:, labels], atol=1e-9)
    for kind in (True, False):
        here, there = (optimum(a, b, candidates=count, replacement=kind) for a, b in ((p, q), (p[labels], q[labels])))
        np.testing.assert_allclose(here, there, atol=1e-9)


@pytest.mark.parametrize("count", [3, 4])
def test_the_estimate_for_many_candidates_is_near_the_exact_value(count: int) -> None:
    """Null: unbiased; 4000 paths; each entry within 5.5 standard errors, false-alarm rate below 1e-6."""
    p, q = dirichlet_pair(8, 3, 0)
    vector = Without().acceptance_vector(p, q, candidates=count)
    rng = np.random.default_rng(5)
    found, error = Without().estimated_acceptance(p, q, candidates=count, samples=4000, rng=rng)
    np.testing.assert_allclose(found[:2], vector[:2], atol=1e-12)
    assert (np.abs(found - vector) <= 5.5 * error + 1e-12).all()
    assert (error < 0.01).all()


# --- the optimal rule's points -------------------------------------------------------------------------------------


@given(LAWS)
def test_the_picked_candidate_has_a_law_that_draws_can_reach_and_fits_p_best(case: tuple[int, int, int, float]) -> None:
    """A law s can be picked from K draws if s(A) <= P(one draw at least is in A) for all A (Hall)."""
    vocabulary, count, seed, exponent = case
    p, q = dirichlet_pair(vocabulary, seed, exponent)
    s = Optimal().selection(p, q, candidates=count)
    assert s.sum() == pytest.approx(1, abs=1e-12)
    assert np.minimum(p, s).sum() == pytest.approx(float(optimum(p, q, candidates=count)), abs=1e-10)
    for inside in product([False, True], repeat=vocabulary):
        chosen = np.array(inside)
        assert s[chosen].sum() <= 1 - (1 - q[chosen].sum()) ** count + 1e-9


def area(plan: Points, t: float, *, excess: bool) -> float:
    """Integral of (G' - density)+, or of (density - G')+, from 0 to t, read off the definition."""
    total, count = 0.0, plan.candidates
    for left, right, density in zip(plan.edges[0], plan.edges[0][1:], plan.density[0], strict=False):
        turn = min(max(1 - (density / count) ** (1 / (count - 1)), left), right)  # G' falls below the density here
        low, high = (left, min(turn, t)) if excess else (turn, min(right, t))
        if low < high:
            difference = (1 - low) ** count - (1 - high) ** count - density * (high - low)
            total += difference if excess else -difference
    return total


@given(st.integers(2, 6), st.integers(2, 5), st.integers(0, 10**6), st.floats(-1, 1))
@settings(max_examples=50)
def test_moving_points_keeps_them_uniform_and_gives_the_density(
    vocabulary: int, count: int, seed: int, exponent: float
) -> None:
    """A point and its partner have as much excess before the one as deficit before the other.

    So (G' - density) du = (density - G') dv, as much goes from u to v as comes back, and points stay uniform; and the
    mean of G' over where a point of a token goes is the token's density.
    """
    p, q = dirichlet_pair(vocabulary, seed, exponent)
    plan = Points.of(p[None], q[None], candidates=count)
    u = np.random.default_rng(seed).random((1, 60))
    place = np.clip((plan.edges[0][None, :] <= u[..., None]).sum(axis=-1) - 1, 0, vocabulary - 1)
    v = plan._partners(u, place)
    is_excess = (u < plan.turn[0][place])[0]
    before, partners = (
        [area(plan, t, excess=bool(kind)) for t, kind in zip(points[0], kinds, strict=True)]
        for points, kinds in ((u, is_excess), (v, ~is_excess))
    )
    np.testing.assert_allclose(partners, before, atol=1e-12)
    slope, density = (lambda t: count * (1 - t) ** (count - 1)), plan.density[0][place]
    off, gap = slope(u) - density, slope(u) - slope(v)
    far = np.abs(gap) > 1e-6
    moved = off[far] / gap[far]
    assert ((moved >= -1e-6) & (moved <= 1 + 1e-6)).all()
    mean = (1 - moved) * slope(u)[far] + moved * slope(v)[far]
    np.testing.assert_allclose(mean, density[far], atol=1e-9)


def judged_law(p: np.ndarray, q: np.ndarray, *, count: int, residual: bool = True) -> np.ndarray:
    """The law of the token, by enumerating the candidate that is picked and whether it stands."""
    rule = Optimal()
    law, stands = np.zeros_like(p), rule.accept_probability(p, q, candidates=count)
    replacement = rule.residual(p, q, candidates=count) if residual else p
    for picked, chance in enumerate(rule.selection(p, q, candidates=count)):
        law[picked] += chance * stands[picked]
        law += chance * (1 - stands[picked]) * replacement
    return law


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_optimal_rule_follows_the_target_across_the_border_of_two_rounds(count: int) -> None:
    """Two tokens, the second round's laws given the first token; a residual that is p departs from the target."""
    rng = np.random.default_rng(count)
    p, q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    later_p, later_q = rng.dirichlet(np.ones(4), size=4), rng.dirichlet(np.ones(4), size=4)
    for residual in (True, False):
        first = judged_law(p, q, count=count, residual=residual)
        second = [judged_law(*laws, count=count, residual=residual) for laws in zip(later_p, later_q, strict=True)]
        off = np.abs(first[:, None] * np.array(second) - p[:, None] * later_p).sum() / 2
        assert off < 1e-12 if residual else off > 1e-3


# --- the samplers --------------------------------------------------------------------------------------------------

Verify = Callable[..., Any]


def sampled(
    name: str, p: np.ndarray, q: np.ndarray, *, count: int, verify: Verify | None = None, draw: Verify | None = None
) -> np.ndarray:
    """Counts of (place that stands, token), place `count` for none, over ROUNDS rounds."""
    rng, rule = np.random.default_rng(7), MULTI_DRAFT[name]
    many = np.broadcast_to(q, (ROUNDS, q.size))
    candidates = (draw or rule.draw)(many, candidates=count, rng=rng)
    got = (verify or rule.verify)(np.broadcast_to(p, (ROUNDS, p.size)), candidates, q=many, rng=rng)
    place = np.where(got.accepted < 0, count, got.accepted)
    stands = got.accepted >= 0
    assert (candidates[stands, got.accepted[stands]] == got.token[stands]).all()
    return np.bincount(place * p.size + got.token, minlength=(count + 1) * p.size)


def expected(name: str, p: np.ndarray, q: np.ndarray, *, count: int) -> np.ndarray:
    """The exact law over the same cells, from the package; checked against the twin above."""
    law = MULTI_DRAFT[name].accepted_law(p, q, candidates=count)
    cells = np.append(law, np.maximum(p - law.sum(axis=0), 0)[None], axis=0).ravel()
    cells[cells < 1e-13] = 0
    return cells / cells.sum()


@pytest.mark.parametrize("name", MULTI_DRAFT)
@pytest.mark.parametrize(("vocabulary", "count"), [(3, 2), (4, 3), (5, 1)])
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_the_sampler_follows_the_exact_law(name: str, vocabulary: int, count: int, zeros: bool) -> None:
    """Null: (place, token) follows the exact law; n = 200000; false-alarm rate 1e-7 each."""
    p, q = map(floats, pair(vocabulary, seed=4, zeros=zeros))
    counts = sampled(name, p, q, count=count)
    assert goodness_of_fit(counts, expected(name, p, q, count=count), min_expected=20).passed(LEVEL)


def unmoved(self: Points, tokens: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    place = np.take_along_axis(self.place, tokens, axis=-1)
    left, right = (np.take_along_axis(self.edges, place + side, axis=-1) for side in (0, 1))
    return left + (right - left) * rng.random(tokens.shape)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("recursive_with_replacement", {"draw": drawing.without_replacement}),
        ("recursive_without_replacement", {"draw": drawing.with_replacement}),
        ("k_seq", {"draw": drawing.without_replacement}),
        ("optimal", {"draw": drawing.without_replacement}),
        ("recursive_with_replacement", {"verify": KSeq().verify}),
        ("k_seq", {"verify": lambda p, x, *, q, rng: TopK().verify(p, x, q=None, rng=rng)}),
    ],
    ids=["with", "without", "k_seq", "optimal", "another rule", "judged as no draw"],
)
def test_a_faulty_sampler_is_caught(name: str, fault: dict[str, Verify]) -> None:
    """Power: candidates drawn the wrong way, or judged by a rule of another law, show in 200000 rounds."""
    p, q = map(floats, pair(4, seed=4))
    counts = sampled(name, p, q, count=3, **fault)
    assert not goodness_of_fit(counts, expected(name, p, q, count=3), min_expected=20).passed(LEVEL)


@pytest.mark.parametrize("fault", ["points are not moved", "residual from p"])
def test_a_faulty_optimal_rule_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: both shift the token's law, which is p, by more than a hundredth."""
    if fault == "residual from p":
        monkeypatch.setattr(optimal, "residual_law", lambda p, q: p)
    else:
        monkeypatch.setattr(Points, "of_draws", unmoved)
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.2, 0.35, 0.45])
    if fault == "residual from p":
        p, q = np.array(P_A), np.array(Q_A)
    counts = sampled("optimal", p, q, count=2).reshape(3, 3).sum(axis=0)
    assert not goodness_of_fit(counts, p, min_expected=20).passed(LEVEL)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_current_vocabulary_is_practical(dtype: type) -> None:
    """151,936 tokens, four rows at once; the token comes from p and candidates that stand are candidates."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (2, 151_936))
    p, q = (np.exp(x) / np.exp(x).sum() for x in (logits[0], 0.9 * logits[0] + 0.8 * logits[1]))
    rows = [np.tile(law, (4, 1)).astype(dtype) for law in (p, q)]
    for rule in MULTI_DRAFT.values():
        candidates = rule.draw(rows[1], candidates=4, rng=rng)
        assert candidates.shape == (4, 4)
        got = rule.verify(rows[0], candidates, q=rows[1], rng=rng)
        stands = got.accepted >= 0
        assert (candidates[stands, got.accepted[stands]] == got.token[stands]).all()
    with_two = [float(optimum(p, q, candidates=2, replacement=kind)) for kind in (True, False)]
    assert np.minimum(p, q).sum() < with_two[0] < with_two[1] < 1
    assert Optimal().acceptance_vector(p, q, candidates=2).sum() == pytest.approx(with_two[0], abs=1e-9)
    assert Without().acceptance_vector(p, q, candidates=2).sum() < with_two[1]


# --- drawing -------------------------------------------------------------------------------------------------------


def test_candidates_without_replacement_follow_their_law() -> None:
    """Null: ordered triples follow the enumerated law; n = 200000; false-alarm rate 1e-7."""
    _, q = pair(4, seed=2)
    tokens = drawing.without_replacement(
        np.broadcast_to(floats(q), (ROUNDS, 4)), candidates=3, rng=np.random.default_rng(3)
    )
    counts = np.bincount(tokens @ [16, 4, 1], minlength=64)
    law = np.zeros(64)
    for drawn, chance in exact_trees.distinct(q, 3):
        law[np.dot(drawn, [16, 4, 1])] = float(chance)
    assert goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)
    wrong = np.bincount(np.sort(tokens, axis=-1) @ [16, 4, 1], minlength=64)
    assert not goodness_of_fit(wrong, law, min_expected=20).passed(LEVEL)


def test_a_law_with_few_tokens_gives_few_candidates() -> None:
    for draw in (Without().draw, TopK().draw):
        tokens = draw([[0.0, 0.7, 0.3], [0.0, 0.0, 1.0]], candidates=4, rng=np.random.default_rng(0))
        assert sorted(tokens[0]) == [-1, -1, 1, 2]
        assert tokens[1].tolist() == [2, -1, -1, -1]
        got = Without().verify([0.0, 0.5, 0.5], tokens[0], q=[0.0, 0.7, 0.3], rng=np.random.default_rng(1))
        assert int(got.accepted) in (0, 1)  # both tokens of q are there, so one of them stands


# --- edges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MULTI_DRAFT)
def test_no_candidates_is_plain_decoding(name: str) -> None:
    for candidates in (np.zeros(0, int), [-1, -1]):
        got = MULTI_DRAFT[name].verify([0.2, 0.8], candidates, q=[np.nan, np.nan], rng=coins(0.5))
        assert (int(got.accepted), int(got.token)) == (-1, 1)


@pytest.mark.parametrize("name", MULTI_DRAFT)
def test_a_vocabulary_of_one(name: str) -> None:
    rule = MULTI_DRAFT[name]
    candidates = rule.draw([1.0], candidates=2, rng=np.random.default_rng(0))
    got = rule.verify([1.0], candidates, q=[1.0], rng=np.random.default_rng(0))
    assert int(got.accepted) >= 0
    assert int(got.token) == 0
    np.testing.assert_allclose(rule.acceptance_vector([1.0], [1.0], candidates=2).sum(), 1)


@pytest.mark.parametrize("name", MULTI_DRAFT)
def test_equal_laws(name: str) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(50))
    total = float(MULTI_DRAFT[name].acceptance_vector(p, p, candidates=2).sum())
    assert total == pytest.approx(np.sort(p)[-2:].sum() if name == "top_k" else 1)
    got = MULTI_DRAFT[name].verify(p, [3, 1], q=p, rng=coins(0.999))
    assert int(got.token) >= 0


@pytest.mark.parametrize("name", MULTI_DRAFT)
def test_disjoint_supports_accept_nothing_and_draw_from_p(name: str) -> None:
    p, q = [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]
    assert MULTI_DRAFT[name].acceptance_vector(p, q, candidates=2).sum() == 0
    for u, token in ((0.0, 0), (0.6, 1)):
        got = MULTI_DRAFT[name].verify(p, [2, 3], q=q, rng=coins(u))
        assert (int(got.accepted), int(got.token)) == (-1, token)
    assert float(optimum(p, q, candidates=2)) == float(optimum(p, q, candidates=2, replacement=False)) == 0


def test_an_underflowing_residual_falls_back_to_p() -> None:
    p = np.array([0.5, 0.5])
    q = np.array([0.5 + 1e-10, 0.5 - 1e-10])
    np.testing.assert_array_equal(With().residual(p, [0], q=q), p)
    np.testing.assert_array_equal(Without().residual(p, [0], q=q), p)


def test_candidates_that_are_no_draw_are_judged_by_p_alone() -> None:
    for rule in MULTI_DRAFT.values():
        uniforms = [rule.verify(P_A, [2, 1], q=None, rng=coins(u)) for u in (0.19, 0.25, 0.5)]
        assert [int(got.accepted) for got in uniforms] == [0, 1, -1]  # 0.2, then 0.3 of 0.8
        assert int(uniforms[-1].token) == 0
    np.testing.assert_allclose(With().accept_probability(P_A, [2, 1], q=None), [0.2, 0.3])
    np.testing.assert_allclose(With().residual(P_A, [2, 1], q=None), [1, 0, 0])


def test_sequences_with_different_numbers_of_candidates_are_judged_as_if_alone() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(4), size=(2, 6))
    tokens = np.array([[0, 1, 2], [1, -1, -1], [2, 2, -1], [-1, -1, -1], [3, 0, 1], [0, 3, -1]])
    for name in TWINS:
        rule: Any = MULTI_DRAFT[name]
        chances, rest = rule.accept_probability(p, tokens, q=q), rule.residual(p, tokens, q=q)
        for row in range(6):
            alone = tokens[row][tokens[row] >= 0]
            np.testing.assert_allclose(
                chances[row, : alone.size], rule.accept_probability(p[row], alone, q=q[row]), atol=1e-15
            )
            np.testing.assert_allclose(rest[row], rule.residual(p[row], alone, q=q[row]), atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": [2, 0]}, r"candidates\[0, 0\] must be -1 or in 0\.\.1, got 2"),
        ({"candidates": [-2, 0]}, r"candidates\[0, 0\] must be -1 or in 0\.\.1, got -2"),
        ({"candidates": [-1, 0]}, r"candidates\[0\] must have none after a missing one"),
        ({"candidates": [0.5, 1.0]}, "candidates must hold token ids"),
        ({"candidates": 1}, "candidates must hold token ids"),
        ({"p": [0.5, 0.6]}, "p must sum to 1"),
        ({"p": [1.5, -0.5]}, r"p\[1\] must be at least 0"),
        ({"p": [np.nan, 0.5]}, r"p\[0\] must be finite"),
        ({"p": []}, "p must have a vocabulary axis"),
        ({"q": [0.5, 0.6]}, r"q\[0\] must sum to 1"),
        ({"q": [0.5, 0.25, 0.25]}, r"q must have shape \(2,\), got \(3,\)"),
        ({"p": [[0.5, 0.5]] * 2}, r"p must have shape \(2,\), got \(2, 2\)"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"p": [0.5, 0.5], "candidates": [0, 1], "q": [0.5, 0.5], "rng": coins(0.5)} | arguments
    with pytest.raises(InputError, match=message):
        With().verify(given.pop("p"), given.pop("candidates"), **given)


@pytest.mark.parametrize("call", [*(rule.accepted_law for rule in MULTI_DRAFT.values()), optimum])
def test_exact_answers_refuse_what_is_no_law(call: Callable[..., Any]) -> None:
    for p, q, count, message in (
        ([0.5, 0.6], [0.5, 0.5], 2, "p must sum to 1"),
        ([0.5, 0.5], [1.5, -0.5], 2, r"q\[1\] must be at least 0"),
        ([0.5, 0.5], [0.2, 0.3, 0.5], 2, "one vocabulary"),
        ([0.5, 0.5], [0.5, 0.5], 0, "candidates must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            call(p, q, candidates=count)


def test_too_many_rejected_prefixes_are_refused() -> None:
    p, q = np.random.default_rng(0).dirichlet(np.ones(8000), size=2)
    with pytest.raises(InputError, match="estimated_acceptance draws them"):
        Without().acceptance_vector(p, q, candidates=3)


def test_the_registry_is_keyed_by_name() -> None:
    assert all(name == rule.name for name, rule in MULTI_DRAFT.items())
    assert {*TWINS, "optimal"} == MULTI_DRAFT.keys()
    assert all(rule.is_lossless for rule in MULTI_DRAFT.values())
    assert [name for name, rule in MULTI_DRAFT.items() if not rule.needs_draft_rows] == ["top_k"]


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("candidates", [2, 3])
def test_draft_probabilities_too_small_to_divide_by_are_refused(candidates, replacement):
    with pytest.raises(InputError, match="q must hold probabilities of 0 or at least 1e-290, got 1e-310"):
        optimum([0.2, 0.5, 0.3], [1 - 3e-310, 1e-310, 2e-310], candidates=candidates, replacement=replacement)
