"""Every rule that judges a chain, by one list of tests: against its exact twin, its sampler, and bad input."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.distributions import sample
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.topology import Topology
from specsim.verifiers import (
    VERIFIERS,
    Block,
    GreedyLenience,
    Gumbel,
    LazyRows,
    Lenience,
    Rejection,
    Threshold,
    Typical,
    Verifier,
    greedy_path,
    law,
)
from specsim.verifiers.estimate import estimate_for_rows, expected_accepted
from tests.reference import exact, exact_rules, golden_rules, golden_spine

LEVEL = 1e-7  # false-alarm rate of each random test here
ROUNDS = 200_000
SIZES = [(2, 1), (2, 3), (3, 1), (3, 2), (4, 1)]
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@dataclass(frozen=True)
class Case:
    """A rule and its twin, which takes drafts without a law as one-hot rows."""

    id: str
    rule: Verifier
    twin: exact.Rule

    @property
    def is_greedy(self) -> bool:
        return "greedy" in self.id


def typically_greedy(p_rows: list[exact.Law], q_rows: list[exact.Law], draft: exact.Text) -> exact_rules.Outcomes:
    def one_hot(p: exact.Law, q: exact.Law = (), x: int = 0) -> exact.Law:
        return exact.one_hot(exact.argmax(p), len(p))

    def stands(p: exact.Law, q: exact.Law, x: int) -> Fraction:
        return Fraction(p[x] > exact_rules.typical_threshold(p, epsilon=0.5, delta=0.9))

    return exact_rules.judged(p_rows, q_rows, draft, stands=stands, replaced=one_hot, bonus=one_hot)


def picky(p_rows: list[exact.Law], q_rows: list[exact.Law], draft: exact.Text) -> exact_rules.Outcomes:
    return exact_rules.typical(p_rows, q_rows, draft, epsilon=0.5, delta=0.9)


CASES = [
    Case("greedy", VERIFIERS["greedy"], exact.greedy),
    Case("rejection", VERIFIERS["rejection"], exact.rejection),
    Case("gumbel", VERIFIERS["gumbel"], exact_rules.gumbel),
    Case("block", VERIFIERS["block"], exact_rules.block),
    Case("typical", VERIFIERS["typical"], exact_rules.typical),
    Case("typical, picky", Typical(epsilon=0.5, delta=0.9), picky),
    Case("typical, picky, greedy", Typical(epsilon=0.5, delta=0.9, emits="greedy"), typically_greedy),
    Case("lenience", VERIFIERS["lenience"], exact_rules.lenient(HALF)),
    Case("lenience, scaled", Lenience(factor=1 / 3, residual_of="scaled"), exact_rules.lenient(THIRD, scaled=True)),
    Case("lenience 1", Lenience(factor=1), exact.rejection),
    Case("greedy_lenience", VERIFIERS["greedy_lenience"], exact_rules.greedily_lenient(HALF)),
    Case("threshold", VERIFIERS["threshold"], exact_rules.threshold(HALF, HALF)),
    Case("threshold 1/2, 1", Threshold(single=0.5, accumulated=1), exact_rules.threshold(HALF, Fraction(1))),
    Case("threshold 1, 1", Threshold(single=1, accumulated=1), exact_rules.threshold(Fraction(1), Fraction(1))),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
every_rule = pytest.mark.parametrize("rule", VERIFIERS.values(), ids=lambda rule: rule.name)
LOSSLESS = [case for case in CASES if case.rule.is_lossless and not case.is_greedy]
LOSSY = [case for case in CASES if not case.rule.is_lossless]


def coins(values: Any) -> Any:
    """A generator whose uniforms are given."""
    return SimpleNamespace(random=lambda shape: np.broadcast_to(np.asarray(values, float), shape))


def tables(vocabulary: int, *, seed: int, zeros: bool = False) -> tuple[exact.Table, exact.Table]:
    p, q = (exact.random_table(seed + side, vocabulary, zeros=zeros) for side in (0, 1000))
    return p, q


def arrays(p: exact.Table, q: exact.Table, *, gamma: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return golden_spine.prefix_arrays(p, depths=gamma + 1), golden_spine.prefix_arrays(q, depths=gamma)


def rows_of(p: exact.Table, q: exact.Table, drafts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows along each chain, shapes (N, G + 1, V) and (N, G, V)."""
    count, gamma = drafts.shape
    sides = [
        [np.broadcast_to(t[tuple(drafts[:, :k].T)], (count, t.shape[-1])) for k, t in enumerate(side)]
        for side in arrays(p, q, gamma=gamma)
    ]
    return np.stack(sides[0], axis=1), np.stack(sides[1], axis=1)


