"""Block verification: goldens, the optimum by linear programme, mutants that must be caught, and limits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.distributions import sample
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.verifiers import Block, Rejection, Verifier, law
from specsim.verifiers.block import full_information_pmf
from specsim.verifiers.chain import leftover, or_target
from specsim.verifiers.estimate import estimate_for_rows
from tests.reference import exact, exact_rules, golden_rules, golden_spine

LEVEL = 1e-7  # false-alarm rate of each random test here
ROUNDS = 400_000


def arrays(case: dict[str, Any], *, one_hot: bool = False) -> tuple[list[np.ndarray], list[np.ndarray]]:
    p, q = golden_rules.tables(case)
    gamma = case["gamma"]
    sides = (p, gamma + 1), (exact.greedy_table(q) if one_hot else q, gamma)
    return tuple(golden_spine.prefix_arrays(table, depths=depths) for table, depths in sides)  # type: ignore[return-value]


def mean(pmf: np.ndarray) -> float:
    return float(pmf @ np.arange(pmf.size))


def variance(pmf: np.ndarray) -> float:
    return float(pmf @ (np.arange(pmf.size) - mean(pmf)) ** 2)


def coins(values: Any) -> Any:
    """A generator whose uniforms are given."""
    return SimpleNamespace(random=lambda shape: np.broadcast_to(np.asarray(values, float), shape))


# --- mutants, each as one changed line of the rule -----------------------------------------------------------------


class EarlyExit(Block):
    """The first draft that does not pass ends the round."""

    def _accepted(self, passes: Any) -> Any:
        return np.logical_and.accumulate(passes, axis=1).sum(axis=1)

    def _length_law(self, chances: Any) -> Any:
        reached = np.cumprod(np.pad(chances, ((0, 0), (1, 0)), constant_values=1), axis=1)
        return reached - np.pad(reached[:, 1:], ((0, 0), (0, 1)))


class UnscaledResidual(Block):
    """The next token comes from (p - q)+."""

    def _replacement(self, turn: Any, rows: Any, kept: Any, sequence: Any, depth: Any) -> Any:
        return leftover(rows, turn.draft_rows(sequence, depth), turn.draft[sequence, depth])


class NoH(Block):
    """A draft passes with p_i."""

    def _chances(self, turn: Any, reach: Any) -> Any:
        return reach[:, 1:]


class LateClamp(Block):
    """Ratios are multiplied first, and cut at 1 only then."""

    def _reach(self, turn: Any) -> Any:
        place = np.ogrid[: turn.draft.shape[0], : turn.draft.shape[1]]
        ratios = turn.p[place[0], place[1], turn.draft] / turn.q[place[0], place[1], turn.draft]
        reach = np.minimum(np.cumprod(np.pad(ratios, ((0, 0), (1, 0)), constant_values=1), axis=1), 1)
        return np.where(np.arange(reach.shape[1]) <= turn.drafted[:, None], reach, 0)


class ResidualIsTarget(Rejection):
    """Token by token, with the next token drawn from p."""

    def _replacement(self, turn: Any, rows: Any, *, sequence: Any, depth: Any) -> Any:
        return rows


MUTANTS: dict[str, Verifier] = {
    "bv_early_exit": EarlyExit(),
    "bv_unscaled_residual": UnscaledResidual(),
    "bv_no_h": NoH(),
    "naive_chain_branches": ResidualIsTarget(),
}


# --- goldens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_rules.rows("chain_verification"), ids=lambda row: row["id"])
def test_chain_golden(row: dict) -> None:
    tables, expected, rtol = arrays(row["case"]), row["expected"], row["rtol"]
    for name, rule in (("token", Rejection()), ("block", Block())):
        want, pmf = expected[name], rule.accepted_pmf(*tables)
        np.testing.assert_allclose(pmf, golden_spine.numbers(want["pmf_accepted"]), rtol=rtol, atol=1e-15)
        assert mean(pmf) == pytest.approx(float(Fraction(want["E_accepted"])), rel=rtol)
        assert variance(pmf) == pytest.approx(float(Fraction(want["Var_accepted"])), rel=1e-11)
        assert 1 + mean(pmf) == pytest.approx(float(Fraction(want["E_tokens_per_round"])), rel=rtol)
        assert (law.text_total_variation(rule, *tables) < 1e-12) is want["lossless_exact"] is True
    bound = float(Fraction(expected["full_information_upper_bound_E_accepted"]))
    assert mean(full_information_pmf(*tables)) == pytest.approx(bound, rel=rtol)
    naive = expected["naive_resample_from_p"]
    found = law.text_total_variation(ResidualIsTarget(), *tables)
    assert found == pytest.approx(float(Fraction(naive["TV_of_output_block"])), abs=1e-12)
    assert (found < 1e-12) is naive["lossless_exact"]
    accepted = law.accepted_law(ResidualIsTarget(), *tables)
    assert mean(accepted) == pytest.approx(float(Fraction(naive["E_accepted"])), rel=rtol)


@pytest.mark.parametrize("row", golden_rules.rows("chain_verification"), ids=lambda row: row["id"])
def test_no_lossless_rule_accepts_more(row: dict) -> None:
    """The linear programme over everything a rule can do with a draft, against the dynamic programme."""
    p, q = golden_rules.tables(row["case"])
    best = exact_rules.best_expected_accepted(p, q, gamma=row["case"]["gamma"])
    assert (mean(Block().accepted_pmf(*arrays(row["case"]))) == pytest.approx(best, abs=1e-9)) is row["expected"][
        "block"
    ]["lp_optimum_matches"]


@pytest.mark.parametrize("seed", range(6))
def test_no_lossless_rule_accepts_more_on_fresh_tables(seed: int) -> None:
    vocabulary, gamma = [(2, 2), (2, 3), (3, 2)][seed % 3]
    p, q = (exact.random_table(40 + seed + side, vocabulary, zeros=seed > 2) for side in (0, 1000))
    best = exact_rules.best_expected_accepted(p, q, gamma=gamma)
    tables = golden_spine.prefix_arrays(p, depths=gamma + 1), golden_spine.prefix_arrays(q, depths=gamma)
    assert mean(Block().accepted_pmf(*tables)) == pytest.approx(best, abs=1e-9)
    assert mean(Rejection().accepted_pmf(*tables)) < best + 1e-9


@pytest.mark.parametrize("row", golden_rules.rows("block_verification_mutants"), ids=lambda row: row["id"])
def test_mutants_golden(row: dict) -> None:
    tables, correct = arrays(row["case"]), row["expected"]["correct"]
    assert mean(Block().accepted_pmf(*tables)) == pytest.approx(float(Fraction(correct["E_accepted"])), rel=1e-12)
    token = float(Fraction(correct["token_E_accepted"]))
    assert mean(Rejection().accepted_pmf(*tables)) == pytest.approx(token, rel=1e-12)
    target = law.target_law(*tables)
    assert row["expected"]["mutants"].keys() == MUTANTS.keys()
    for name, want in row["expected"]["mutants"].items():
        text = law.text_law(MUTANTS[name], *tables)
        assert np.abs(text - target).sum() / 2 == pytest.approx(float(Fraction(want["TV_output_block"])), abs=1e-12)
        first = (text - target).sum(axis=tuple(range(1, text.ndim)))
        assert np.abs(first).sum() / 2 == pytest.approx(float(Fraction(want["TV_first_token"])), abs=1e-12)
        accepted = mean(law.accepted_law(MUTANTS[name], *tables))
        assert accepted == pytest.approx(float(Fraction(want["E_accepted"])), rel=1e-12), name


@pytest.mark.parametrize("row", golden_rules.rows("block_verification_internals"), ids=lambda row: row["id"])
def test_internals_golden(row: dict) -> None:
    """p_i is the survival; h_i is what a coin just below or at it decides."""
    path = row["case"]["path"]
    p, q = (golden_spine.numbers(row["case"][side]) for side in "pq")
    rows = np.tile(p, (3, 1)), np.tile(q, (2, 1))
    np.testing.assert_allclose(
        Block().survival(rows[0], path, q=rows[1]), golden_spine.numbers(row["expected"]["p_i"][1:]), rtol=1e-12
    )
    for place, chance in enumerate(golden_spine.numbers(row["expected"]["h_i"])):
        for slack, passes in ((-1e-9, True), (1e-9, False)):
            if 0 <= chance + slack < 1:
                u = [1.0 - 2**-53] * 3
                u[place] = chance + slack
                alone = Block().verify(rows[0], path, q=rows[1], rng=coins([u])).accepted
                others_pass = golden_spine.numbers(row["expected"]["h_i"])[place + 1 :] == [1.0]
                assert (int(alone) == place + 1) is passes or others_pass


@pytest.mark.parametrize("row", golden_rules.rows("one_hot_draft_chain"), ids=lambda row: row["id"])
def test_one_hot_drafts_gain_nothing_golden(row: dict) -> None:
    tables, expected = arrays(row["case"], one_hot=True), row["expected"]
    for rule in (Block(), Rejection()):
        pmf = rule.accepted_pmf(*tables)
        np.testing.assert_allclose(pmf, golden_spine.numbers(expected["pmf_accepted"]), rtol=1e-12)
        assert mean(pmf) == pytest.approx(float(Fraction(expected["E_accepted"])), rel=1e-12)
        assert law.text_total_variation(rule, *tables) < 1e-12
    p, q = golden_rules.tables(row["case"])
    chain: exact.Text = ()
    for _ in range(row["case"]["gamma"]):
        chain = (*chain, exact.argmax(q(chain)))
    p_rows = np.array([[float(x) for x in p(chain[:k])] for k in range(len(chain) + 1)])
    np.testing.assert_allclose(
        Block().outcomes(p_rows, chain, q=None), Rejection().outcomes(p_rows, chain, q=None), atol=1e-15
    )


# --- properties ----------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(vocabulary=st.integers(1, 4), gamma=st.integers(0, 4), seed=st.integers(0, 10**6), sharp=st.floats(0.1, 5))
def test_token_at_most_block_at_most_full_information(vocabulary: int, gamma: int, seed: int, sharp: float) -> None:
    rng = np.random.default_rng(seed)
    tables = [
        [rng.dirichlet(np.full(vocabulary, sharp), size=(vocabulary,) * k) for k in range(depths)]
        for depths in (gamma + 1, gamma)
    ]
    lasting = [
        np.cumsum(pmf[::-1])[::-1]
        for pmf in (Rejection().accepted_pmf(*tables), Block().accepted_pmf(*tables), full_information_pmf(*tables))
    ]
    assert (lasting[0] <= lasting[1] + 1e-12).all()  # at every depth, not in the mean alone
    assert (lasting[1] <= lasting[2] + 1e-12).all()
    if gamma == 1:
        np.testing.assert_allclose(lasting[0], lasting[1], atol=1e-12)


def test_the_toy_of_the_paper() -> None:
    p, q = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    tables = [p, p, p], [q, q]
    found = [mean(f(*tables)) for f in (Rejection().accepted_pmf, Block().accepted_pmf, full_information_pmf)]
    np.testing.assert_allclose(found, [10 / 9, 11 / 9, 12 / 9])


def test_paths_of_equal_ratio_are_kept_as_one() -> None:
    """12^8 chains, and still exact: against the estimate, and against depths that can be enumerated.

    Null: the estimate is unbiased; 50000 chains, within 5.4 standard errors; false-alarm rate 1e-7.
    """
    p, q = (np.repeat(law, 4) / 4 for law in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    pmf = Block().accepted_pmf([p] * 9, [q] * 8)
    estimate = estimate_for_rows(Block(), [p] * 9, [q] * 8, chains=50_000)
    assert abs(mean(pmf) - estimate.value) < 5.4 * estimate.standard_error
    short, full = (
        ([row] * k for row, k in ((p[::4] * 4, 4), (p, 4))),
        ([row] * k for row, k in ((q[::4] * 4, 3), (q, 3))),
    )
    (few_p, many_p), (few_q, many_q) = short, full
    np.testing.assert_allclose(Block().accepted_pmf(many_p, many_q), Block().accepted_pmf(few_p, few_q), atol=1e-14)


def test_too_many_paths_are_refused_and_can_be_estimated() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(500), size=9), rng.dirichlet(np.ones(500), size=8)
    with pytest.raises(InputError, match="paths to tell apart, got more at depth"):
        Block().accepted_pmf(p, q)
    block, token = (estimate_for_rows(rule, p, q, chains=4000) for rule in (Block(), Rejection()))
    assert block.value > token.value
    assert len(block.survival) == 8


def test_survival_is_coin_free_and_agrees_with_the_coins() -> None:
    """Null: accepted lengths of 400000 rounds have the mean that the drafts alone give; false-alarm rate 1e-7."""
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(5), size=5), rng.dirichlet(np.ones(5), size=4)
    draft = np.stack([sample(row, rng.random(ROUNDS)) for row in q], axis=1)
    got = Block().verify(p, draft, q=q, rng=rng).accepted
    pmf = Block().accepted_pmf(p, q)
    assert goodness_of_fit(np.bincount(got, minlength=5), pmf).passed(LEVEL)
    assert not goodness_of_fit(np.bincount(got, minlength=5), Rejection().accepted_pmf(p, q)).passed(LEVEL)
    each = Block().survival(p, draft, q=q).sum(axis=1)
    assert each.std() < np.sqrt(variance(pmf))  # the coins only add noise
    assert abs(each.mean() - mean(pmf)) < 5.4 * each.std() / np.sqrt(ROUNDS)


# --- what a mutant does to the sampler -----------------------------------------------------------------------------


def sampled(rule: Verifier, tables: tuple[list[np.ndarray], list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Texts (round, then the target) as one number each, and accepted lengths, of 400000 rounds."""
    rng, (p, q) = np.random.default_rng(5), tables
    vocabulary, gamma = p[0].size, len(q)

    def drawn(table: np.ndarray, line: np.ndarray) -> np.ndarray:
        return sample(table[tuple(line.T)] if line.size else table, rng.random(ROUNDS))

    draft = np.zeros((ROUNDS, 0), dtype=int)
    for table in q:
        draft = np.column_stack((draft, drawn(table, draft)))
    p_rows, q_rows = (
        np.stack([np.broadcast_to(t[tuple(draft[:, :k].T)], (ROUNDS, vocabulary)) for k, t in enumerate(side)], axis=1)
        for side in (p, q)
    )
    got = rule.verify(p_rows, draft, q=q_rows, rng=rng)
    text = np.zeros((ROUNDS, 0), dtype=int)
    for k in range(gamma + 1):
        fresh = drawn(p[k], text)
        here = np.where(got.accepted == k, got.token, fresh)
        text = np.column_stack((text, np.where(k < got.accepted, draft[:, min(k, gamma - 1)], here)))
    return text @ vocabulary ** np.arange(gamma, -1, -1), got.accepted


