"""Losslessness by exact enumeration, the numpy rules against the exact twin, and the sampler against its exact law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.distributions import sample
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.verifiers import VERIFIERS, Greedy, Rejection, Verification, rejection
from tests.reference import exact, golden_spine

LEVEL = 1e-7  # false-alarm rate of each random test here
ROUNDS = 200_000
RULES = ("greedy", "rejection")  # the rules whose twins stand in `exact`
SIZES = [(2, 1), (2, 3), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)]
P_A, Q_A = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]


def coins(values: Any) -> Any:
    """A generator whose uniforms are given."""
    return SimpleNamespace(random=lambda shape: np.broadcast_to(np.asarray(values, float), shape))


def tables(vocabulary: int, *, zeros: bool = False, seed: int = 1) -> tuple[exact.Table, exact.Table]:
    return tuple(exact.random_table(seed + side, vocabulary, zeros=zeros) for side in (0, 1000))  # type: ignore[return-value]


# --- exact: what is emitted is the target's law --------------------------------------------------------------------


@pytest.mark.parametrize(("vocabulary", "gamma"), SIZES)
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_rejection_is_lossless_across_a_round_boundary(vocabulary: int, gamma: int, zeros: bool) -> None:
    """The first gamma + 2 tokens take two rounds at least."""
    p, q = tables(vocabulary, zeros=zeros)
    text = exact.text_law(p, q, exact.rejection, gamma=gamma, length=gamma + 2)
    assert text == exact.target_law(p, length=gamma + 2)


@pytest.mark.parametrize(("vocabulary", "gamma"), SIZES)
@pytest.mark.parametrize("drafts", ["sampled", "argmax"])
def test_greedy_is_lossless_across_a_round_boundary(vocabulary: int, gamma: int, drafts: str) -> None:
    p, q = tables(vocabulary)
    proposed = q if drafts == "sampled" else exact.greedy_table(q)
    text = exact.text_law(p, proposed, exact.greedy, gamma=gamma, length=gamma + 3)
    assert text == exact.target_law(exact.greedy_table(p), length=gamma + 3)


@pytest.mark.parametrize(("vocabulary", "gamma"), SIZES)
def test_one_hot_drafts_are_lossless(vocabulary: int, gamma: int) -> None:
    p, q = tables(vocabulary)
    text = exact.text_law(p, exact.greedy_table(q), exact.lookup, gamma=gamma, length=gamma + 2)
    assert text == exact.target_law(p, length=gamma + 2)


@pytest.mark.parametrize("rule", [exact.rejection, exact.lookup], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(("vocabulary", "gamma"), [(2, 3), (3, 2)])
def test_a_text_ends_at_end_of_text_inside_a_draft(rule: exact.Rule, vocabulary: int, gamma: int) -> None:
    p, q = tables(vocabulary)
    proposed = q if rule is exact.rejection else exact.greedy_table(q)
    text = exact.text_law(p, proposed, rule, gamma=gamma, length=gamma + 3, eos=0)
    assert text == exact.target_law(p, length=gamma + 3, eos=0)
    assert all(0 not in tokens[:-1] for tokens in text)
    assert {1, gamma + 3} <= {len(tokens) for tokens in text}


# --- exact: planted faults show ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [exact.residual_is_p, exact.bonus_from_q, exact.no_ratio], ids=lambda r: r.__name__)
@pytest.mark.parametrize(("vocabulary", "gamma"), SIZES[:6])
def test_a_faulty_rule_changes_the_law(rule: exact.Rule, vocabulary: int, gamma: int) -> None:
    p, q = tables(vocabulary)
    text = exact.text_law(p, q, rule, gamma=gamma, length=gamma + 2)
    assert exact.total_variation(text, exact.target_law(p, length=gamma + 2)) > Fraction(1, 1000)


def test_a_fault_that_one_token_does_not_show() -> None:
    """The bonus comes after gamma accepted drafts, so the first gamma tokens are right."""
    p, q = tables(3)
    first = exact.text_law(p, q, exact.bonus_from_q, gamma=2, length=2)
    assert first == exact.target_law(p, length=2)


def test_a_fault_that_one_round_does_not_show() -> None:
    """A round that works with a context without the last committed token: the first round is right."""
    p, q = tables(3)
    first, both = (
        exact.text_law(p, q, exact.rejection, gamma=2, length=length, seen=lambda text: text[:-1]) for length in (1, 4)
    )
    assert first == exact.target_law(p, length=1)
    assert exact.total_variation(both, exact.target_law(p, length=4)) > 0


def test_a_bonus_after_end_of_text_shows() -> None:
    def with_bonus(committed: exact.Text, eos: int | None) -> exact.Text:
        return (*exact.cut(committed, eos), committed[-1]) if eos in committed[:-1] else committed

    p, q = tables(3)
    text = exact.text_law(p, q, exact.rejection, gamma=2, length=4, eos=0, ended=with_bonus)
    assert exact.total_variation(text, exact.target_law(p, length=4, eos=0)) > 0


def test_argmax_drafts_judged_by_the_law_they_were_not_drawn_from() -> None:
    """One-hot and sampled drafts must be kept apart: table A comes out with total variation 3/10."""
    p, q = (tuple(Fraction(x, 10) for x in row) for row in ((5, 3, 2), (2, 3, 5)))
    text = exact.text_law(
        exact.iid(p),
        exact.greedy_table(exact.iid(q)),
        lambda p_rows, _, draft: exact.rejection(p_rows, [q], draft),
        gamma=1,
        length=1,
    )
    assert exact.total_variation(text, exact.target_law(exact.iid(p), length=1)) == Fraction(3, 10)


# --- numpy rules against the exact twin ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_accept_probability_and_residual_are_the_definition(seed: int) -> None:
    p, q = (table(()) for table in tables(4, zeros=seed % 2 == 0, seed=seed))
    floats = [[float(x) for x in law] for law in (p, q)]
    accept = [float(min(1, a / b)) if b else float(a > 0) for a, b in zip(p, q, strict=True)]
    np.testing.assert_allclose(Rejection().accept_probability(*floats), accept, rtol=1e-12)
    left = exact.residual(p, q)
    np.testing.assert_allclose(Rejection().residual(*floats), [float(x) for x in left], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("row", golden_spine.rows("single_step"), ids=lambda row: row["id"])
def test_residual_golden(row: dict) -> None:
    p, q = (golden_spine.numbers(row["case"][name]) for name in "pq")
    expected = golden_spine.numbers(row["expected"]["residual"] or row["case"]["p"])
    np.testing.assert_allclose(Rejection().residual(p, q), expected, rtol=1e-12, atol=1e-15)
    accepted = np.array(q) * Rejection().accept_probability(p, q)
    if row["expected"]["accepted_token_distribution"]:
        law = golden_spine.numbers(row["expected"]["accepted_token_distribution"])
        np.testing.assert_allclose(accepted / accepted.sum(), law, rtol=1e-12)


@pytest.mark.parametrize("name", RULES)
def test_accepted_and_corrected_tokens_mix_to_the_law_that_the_rule_keeps(name: str) -> None:
    rng, rule = np.random.default_rng(0), VERIFIERS[name]
    p, q = rng.dirichlet(np.ones(5), size=(2, 30))
    stands = q * rule.accept_probability(p, q)  # type: ignore[attr-defined]
    emitted = stands + (1 - stands.sum(axis=-1, keepdims=True)) * rule.residual(p, q)  # type: ignore[attr-defined]
    target = p if name == "rejection" else np.eye(5)[p.argmax(axis=-1)]
    np.testing.assert_allclose(emitted, target, atol=1e-12)


@pytest.mark.parametrize("row", golden_spine.rows("chain_verification"), ids=lambda row: row["id"])
def test_accepted_pmf_golden(row: dict) -> None:
    pmf = Rejection().accepted_pmf(*golden_spine.arrays(row["case"]))
    np.testing.assert_allclose(pmf, golden_spine.numbers(row["expected"]["pmf_accepted"]), rtol=row["rtol"])


@pytest.mark.parametrize("row", golden_spine.rows("one_hot_draft_chain"), ids=lambda row: row["id"])
def test_accepted_pmf_of_one_hot_drafts_golden(row: dict) -> None:
    pmf = Rejection().accepted_pmf(*golden_spine.arrays(row["case"], one_hot=True))
    np.testing.assert_allclose(pmf, golden_spine.numbers(row["expected"]["pmf_accepted"]), rtol=row["rtol"])


@pytest.mark.parametrize(("vocabulary", "gamma"), SIZES)
@pytest.mark.parametrize("name", RULES)
def test_accepted_pmf_is_the_enumerated_one(name: str, vocabulary: int, gamma: int) -> None:
    p, q = tables(vocabulary, zeros=True, seed=5)
    arrays = (
        golden_spine.prefix_arrays(p, depths=gamma + 1),
        golden_spine.prefix_arrays(q, depths=gamma),
    )
    expected = exact.accepted_pmf(p, q, getattr(exact, name), gamma=gamma)
    np.testing.assert_allclose(VERIFIERS[name].accepted_pmf(*arrays), [float(x) for x in expected], atol=1e-14)


def test_tables_with_fewer_axes_are_broadcast() -> None:
    rng = np.random.default_rng(1)
    row_p, row_q = rng.dirichlet(np.ones(3), size=2)
    last_p, last_q = rng.dirichlet(np.ones(3), size=(2, 3))  # laws that read the last token alone
    short = ([row_p, last_p, last_p, row_p, last_p], [row_q, row_q, last_q, last_q])
    full = [[np.broadcast_to(t, (3,) * (k + 1)) for k, t in enumerate(side)] for side in short]
    for rule in (VERIFIERS[name] for name in RULES):
        np.testing.assert_allclose(rule.accepted_pmf(*short), rule.accepted_pmf(*full), atol=1e-14)


def test_laws_that_look_back_one_token_cost_no_power_of_the_vocabulary() -> None:
    markov = np.random.default_rng(2).dirichlet(np.ones(64), size=64)
    pmf = Rejection().accepted_pmf([markov[0]] + [markov] * 20, [markov[1]] + [markov[::-1]] * 19)  # 64^20 prefixes
    assert pmf.shape == (21,)
    assert pmf.sum() == pytest.approx(1)


@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_relabelling_the_vocabulary_changes_nothing(vocabulary: int, gamma: int, seed: int, order: Any) -> None:
    rng, labels = np.random.default_rng(seed), list(range(vocabulary))
    order.shuffle(labels)
    sides = [
        [rng.dirichlet(np.ones(vocabulary), size=(vocabulary,) * k) for k in range(depths)]
        for depths in (gamma + 1, gamma)
    ]
    renamed = [[table[np.ix_(*[labels] * table.ndim)] for table in side] for side in sides]
    for rule in (VERIFIERS[name] for name in RULES):
        np.testing.assert_allclose(rule.accepted_pmf(*renamed), rule.accepted_pmf(*sides), atol=1e-12)


# --- the sampler, with given coins ---------------------------------------------------------------------------------


def by_hand(p: np.ndarray, draft: np.ndarray, q: np.ndarray | None, u: np.ndarray, drafted: int) -> tuple[int, int]:
    """One sequence, read off the definition."""
    for k in range(drafted):
        x = draft[k]
        law = np.eye(p.shape[-1])[x] if q is None else q[k]
        if not u[k] * law[x] < p[k, x]:
            left = np.maximum(p[k] - law, 0)
            return k, int(sample(left if left.sum() > 1e-8 else p[k], u[-1]))
    return drafted, int(sample(p[drafted], u[-1]))


@given(
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_rejection_does_what_the_definition_says(
    vocabulary: int, gamma: int, seed: int, one_hot: bool, ragged: bool, dtype: type
) -> None:
    rng, lead = np.random.default_rng(seed), (3, 2)
    p = rng.dirichlet(np.ones(vocabulary) / 2, size=(*lead, gamma + 1)).astype(dtype)
    q = rng.dirichlet(np.ones(vocabulary) / 2, size=(*lead, gamma)).astype(dtype)
    draft, u = rng.integers(vocabulary, size=(*lead, gamma)), rng.random((6, gamma + 1))
    drafted = rng.integers(gamma + 1, size=lead) if ragged else None
    laws = None if one_hot else q
    got = Rejection().verify(p, draft, q=laws, rng=coins(u), drafted=drafted)
    assert got.accepted.shape == got.token.shape == lead
    for index, place in enumerate(np.ndindex(lead)):
        limit = gamma if drafted is None else int(drafted[place])
        expected = by_hand(p[place], draft[place], None if one_hot else q[place], u[index], limit)
        assert (int(got.accepted[place]), int(got.token[place])) == expected


@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 10**6))
def test_greedy_does_what_the_definition_says(vocabulary: int, gamma: int, seed: int) -> None:
    rng, lead = np.random.default_rng(seed), (2, 3)
    p = rng.integers(1, 4, size=(*lead, gamma + 1, vocabulary)).astype(float)  # with ties
    best = p.argmax(axis=-1)
    draft = np.where(rng.random((*lead, gamma)) < 0.7, best[..., :-1], rng.integers(vocabulary, size=(*lead, gamma)))
    drafted = rng.integers(gamma + 1, size=lead)
    got = Greedy().verify(p, draft, q=None, rng=coins(0.5), drafted=drafted)
    for place in np.ndindex(lead):
        limit = int(drafted[place])
        accepted = next((k for k in range(limit) if draft[place][k] != best[place][k]), limit)
        assert (int(got.accepted[place]), int(got.token[place])) == (accepted, int(best[place][accepted]))


def test_a_uniform_of_zero_never_accepts_what_the_target_forbids() -> None:
    got = Rejection().verify([[0.0, 1.0]] * 3, [0, 0], q=[[1.0, 0.0]] * 2, rng=coins(0.0))
    assert (int(got.accepted), int(got.token)) == (0, 1)
    got = Rejection().verify([[0.0, 1.0]] * 3, [0, 0], q=None, rng=coins(0.0))
    assert (int(got.accepted), int(got.token)) == (0, 1)


def test_equal_laws_accept_everything_and_have_no_residual() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(50), size=5).astype(np.float32)
    got = Rejection().verify(p, [3, 1, 4, 1], q=p[:4], rng=coins(1 - 2**-53))
    assert int(got.accepted) in (0, 4)  # u q may round up to q, once in 2^53: then the fallback draws from p
    assert int(Rejection().verify(p, [3, 1, 4, 1], q=p[:4], rng=coins(0.999999)).accepted) == 4
    np.testing.assert_allclose(Rejection().residual(p[:4], p[:4]), p[:4], rtol=1e-6)


def test_disjoint_supports_accept_nothing_and_draw_from_p() -> None:
    p, q = [[0.5, 0.5, 0.0, 0.0]] * 2, [[0.0, 0.0, 0.5, 0.5]]
    got = [Rejection().verify(p, [2], q=q, rng=coins(u)) for u in (0.0, 0.6)]
    assert [(int(v.accepted), int(v.token)) for v in got] == [(0, 0), (0, 1)]


def test_a_vocabulary_of_one() -> None:
    for q in (None, [[1.0]] * 3):
        got = Rejection().verify([[1.0]] * 4, [0, 0, 0], q=q, rng=np.random.default_rng(0))
        assert (int(got.accepted), int(got.token)) == (3, 0)


@pytest.mark.parametrize("name", RULES)
def test_nothing_drafted_is_plain_decoding(name: str) -> None:
    for draft in ([], np.zeros(0, int)):
        got = VERIFIERS[name].verify([[0.2, 0.8]], draft, q=None, rng=coins(0.5))
        assert (int(got.accepted), int(got.token)) == (0, 1)
    batch = VERIFIERS[name].verify(np.full((4, 1, 2), 0.5), np.zeros((4, 0), int), q=None, rng=coins(0.1))
    assert batch.accepted.tolist() == batch.token.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("name", RULES)
def test_what_stands_past_drafted_is_not_read(name: str) -> None:
    p = np.tile([0.1, 0.9], (3, 3, 1))
    q = np.full((3, 2, 2), np.nan)
    q[1:, 0] = q[2, 1] = [0.1, 0.9]
    draft = np.array([[-1, 99], [1, -7], [1, 1]])
    got = VERIFIERS[name].verify(p, draft, q=q, rng=coins(0.5), drafted=np.array([0, 1, 2]))
    assert got.accepted.tolist() == [0, 1, 2]
    assert got.token.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", RULES)
def test_rows_after_the_first_rejection_are_not_read(name: str) -> None:
    p, q = np.full((4, 2), np.nan), np.full((3, 2), np.nan)
    p[0], p[1], q[0], q[1] = [0.1, 0.9], [1.0, 0.0], [0.1, 0.9], [0.1, 0.9]
    got = VERIFIERS[name].verify(p, [1, 1, 1], q=q, rng=coins(0.5))
    assert (int(got.accepted), int(got.token)) == (1, 0)


@pytest.mark.parametrize("name", RULES)
def test_nan_never_becomes_a_token(name: str) -> None:
    with pytest.raises(InputError):
        VERIFIERS[name].verify([[np.nan, np.nan], [0.5, 0.5]], [0], q=[[0.5, 0.5]], rng=coins(0.5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draft": [0, 1]}, r"p must have shape \(\.\.\., 3, V\) for 2 drafts"),
        ({"draft": [2]}, r"draft\[0, 0\] must be in 0\.\.1, got 2"),
        ({"draft": [-1]}, r"draft\[0, 0\] must be in 0\.\.1, got -1"),
        ({"draft": [0.5]}, "draft must hold token ids"),
        ({"draft": 0}, "draft must hold token ids"),
        ({"q": [[0.5, 0.25, 0.25]]}, r"q must have shape \(1, 2\)"),
        ({"drafted": 2}, r"drafted must be in 0\.\.1"),
        ({"drafted": [1]}, r"drafted must hold whole numbers, shape \(\)"),
        ({"p": [["a", "b"]] * 2}, "p must be an array of numbers"),
    ],
    ids=str,
)
def test_shapes_and_ids_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    good = {"p": [[0.5, 0.5]] * 2, "draft": [0], "q": [[0.5, 0.5]], "rng": coins(0.5)} | arguments
    with pytest.raises(InputError, match=message):
        Rejection().verify(good.pop("p"), good.pop("draft"), **good)


@pytest.mark.parametrize(
    ("p_tables", "q_tables", "message"),
    [
        ([[0.5, 0.5]], [[0.5, 0.5]], "one table more than q_tables, got 1 and 1"),
        ([[0.5, 0.5]] * 2, [[0.2, 0.3, 0.5]], "one vocabulary"),
        ([[[0.5, 0.5]] * 2] * 2, [[0.5, 0.5]], r"p_tables\[0\] must have at most 1 axes"),
        ([[0.5, 0.5], [0.5, 0.6]], [[0.5, 0.5]], r"p_tables\[1\] must sum to 1"),
    ],
    ids=["count", "vocabulary", "axes", "sum"],
)
def test_tables_that_do_not_fit(p_tables: Any, q_tables: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rejection().accepted_pmf(p_tables, q_tables)


def test_the_registry_is_keyed_by_name() -> None:
    assert {name: rule.name for name, rule in VERIFIERS.items()} == {name: name for name in VERIFIERS}
    assert all(VERIFIERS[name].is_lossless for name in RULES)
    assert [name for name in RULES if VERIFIERS[name].needs_draft_rows] == ["rejection"]


# --- the sampler's law ---------------------------------------------------------------------------------------------

Verify = Callable[..., Verification]


def sampled_rounds(
    p: exact.Table, q: exact.Table, verify: Verify, *, gamma: int, one_hot: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of what ROUNDS rounds commit, and the exact probabilities, over the same outcomes."""
    rng = np.random.default_rng(11)
    proposed, rule = (exact.greedy_table(q), exact.lookup) if one_hot else (q, exact.rejection)
    law = exact.round_law(p, proposed, rule, gamma=gamma)
    p_arrays, q_arrays = (
        golden_spine.prefix_arrays(table, depths=depths) for table, depths in ((p, gamma + 1), (proposed, gamma))
    )
    draft = np.zeros((ROUNDS, 0), int)
    for table in q_arrays:
        drawn = sample(table[tuple(draft.T)] if draft.size else table, rng.random(ROUNDS))
        draft = np.column_stack((draft, drawn))
    p_rows, q_rows = (
        np.stack([np.broadcast_to(t[tuple(draft.T[:k])], (ROUNDS, t.shape[-1])) for k, t in enumerate(side)], axis=1)
        for side in (p_arrays, q_arrays)
    )
    got = verify(p_rows, draft, q=None if one_hot else q_rows, rng=rng)
    # The key of a text: its tokens as digits, with a 1 in front so that texts of two lengths differ.
    size = len(p(()))
    keys = np.ones(ROUNDS, int)
    for k in range(gamma):
        keys = np.where(k < got.accepted, keys * size + draft[:, k], keys)
    keys = keys * size + got.token
    probabilities = np.zeros(2 * size ** (gamma + 1))
    for text, share in law.items():
        probabilities[int("1" + "".join(map(str, text)), size)] = float(share)
    return np.bincount(keys, minlength=probabilities.size), probabilities