def possible(q: exact.Table, *, vocabulary: int, gamma: int) -> np.ndarray:
    """Every chain that q can draft."""
    return np.array([x for x in product(range(vocabulary), repeat=gamma) if exact_rules.path(q, x)])


def test_the_registry_and_the_twins_are_the_same_list() -> None:
    assert {case.id for case in CASES} >= VERIFIERS.keys()
    assert all(VERIFIERS[name].name == name for name in VERIFIERS)
    assert {name for name, rule in VERIFIERS.items() if rule.is_lossless} == {"greedy", "rejection", "gumbel", "block"}
    assert {n for n, r in VERIFIERS.items() if r.needs_draft_rows} == {"rejection", "gumbel", "block", "lenience"}
    assert not any(rule.needs_coupled_noise for rule in VERIFIERS.values())


# --- exact: what is written is the target's law, or how far it is from it ------------------------------------------


@pytest.mark.parametrize("case", LOSSLESS, ids=lambda case: case.id)
@pytest.mark.parametrize(("vocabulary", "gamma"), SIZES)
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_lossless_across_a_round_boundary(case: Case, vocabulary: int, gamma: int, zeros: bool) -> None:
    """The first gamma + 2 tokens take two rounds at least; equality of fractions."""
    p, q = tables(vocabulary, seed=21, zeros=zeros)
    text = exact.text_law(p, q, case.twin, gamma=gamma, length=gamma + 2)
    assert text == exact.target_law(p, length=gamma + 2)


@pytest.mark.parametrize("case", LOSSLESS, ids=lambda case: case.id)
def test_lossless_for_drafts_that_are_no_draw_and_up_to_end_of_text(case: Case) -> None:
    p, q = tables(3, seed=5)
    text = exact.text_law(p, exact.greedy_table(q), case.twin, gamma=2, length=4)
    assert text == exact.target_law(p, length=4)
    text = exact.text_law(p, q, case.twin, gamma=2, length=4, eos=0)
    assert text == exact.target_law(p, length=4, eos=0)


@pytest.mark.parametrize("case", LOSSY, ids=lambda case: case.id)
def test_a_lossy_rule_says_how_lossy_it_is(case: Case) -> None:
    """The package's total variation is the enumerated one, and not 0."""
    p, q = tables(3, seed=3)
    target = exact.target_law(p, length=3)
    expected = float(exact.total_variation(exact_rules.round_text(p, q, case.twin, gamma=2), target))
    found = law.text_total_variation(case.rule, *arrays(p, q, gamma=2))
    print(f"{case.id}: total variation of three tokens {found:.4f}")
    assert found == pytest.approx(expected, abs=1e-12)
    assert found > 1e-3


@pytest.mark.parametrize("case", LOSSLESS, ids=lambda case: case.id)
def test_the_package_finds_a_lossless_rule_lossless(case: Case) -> None:
    for seed in range(3):
        assert law.text_total_variation(case.rule, *arrays(*tables(3, seed=seed, zeros=True), gamma=2)) < 1e-12


def test_greedy_rules_are_judged_by_greedy_decoding() -> None:
    p, q = tables(3, seed=3)
    expected = exact.target_law(exact.greedy_table(p), length=4)
    assert exact.text_law(p, q, exact.greedy, gamma=2, length=4) == expected
    assert exact.text_law(p, q, exact_rules.greedily_lenient(HALF), gamma=2, length=4) != expected