KB = next(row["case"] for row in golden_rules.rows("block_verification_mutants") if "KB/g2" in row["id"])


@pytest.mark.parametrize(
    "rule", [Block(), EarlyExit(), UnscaledResidual(), NoH(), LateClamp()], ids=lambda rule: type(rule).__name__
)
def test_a_text_of_a_round_and_more_tells_the_rule_from_its_mutants(rule: Block) -> None:
    """On table KB, which shows every one of them. Null: the target's law; n = 400000; false-alarm rate 1e-7."""
    tables = arrays(KB)
    texts, _ = sampled(rule, tables)
    target = law.target_law(*tables)
    result = goodness_of_fit(np.bincount(texts, minlength=target.size), target.ravel(), min_expected=20)
    assert result.passed(LEVEL) is (type(rule) is Block)


def test_one_token_or_the_accepted_length_alone_do_not_show_an_unscaled_residual() -> None:
    """Null: the first token and the length have the right law although the text has not; n = 400000; 1e-7 each."""
    tables = arrays(KB)
    texts, accepted = sampled(UnscaledResidual(), tables)
    assert goodness_of_fit(np.bincount(texts // 9, minlength=3), tables[0][0]).passed(LEVEL)
    assert goodness_of_fit(np.bincount(accepted, minlength=3), Block().accepted_pmf(*tables)).passed(LEVEL)


def test_late_clamping_is_another_rule() -> None:
    assert law.text_total_variation(LateClamp(), *arrays(KB)) > 0.01
    p, q = golden_rules.tables(KB)
    expected = exact.total_variation(
        exact_rules.round_text(p, q, exact_rules.late_clamp, gamma=2), exact.target_law(p, length=3)
    )
    assert expected > Fraction(1, 100)


def test_a_chance_of_zero_never_passes_a_coin_of_zero() -> None:
    """The comparison is strict: after tokens (0, 0) of the toy h_1 is exactly 0, and so may a coin be."""
    p, q = [[1 / 3, 2 / 3]] * 3, [[2 / 3, 1 / 3]] * 2
    got = Block().verify(p, [0, 0], q=q, rng=coins([[0.0, 0.9, 0.5]]))
    assert (int(got.accepted), int(got.token)) == (0, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ratios_of_any_size_stay_within_bounds(dtype: type) -> None:
    """Clamps: no chance, mass or survival outside [0, 1], no NaN, no warning; long chains of hopeless drafts."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(20, 0.02), size=(50, 41)).astype(dtype)
    q = rng.dirichlet(np.full(20, 0.02), size=(50, 40)).astype(dtype)
    draft = sample(q, rng.random((50, 40)))
    lasting = Block().survival(p, draft, q=q)
    assert ((lasting >= 0) & (lasting <= 1)).all()
    outcomes = Block().outcomes(p, draft, q=q)
    assert (outcomes >= 0).all()
    np.testing.assert_allclose(outcomes.sum(axis=(1, 2)), 1, rtol=1e-5)
    assert Block().verify(p, draft, q=q, rng=rng).accepted.shape == (50,)


def test_equal_rows_give_zero_over_zero_and_pass() -> None:
    """A chance of 0/0 is 1: with p = q every draft stands, whatever the coins."""
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=4)
    got = Block().verify(p, [1, 2, 3], q=p[:3], rng=coins(1 - 2**-53))
    assert int(got.accepted) == 3


def test_a_residual_that_vanishes_falls_back_to_the_target() -> None:
    rows = np.array([[0.5, 0.5]])
    np.testing.assert_array_equal(or_target(np.array([[1e-9, 0.0]]), rows), rows)
    np.testing.assert_array_equal(or_target(np.array([[1e-7, 0.0]]), rows), [[1e-7, 0.0]])


Pmf = Callable[..., np.ndarray]


@pytest.mark.parametrize("pmf", [Block().accepted_pmf, full_information_pmf], ids=["block", "full information"])
@pytest.mark.parametrize(
    ("p_tables", "q_tables", "message"),
    [
        ([[0.5, 0.5]], [[0.5, 0.5]], "one table more than q_tables, got 1 and 1"),
        ([[0.5, 0.5]] * 2, [[0.2, 0.3, 0.5]], "one vocabulary"),
        ([[0.5, 0.5], [0.5, 0.6]], [[0.5, 0.5]], r"p_tables\[1\] must sum to 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [[-0.5, 1.5]], r"q_tables\[0\]\[0\] must be at least 0"),
        ([[0.5, 0.5], [0.5, 0.5]], [[np.nan, 1.0]], r"q_tables\[0\]\[0\] must be finite"),
    ],
)
def test_tables_that_do_not_fit(pmf: Pmf, p_tables: Any, q_tables: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pmf(p_tables, q_tables)