@pytest.mark.parametrize(("vocabulary", "gamma"), [(3, 2), (4, 1), (2, 3)])
@pytest.mark.parametrize("one_hot", [False, True], ids=["sampled drafts", "one-hot drafts"])
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_the_sampler_follows_the_exact_law(vocabulary: int, gamma: int, one_hot: bool, zeros: bool) -> None:
    """Null: (accepted drafts, next token) follows the enumerated law; n = 200000; false-alarm rate 1e-7 each."""
    p, q = tables(vocabulary, zeros=zeros, seed=2)
    counts, law = sampled_rounds(p, q, Rejection().verify, gamma=gamma, one_hot=one_hot)
    assert goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)


def residual_from_p(turn: Any, rows: np.ndarray, **_: Any) -> np.ndarray:
    return rows


def wrong_draft_law(p: Any, draft: Any, *, q: Any, rng: Any) -> Verification:
    return Rejection().verify(p, draft, q=0.9 * q + 0.1 / q.shape[-1], rng=rng)


def swapped_bonus(p: Any, draft: Any, *, q: Any, rng: Any) -> Verification:
    return Rejection().verify(np.concatenate((p[:, :-1], q[:, -1:]), axis=1), draft, q=q, rng=rng)


@pytest.mark.parametrize("fault", ["residual from p", "draft law smoothed by a tenth", "bonus from q"])
def test_a_faulty_sampler_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: each fault moves more than a hundredth of the mass, and 200000 rounds show it."""
    verify: Verify = Rejection().verify
    if fault == "residual from p":
        monkeypatch.setattr(rejection, "_leftover", residual_from_p)
    else:
        verify = wrong_draft_law if fault.startswith("draft law") else swapped_bonus
    p, q = tables(3, seed=2)
    counts, law = sampled_rounds(p, q, verify, gamma=2)
    assert not goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)


def test_sampled_drafts_judged_as_one_hot_stay_lossless_but_stand_less_often() -> None:
    """Lossless either way, and never to be mixed up: table A stands with 0.29, not 0.7."""
    p, q = (exact.iid(tuple(Fraction(x, 10) for x in row)) for row in ((5, 3, 2), (2, 3, 5)))
    assert exact.text_law(p, q, exact.lookup, gamma=1, length=3) == exact.target_law(p, length=3)
    assert exact.accepted_pmf(p, q, exact.lookup, gamma=1)[1] == Fraction(29, 100)
    np.testing.assert_allclose(Rejection().accepted_pmf([P_A, P_A], [Q_A]), [0.3, 0.7])