@pytest.mark.parametrize("name", VERIFIERS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), gamma=st.integers(0, 3), sampled=st.booleans())
def test_lazy_rows_are_judged_as_the_rows_that_they_stand_for(name: str, seed: int, gamma: int, sampled: bool) -> None:
    """Token-by-token rules ask for the rows up to the one that the last token comes from, and for no other."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(4), size=gamma + 1), rng.dirichlet(np.ones(4), size=gamma)
    draft = rng.integers(0, 4, size=gamma)
    asked: set[int] = set()
    rows = LazyRows(lambda k: asked.add(k) or p[k], count=gamma + 1, vocabulary=4)
    options = {"q": q if sampled else None}
    whole = VERIFIERS[name].verify(p, draft, rng=np.random.default_rng(seed), **options)
    lazy = VERIFIERS[name].verify(rows, draft, rng=np.random.default_rng(seed), **options)
    assert (lazy.accepted, lazy.token) == (whole.accepted, whole.token)
    if name not in ("greedy", "gumbel", "block"):
        assert asked == set(range(int(lazy.accepted) + 1))


def test_lazy_rows_of_several_sequences_are_one_array() -> None:
    rows = LazyRows(lambda k: np.array([0.5, 0.5], np.float32), count=2, vocabulary=2)
    assert np.asarray(rows).dtype == np.float32
    found = Rejection().verify(rows, np.zeros((3, 1), int), q=None, rng=np.random.default_rng(0))
    assert found.accepted.shape == (3,)
    whole = LazyRows(lambda k: np.array([1, 0]), count=1, vocabulary=2)
    assert int(Rejection().verify(whole, np.zeros(0, int), q=None, rng=np.random.default_rng(0)).token) == 0
    wrong = LazyRows(lambda k: np.array([0.5, 0.5, 0.0]), count=1, vocabulary=2)
    with pytest.raises(InputError, match=r"row 0 must have shape \(2,\), got \(3,\)"):
        Rejection().verify(wrong, np.zeros(0, int), q=None, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=r"p must have shape \(..., 4, V\) for 3 drafts, got \(2, 2\)"):
        Rejection().verify(rows, [0, 0, 0], q=None, rng=np.random.default_rng(0))


@given(st.lists(st.integers(0, 2), max_size=5), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_the_greedy_path_is_the_greedy_rule_on_one_hot_rows(draft: list[int], argmax: list[int]) -> None:
    best = argmax[: len(draft) + 1]
    rule = VERIFIERS["greedy"].verify(np.eye(3)[best], draft or np.zeros(0, int), q=None, rng=np.random.default_rng(0))
    nodes, token = greedy_path(draft, best)
    assert (len(nodes), token) == (int(rule.accepted), int(rule.token))
    assert nodes == tuple(range(len(nodes)))
    assert greedy_path(draft, best, topology=Topology(parents=tuple(range(-1, len(draft) - 1)))) == (nodes, token)


def test_the_greedy_path_through_a_tree_takes_the_child_that_the_target_says() -> None:
    tree = Topology(parents=(-1, -1, 1, 1, 0))
    drafted = [4, 5, 6, 7, 6]
    assert greedy_path(drafted, [5, 0, 7, 0, 9, 0], topology=tree) == ((1, 3), 9)
    assert greedy_path(drafted, [4, 7, 0, 0, 0, 0], topology=tree) == ((0,), 7)
    assert greedy_path(drafted, [6, 0, 0, 0, 0, 0], topology=tree) == ((), 6)


# --- the numpy rules against their twins ---------------------------------------------------------------------------


def expected_outcomes(case: Case, p: exact.Table, q: exact.Table, drafts: np.ndarray, *, judging: int) -> np.ndarray:
    count, gamma = drafts.shape
    found = np.zeros((count, gamma + 1, len(p(()))))
    for place, chain in enumerate(drafts.tolist()):
        draft = tuple(chain[:judging])
        p_rows, q_rows = [p(draft[:k]) for k in range(judging + 1)], [q(draft[:k]) for k in range(judging)]
        for outcome, share in case.twin(p_rows, q_rows, draft).items():
            found[place][outcome] = float(share)
    return found


@every_case
@settings(max_examples=15, deadline=None)
@given(size=st.sampled_from(SIZES), seed=st.integers(0, 10**6), zeros=st.booleans(), left=st.integers(0, 1))
def test_outcomes_are_those_of_the_twin(case: Case, size: tuple[int, int], seed: int, zeros: bool, left: int) -> None:
    """On fresh tables, for every chain, and for chains of which one draft fewer is judged."""
    vocabulary, gamma = size
    p, q = tables(vocabulary, seed=seed, zeros=zeros)
    drafts = possible(q, vocabulary=vocabulary, gamma=gamma)
    p_rows, q_rows = rows_of(p, q, drafts)
    drafted = np.full(len(drafts), gamma - left)
    found = case.rule.outcomes(p_rows, drafts, q=q_rows, drafted=drafted)
    expected = expected_outcomes(case, p, q, drafts, judging=gamma - left)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    given_first = case.rule.survival(p_rows, drafts, q=q_rows, drafted=drafted)
    drawn = np.array([float(exact_rules.path(q, tuple(x))) for x in drafts.tolist()])
    lasting = expected.sum(axis=-1)[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    np.testing.assert_allclose(drawn @ given_first, drawn @ lasting, atol=1e-12)


@every_case
@settings(max_examples=10, deadline=None)
@given(size=st.sampled_from(SIZES), seed=st.integers(0, 10**6))
def test_drafts_without_a_law_are_one_hot(case: Case, size: tuple[int, int], seed: int) -> None:
    vocabulary, gamma = size
    p, q = tables(vocabulary, seed=seed, zeros=True)
    certain = exact.greedy_table(q)
    drafts = possible(certain, vocabulary=vocabulary, gamma=gamma)
    assert len(drafts) == 1
    p_rows, q_rows = rows_of(p, certain, drafts)
    expected = expected_outcomes(case, p, certain, drafts, judging=gamma)
    for rows in (None, q_rows):
        np.testing.assert_allclose(case.rule.outcomes(p_rows, drafts, q=rows), expected, atol=1e-12)


@every_case
@settings(max_examples=10, deadline=None)
@given(size=st.sampled_from(SIZES), seed=st.integers(0, 10**6), zeros=st.booleans())
def test_accepted_pmf_is_the_enumerated_one(case: Case, size: tuple[int, int], seed: int, zeros: bool) -> None:
    vocabulary, gamma = size
    p, q = tables(vocabulary, seed=seed, zeros=zeros)
    expected = [float(x) for x in exact.accepted_pmf(p, q, case.twin, gamma=gamma)]
    np.testing.assert_allclose(case.rule.accepted_pmf(*arrays(p, q, gamma=gamma)), expected, atol=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if not isinstance(c.rule, Block)], ids=lambda case: case.id)
def test_one_step_mixes_what_stands_and_what_replaces_it(case: Case) -> None:
    """The mixture q accept + (1 - its sum) residual is the law of the first token; a block has none."""
    p, q = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 30))
    stands = q * case.rule.accept_probability(p, q)  # type: ignore[attr-defined]
    emitted = stands + (1 - stands.sum(axis=-1, keepdims=True)) * case.rule.residual(p, q)  # type: ignore[attr-defined]
    first = [law.text_law(case.rule, [a, a], [b]).sum(axis=1) for a, b in zip(p, q, strict=True)]
    np.testing.assert_allclose(emitted, first, atol=1e-12)


@every_case
def test_laws_of_fewer_axes_broadcast(case: Case) -> None:
    rng = np.random.default_rng(1)
    row_p, row_q = rng.dirichlet(np.ones(3), size=2)
    last_p, last_q = rng.dirichlet(np.ones(3), size=(2, 3))  # laws that read the last token alone
    short = ([row_p, last_p, last_p, row_p, last_p], [row_q, row_q, last_q, last_q])
    full = [[np.broadcast_to(t, (3,) * (k + 1)) for k, t in enumerate(side)] for side in short]
    np.testing.assert_allclose(case.rule.accepted_pmf(*short), case.rule.accepted_pmf(*full), atol=1e-13)


@every_case
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_relabelling_the_vocabulary_changes_nothing(case: Case, seed: int, order: Any) -> None:
    rng, labels = np.random.default_rng(seed), list(range(4))
    order.shuffle(labels)
    sides = [[rng.dirichlet(np.ones(4), size=(4,) * k) for k in range(depths)] for depths in (3, 2)]
    renamed = [[table[np.ix_(*[labels] * table.ndim)] for table in side] for side in sides]
    np.testing.assert_allclose(case.rule.accepted_pmf(*renamed), case.rule.accepted_pmf(*sides), atol=1e-12)


# --- goldens that several rules share ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_rules.rows("draft_distribution_mismatch"), ids=lambda row: row["id"])
def test_a_draft_law_that_was_not_sampled_golden(row: dict) -> None:
    """The wrong law in the ratio, or argmax drafts judged by a soft one: lossy by the golden's total variation."""
    case = row["case"]
    p = golden_spine.numbers(case["p"])
    used = golden_spine.numbers(case.get("q_used_by_verifier") or case["q"])
    drawn = golden_spine.numbers(case["q_sampled"]) if "q_sampled" in case else np.eye(3)[np.argmax(used)]
    chains = np.arange(3)[:, None]
    outcomes = Rejection().outcomes(np.tile(p, (3, 2, 1)), chains, q=np.tile(used, (3, 1, 1)))
    output = np.einsum("x,xv->v", drawn, outcomes[:, 0]) + drawn * outcomes[:, 1].sum(axis=-1)
    np.testing.assert_allclose(output, golden_spine.numbers(row["expected"]["output"]), atol=1e-12)
    assert np.abs(output - p).sum() / 2 == pytest.approx(float(Fraction(row["expected"]["TV"])))


# --- the sampler's law ---------------------------------------------------------------------------------------------


def sampled(
    rule: Verifier, p: exact.Table, q: exact.Table, twin: exact.Rule, *, gamma: int, judge: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of (accepted, token, chain) over ROUNDS rounds, and their exact probabilities."""
    rng, vocabulary = np.random.default_rng(17), len(p(()))
    drafts = np.zeros((ROUNDS, 0), int)
    for table in arrays(p, q, gamma=gamma)[1]:
        drafts = np.column_stack((drafts, sample(table[tuple(drafts.T)] if drafts.size else table, rng.random(ROUNDS))))
    p_rows, q_rows = rows_of(p, q, drafts)
    got = (judge or rule.verify)(p_rows, drafts, q=q_rows, rng=rng)
    shape = (*(vocabulary,) * gamma, gamma + 1, vocabulary)
    counts = np.bincount(np.ravel_multi_index((*drafts.T, got.accepted, got.token), shape), minlength=np.prod(shape))
    law = np.zeros(shape)
    for chain, accepted, token, share in exact.outcomes(p, q, twin, gamma=gamma):
        law[(*chain, accepted, token)] += float(share)
    return counts, law.ravel()


@every_case
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_the_sampler_follows_the_exact_law(case: Case, zeros: bool) -> None:
    """Null: (chain, accepted, token) has the enumerated law; n = 200000; false-alarm rate 1e-7 each."""
    p, q = tables(3, seed=2, zeros=zeros)
    counts, expected = sampled(case.rule, p, q, case.twin, gamma=2)
    assert goodness_of_fit(counts, expected, min_expected=20).passed(LEVEL)


@every_case
def test_a_sampler_with_a_smoothed_target_is_caught(case: Case) -> None:
    """Power: the target's rows moved towards a flat law by a tenth, or towards another argmax."""

    def smoothed(p_rows: np.ndarray, draft: np.ndarray, *, q: np.ndarray, rng: np.random.Generator) -> Any:
        peaked = case.is_greedy or "picky" in case.id
        wrong = np.roll(p_rows, 1, axis=-1) if peaked else 0.9 * p_rows + 0.1 / 3
        return case.rule.verify(wrong, draft, q=q, rng=rng)

    p, q = tables(3, seed=2)
    counts, expected = sampled(case.rule, p, q, case.twin, gamma=2, judge=smoothed)
    assert not goodness_of_fit(counts, expected, min_expected=20).passed(LEVEL)


@pytest.mark.parametrize("case", [c for c in CASES if c.rule.needs_draft_rows], ids=lambda case: case.id)
def test_a_sampler_with_the_wrong_draft_law_is_caught(case: Case) -> None:
    """Power: the law that the drafts were drawn from, smoothed by a tenth."""

    def mislabelled(p_rows: np.ndarray, draft: np.ndarray, *, q: np.ndarray, rng: np.random.Generator) -> Any:
        return case.rule.verify(p_rows, draft, q=0.9 * q + 0.1 / 3, rng=rng)

    p, q = tables(3, seed=2)
    counts, expected = sampled(case.rule, p, q, case.twin, gamma=2, judge=mislabelled)
    assert not goodness_of_fit(counts, expected, min_expected=20).passed(LEVEL)


@every_case
def test_ragged_batches_of_any_shape_are_judged_sequence_by_sequence(case: Case) -> None:
    rng, lead = np.random.default_rng(3), (2, 3)
    p = rng.dirichlet(np.ones(4), size=(*lead, 4)).astype(np.float32)
    q = rng.dirichlet(np.ones(4), size=(*lead, 3)).astype(np.float32)
    draft, drafted, u = rng.integers(4, size=(*lead, 3)), np.array([[0, 1, 2], [3, 3, 2]]), rng.random((6, 4))
    got = case.rule.verify(p, draft, q=q, rng=coins(u), drafted=drafted)
    for index, place in enumerate(np.ndindex(lead)):
        gamma = drafted[place]
        one = case.rule.verify(
            p[place][: gamma + 1],
            draft[place][:gamma],
            q=q[place][:gamma],
            rng=coins(np.delete(u[index], range(gamma, 3))),
        )
        assert (one.accepted, one.token) == (got.accepted[place], got.token[place])


# --- bad input and limits ------------------------------------------------------------------------------------------


@every_rule
@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[1.0, 0.2], [0.5, 0.5]], r"p\[0, 0\] must hold"),
        ([[1.5, -0.5], [0.5, 0.5]], r"p\[0, 0(, 1)?\] must"),
        ([[np.nan, np.nan], [0.5, 0.5]], r"p(\[0, 0(, 1)?\])? must"),
    ],
    ids=["sum", "negative", "nan"],
)
def test_a_target_row_that_decides_and_is_no_law(rule: Verifier, p: Any, message: str) -> None:
    """Greedy reads the argmax alone, so only NaN is an error there."""
    if rule.name == "greedy" and not np.isnan(p).any():
        assert rule.verify(p, [1], q=None, rng=coins(0.99999)).accepted in (0, 1)
        return
    with pytest.raises(InputError, match=message):
        rule.verify(p, [1], q=[[0.05, 0.95]], rng=coins(0.99999))


@pytest.mark.parametrize("rule", [r for r in VERIFIERS.values() if r.needs_draft_rows], ids=lambda rule: rule.name)
@pytest.mark.parametrize("q", [[0.1, 0.95], [-0.05, 1.05], [np.nan, np.nan]], ids=["sum", "negative", "nan"])
def test_a_draft_row_that_decides_and_is_no_law(rule: Verifier, q: Any) -> None:
    with pytest.raises(InputError, match=r"q\[0, 0(, 1)?\] must"):
        rule.verify([[0.7, 0.3]] * 2, [1], q=[q], rng=coins(0.99999))


@every_rule
def test_exact_answers_want_laws_everywhere(rule: Verifier) -> None:
    for method in (rule.outcomes, rule.survival):
        with pytest.raises(InputError, match=r"p\[1\] must sum to 1"):
            method([[0.5, 0.5], [0.5, 0.6]], [1], q=[[0.5, 0.5]])
        with pytest.raises(InputError, match=r"q\[0\] must sum to 1"):
            method([[0.5, 0.5]] * 2, [1], q=[[0.5, 0.6]])
        with pytest.raises(InputError, match="p must have shape"):
            method([[0.5, 0.5]], [1], q=[[0.5, 0.5]])
        with pytest.raises(InputError, match=r"must be in 0\.\.1"):
            method([[0.5, 0.5]] * 2, [2], q=[[0.5, 0.5]])
    with pytest.raises(InputError, match="q must have shape"):
        rule.outcomes([[0.5, 0.5]] * 2, [1], q=[[0.5, 0.25, 0.25]])


@every_rule
def test_nothing_drafted_is_plain_decoding(rule: Verifier) -> None:
    got = rule.verify([[0.2, 0.8]], [], q=None, rng=coins(0.5))
    assert (int(got.accepted), int(got.token)) == (0, 1)
    assert rule.survival([[0.2, 0.8]], [], q=None).shape == (0,)
    assert rule.accepted_pmf([[0.2, 0.8]], []).tolist() == [1.0]
    last = [[0.0, 1.0]] if rule.name in ("greedy", "greedy_lenience") else [[0.2, 0.8]]
    np.testing.assert_allclose(rule.outcomes([[0.2, 0.8]], [], q=None), last)
    np.testing.assert_allclose(law.text_law(rule, [[0.2, 0.8]], []), last[0])


@every_rule
@pytest.mark.parametrize("q", [None, [[1.0]] * 3], ids=["no law", "law"])
def test_a_vocabulary_of_one(rule: Verifier, q: Any) -> None:
    got = rule.verify([[1.0]] * 4, [0, 0, 0], q=q, rng=np.random.default_rng(0))
    assert (int(got.accepted), int(got.token)) == (3, 0)
    assert rule.survival([[1.0]] * 4, [0, 0, 0], q=q).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("rule", [Rejection(), Gumbel(), Block(), Lenience()], ids=lambda rule: rule.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_laws_accept_everything(rule: Verifier, dtype: type) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(50), size=5).astype(dtype)
    got = rule.verify(p, [3, 1, 4, 1], q=p[:4], rng=coins(0.999))
    assert int(got.accepted) == 4
    np.testing.assert_allclose(rule.accepted_pmf(p, p[:4]), [0, 0, 0, 0, 1], atol=1e-5)


@pytest.mark.parametrize("rule", [Rejection(), Gumbel(), Block(), Lenience()], ids=lambda rule: rule.name)
def test_disjoint_supports_accept_nothing_and_draw_from_p(rule: Verifier) -> None:
    p, q = [[0.5, 0.5, 0.0, 0.0]] * 3, [[0.0, 0.0, 0.5, 0.5]] * 2
    got = [rule.verify(p, [2, 3], q=q, rng=coins(u)) for u in (0.0, 0.6)]
    assert [(int(v.accepted), int(v.token)) for v in got] == [(0, 0), (0, 1)]
    np.testing.assert_allclose(rule.outcomes(p, [2, 3], q=q)[0], p[0])


@pytest.mark.parametrize("rule", [Rejection(), Gumbel(), Block()], ids=lambda rule: rule.name)
def test_a_residual_that_underflows_falls_back_to_the_target(rule: Verifier) -> None:
    """The draft is rejected by its last bit, and (p - q)+ holds 1e-17: any token of p may follow, no other."""
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5 - 2e-9, 0.5 + 2e-9, 0.0])
    got = rule.verify([p, p], [1], q=[q], rng=coins([[1 - 2**-53, 0.75]]))
    assert (int(got.accepted), int(got.token)) == (0, 1)


@pytest.mark.parametrize("case", [c for c in CASES if not c.is_greedy], ids=lambda case: case.id)
def test_a_token_that_the_target_forbids_never_stands(case: Case) -> None:
    p, q = [[0.0, 1.0]] * 3, [[1.0, 0.0]] * 2
    for rows in (q, None):
        got = case.rule.verify(p, [0, 0], q=rows, rng=coins(0.0))
        assert (int(got.accepted), int(got.token)) == (0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lenience(factor=0), r"factor must be in \(0, 1\], got 0"),
        (lambda: Lenience(factor=1.5), r"factor must be in \(0, 1\], got 1.5"),
        (lambda: Lenience(residual_of="scale"), "did you mean scaled"),
        (lambda: GreedyLenience(factor=float("nan")), "factor must be"),
        (lambda: Typical(epsilon=0), "epsilon must be"),
        (lambda: Typical(delta=2), "delta must be"),
        (lambda: Typical(emits="argmax"), "emits 'argmax' is unknown"),
        (lambda: Threshold(single=0), "single must be"),
        (lambda: Threshold(accumulated=-1), "accumulated must be"),
        (lambda: law.text_law(Rejection(), [[0.1] * 10] * 6, [[0.1] * 10] * 5), r"got 10\^11"),
        (lambda: expected_accepted(Rejection(), [[[1.0]] * 2], [[0]], q=None), "two chains at least"),
        (lambda: estimate_for_rows(Rejection(), [[1.0]] * 2, [1.0]), "q must have 2 axes"),
        (lambda: estimate_for_rows(Rejection(), [[1.0]] * 2, [[1.0]], chains=1), "chains must be at least 2"),
    ],
)
def test_settings_that_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


# --- estimates without coins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Rejection(), Block(), Gumbel(), Lenience(), Threshold()], ids=lambda rule: rule.name)
def test_the_estimate_finds_the_exact_mean(rule: Verifier) -> None:
    """Null: unbiased; 20000 chains, within 5.4 standard errors (false-alarm rate 1e-7), which coins would widen."""
    rng = np.random.default_rng(5)
    p, q = rng.dirichlet(np.ones(4), size=4), rng.dirichlet(np.ones(4), size=3)
    exact_pmf = rule.accepted_pmf(p, q)
    mean, deviation = exact_pmf @ np.arange(4), np.sqrt(exact_pmf @ np.arange(4) ** 2 - (exact_pmf @ np.arange(4)) ** 2)
    estimate = estimate_for_rows(rule, p, q, chains=20_000, seed=1)
    assert abs(estimate.value - mean) < 5.4 * estimate.standard_error
    assert estimate.standard_error < deviation / np.sqrt(20_000)
    assert sum(estimate.survival) == pytest.approx(estimate.value)
    biased = estimate_for_rows(rule, np.concatenate((q, p[-1:])), q, chains=20_000, seed=1)
    assert abs(biased.value - mean) > 5.4 * biased.standard_error


def test_the_estimate_of_a_chain_without_drafts_is_nothing() -> None:
    estimate = estimate_for_rows(Block(), [[0.5, 0.5]], np.zeros((0, 2)))
    assert (estimate.value, estimate.standard_error, estimate.survival) == (0.0, 0.0, ())


@pytest.mark.parametrize("rule", VERIFIERS.values(), ids=lambda rule: rule.name)
def test_a_current_vocabulary_is_judged_without_trouble(rule: Verifier) -> None:
    rng = np.random.default_rng(0)
    p = rng.exponential(size=(2, 3, 152_064)).astype(np.float32)
    p /= p.sum(axis=-1, keepdims=True)
    q = p[:, :2] * rng.uniform(0.5, 1.5, size=(2, 2, 152_064)).astype(np.float32)
    q /= q.sum(axis=-1, keepdims=True)
    draft = np.stack([sample(q[:, k], rng.random(2)) for k in range(2)], axis=1)
    got = rule.verify(p, draft, q=q, rng=rng)
    assert got.accepted.shape == (2,)
    assert (np.take_along_axis(p, got.accepted[:, None, None], axis=1)[:, 0][[0, 1], got.token] > 0).all()
