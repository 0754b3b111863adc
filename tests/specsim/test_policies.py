"""Draft-length decisions: what keeps a lossless rule lossless, and the tempting ones that do not."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.errors import InputError
from specsim.policies import (
    admit,
    anticipated_depth,
    best_budget,
    entropy_confidence,
    length_before,
    length_keeping,
    prefix_schedule,
    worthwhile_length,
)
from specsim.stats.chi_square import goodness_of_fit
from specsim.verifiers import Block, Gumbel, Rejection, Verifier, law
from tests.reference import exact, exact_rules, golden_rules, golden_spine

LEVEL = 1e-7  # false-alarm rate of each random test here
RULES = [Rejection(), Block(), Gumbel()]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
TWINS: dict[str, exact.Rule] = {"rejection": exact.rejection, "block": exact_rules.block, "gumbel": exact_rules.gumbel}

SECONDS = {
    "1/(10+0.01B)": lambda tokens: 10 + 0.01 * tokens,
    "1/(1+0.5B)": lambda tokens: 1 + 0.5 * tokens,
    "1/max(5,0.8B)": lambda tokens: np.maximum(5, 0.8 * tokens),
}


def chances(p: exact.Table, q: exact.Table, *, gamma: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return golden_spine.prefix_arrays(p, depths=gamma + 1), golden_spine.prefix_arrays(q, depths=gamma)


def q_of_draft(q: list[np.ndarray]) -> np.ndarray:
    """q_k(x_k) along every chain, shape (V,) * G + (G,)."""
    size, gamma = q[0].size, len(q)
    return np.stack(
        [
            np.broadcast_to(table.reshape(*table.shape, *(1,) * (gamma - k - 1)), (size,) * gamma)
            for k, table in enumerate(q)
        ],
        axis=-1,
    )


# --- one request: confidence stopping ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_rules.rows("confidence_early_stop"), ids=lambda row: row["id"])
def test_confidence_stopping_golden(row: dict) -> None:
    """Keeping the unlikely draft is lossless; dropping it, the tempting way, is not, by the golden's distance."""
    case, expected = row["case"], row["expected"]
    p, q = golden_rules.tables(case)
    tables = chances(p, q, gamma=case["gamma_max"])
    seen = q_of_draft(tables[1])
    threshold = float(Fraction(case["threshold_on_q_of_sampled_token"])) - 1e-12
    drop = case["drop_low_conf_token"]
    lengths = (length_before if drop else length_keeping)(seen, threshold=threshold)  # the first misused on purpose
    assert (anticipated_depth(lengths) is not None) is drop
    distance = law.text_total_variation(Rejection(), *tables, lengths=lengths)
    assert distance == pytest.approx(float(Fraction(expected["TV_output_block"])), abs=1e-12)
    assert (distance < 1e-12) is expected["lossless_exact"]
    accepted = law.accepted_law(Rejection(), *tables, lengths=lengths) @ np.arange(case["gamma_max"] + 1)
    assert accepted == pytest.approx(float(Fraction(expected["E_accepted"])), rel=1e-12)


@every_rule
@pytest.mark.parametrize("seed", range(4))
def test_lengths_that_do_not_anticipate_are_lossless(rule: Verifier, seed: int) -> None:
    """Fresh tables and three honest decisions: before, after, by the drafter's entropy; exact for each."""
    p, q = (exact.random_table(60 + seed + side, 3) for side in (0, 1000))
    tables = chances(p, q, gamma=2)
    seen = q_of_draft(tables[1])
    likely = np.stack(  # of the law that each draft is drawn from, whatever is drawn
        [
            np.broadcast_to(t.max(axis=-1).reshape(*t.shape[:-1], *(1,) * (2 - k)), (3, 3))
            for k, t in enumerate(tables[1])
        ],
        axis=-1,
    )
    entropies = np.stack(
        [
            np.broadcast_to(entropy_confidence(t).reshape(*t.shape[:-1], *(1,) * (2 - k)), (3, 3))
            for k, t in enumerate(tables[1])
        ],
        axis=-1,
    )
    for lengths in (
        length_keeping(seen, threshold=0.4),
        length_before(likely, threshold=0.5),
        length_before(np.cumprod(entropies, axis=-1), threshold=0.3),
        worthwhile_length(np.cumprod(likely, axis=-1), marginal_seconds=0.3, tokens_per_second=1.0),
    ):
        assert anticipated_depth(lengths) is None
        assert law.text_total_variation(rule, *tables, lengths=lengths) < 1e-12
        table = lengths.tolist()
        text = exact_rules.round_text(p, q, TWINS[rule.name], gamma=2, lengths=lambda x, t=table: t[x[0]][x[1]])
        assert text == exact.target_law(p, length=3)


@every_rule
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_any_length_without_anticipation_is_lossless(rule: Verifier, seed: int) -> None:
    """Random stopping that looks at drafts before k alone when it decides about k; random peeking is caught."""
    rng = np.random.default_rng(seed)
    tables = [[rng.dirichlet(np.ones(2), size=(2,) * k) for k in range(depths)] for depths in (4, 3)]
    more = [rng.random((2,) * k) < 0.7 for k in range(3)]
    honest, peeking = np.zeros((2, 2, 2), dtype=int), np.zeros((2, 2, 2), dtype=int)
    for chain in product(range(2), repeat=3):
        honest[chain] = next((k for k in range(3) if not more[k][chain[:k]]), 3)
        peeking[chain] = next((k for k in range(3) if chain[k] == 1), 3)
    assert anticipated_depth(honest) is None
    assert law.text_total_variation(rule, *tables, lengths=honest) < 1e-12
    assert anticipated_depth(peeking) == 1
    assert law.text_total_variation(rule, *tables, lengths=peeking) > 1e-12


def test_dropping_an_unlikely_draft_is_lossy_for_every_rule() -> None:
    """Expected failure of losslessness, with its distance."""
    p, q = (exact.random_table(side, 3) for side in (7, 1007))
    tables = chances(p, q, gamma=2)
    lengths = length_before(q_of_draft(tables[1]), threshold=0.4)
    assert anticipated_depth(lengths) == 1
    for rule in RULES:
        distance = law.text_total_variation(rule, *tables, lengths=lengths)
        print(f"{rule.name}: dropping the unlikely draft, total variation {distance:.4f}")
        assert distance > 0.01


def test_certain_drafts_may_be_dropped() -> None:
    """One-hot laws carry no choice: the same decision is lossless there."""
    p, q = (exact.random_table(side, 3) for side in (7, 1007))
    tables = chances(p, exact.greedy_table(q), gamma=2)
    for rule in RULES:
        assert law.text_total_variation(rule, *tables, lengths=np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])) < 1e-12


def test_a_sampler_that_drops_the_unlikely_draft_is_caught() -> None:
    """Null: the target's law; n = 200000 rounds; false-alarm rate 1e-7; keeping it passes, dropping it does not."""
    rng = np.random.default_rng(2)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    draft = rng.choice(3, size=(200_000, 2), p=q)
    for decide, right in ((length_keeping, True), (length_before, False)):
        lengths = decide(q[draft], threshold=0.25)
        got = Rejection().verify([p] * 3, draft, q=[q] * 2, rng=rng, drafted=lengths)
        first = np.where(got.accepted > 0, draft[:, 0], got.token)
        assert goodness_of_fit(np.bincount(first, minlength=3), p).passed(LEVEL) is right


def test_lengths_by_hand() -> None:
    confidences = [[0.9, 0.5, 0.9], [0.4, 0.9, 0.9], [0.9, 0.9, 0.9]]
    assert length_before(confidences, threshold=0.5).tolist() == [3, 0, 3]
    assert length_before(confidences, threshold=0.6).tolist() == [1, 0, 3]
    assert length_keeping(confidences, threshold=0.6).tolist() == [2, 1, 3]
    assert length_before(np.zeros((2, 0)), threshold=0.5).tolist() == [0, 0]
    assert length_keeping(np.zeros((2, 0)), threshold=0.5).tolist() == [0, 0]
    survival = np.cumprod(confidences, axis=-1)
    costs = np.array([0.1, 0.2, 0.5])
    expected = [next((k for k, (s, c) in enumerate(zip(row, costs, strict=True)) if s <= c), 3) for row in survival]
    assert worthwhile_length(survival, marginal_seconds=costs, tokens_per_second=1).tolist() == expected
    assert entropy_confidence([0.25] * 4, scale=1.0) == 0


# --- a batch: the prefix scheduler ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_rules.rows("dspark_prefix_scheduler"), ids=lambda row: row["id"])
def test_prefix_scheduler_golden(row: dict) -> None:
    case, expected = row["case"], row["expected"]
    schedule = prefix_schedule(case["confidences"], round_seconds=SECONDS[case["SPS_formula"]])
    assert schedule.lengths.tolist() == expected["lengths"]
    assert schedule.tokens_per_second == pytest.approx(expected["theta_best"], rel=1e-12)
    np.testing.assert_allclose(schedule.trace, expected["theta_trace"], rtol=1e-12)


@pytest.mark.parametrize("row", golden_rules.rows("non_anticipating_violation"), ids=lambda row: row["id"])
def test_the_counterexample_of_the_paper_golden(row: dict) -> None:
    """The best of the whole trace biases the text by 0.15; the first peak does not."""
    case, expected = row["case"], row["expected"]
    p, q = (golden_spine.numbers(case[side]) for side in "pq")
    rate = {int(tokens): sps for tokens, sps in case["SPS"].items()}

    def seconds(tokens: Any) -> list[float]:
        return [1 / rate[int(n)] for n in tokens]

    confidences = [[case["a1"], case["c2_if_x1"][str(x)]] for x in (0, 1)]
    stopped = [prefix_schedule([row], round_seconds=seconds) for row in confidences]
    assert [int(s.lengths[0]) for s in stopped] == [expected["early_stopping_length"]] * 2
    theta = expected["theta"]
    np.testing.assert_allclose(stopped[0].trace, [theta["len0"], theta["len1"]])
    retrospective = [best_budget([row], round_seconds=seconds) for row in confidences]  # misused on purpose
    lengths = np.array([[retrospective[0]] * 2, [retrospective[1]] * 2])
    assert anticipated_depth(lengths) == 1
    tables = [p, p, p], [q, q]
    first = law.text_law(Rejection(), *tables, lengths=lengths).sum(axis=(1, 2))
    np.testing.assert_allclose(first, golden_spine.numbers(expected["output"]), atol=1e-12)
    assert np.abs(first - golden_spine.numbers(expected["target"])).sum() / 2 == pytest.approx(
        float(Fraction(expected["TV"]))
    )
    assert law.text_total_variation(Rejection(), *tables, lengths=np.zeros((2, 2), dtype=int)) < 1e-12


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 4), st.integers(0, 10**6), st.floats(0.01, 2))
def test_the_schedule_is_the_algorithm(requests: int, gamma: int, seed: int, slope: float) -> None:
    """Against the loop of algorithm 1, ragged drafts included; never more than each has; prefixes by construction."""
    rng = np.random.default_rng(seed)
    confidences = rng.random((requests, gamma))
    drafted = rng.integers(gamma + 1, size=requests)
    found = prefix_schedule(confidences, round_seconds=lambda t: 1 + slope * t, drafted=drafted)
    survival = sorted((np.prod(confidences[r, : k + 1]), r) for r in range(requests) for k in range(drafted[r]))[::-1]
    lengths, tokens, best = [0] * requests, float(requests), requests / (1 + slope * requests)
    for judged, (chance, request) in enumerate(survival, start=requests + 1):
        tokens += chance
        if tokens / (1 + slope * judged) <= best:
            break
        best = tokens / (1 + slope * judged)
        lengths[request] += 1
    assert found.lengths.tolist() == lengths
    assert found.tokens_per_second == pytest.approx(best)
    assert (found.lengths <= drafted).all()


def test_one_peak_makes_the_first_peak_the_best() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        confidences = rng.random((3, 4))
        schedule = prefix_schedule(confidences, round_seconds=lambda t: 1.0 + 0.3 * t)  # concave over linear: one peak
        assert schedule.lengths.sum() == best_budget(confidences, round_seconds=lambda t: 1.0 + 0.3 * t)


def joint_distance(rule: Verifier, batch: list[Any], lengths: Any, *, gamma: int) -> float:
    """Total variation of the joint text of two requests whose lengths both drafts decide."""
    tables = [chances(p, q, gamma=gamma) for p, q in batch]
    drawn = [law.draft_law(*table) for table in tables]
    size = drawn[0].shape[0]
    kernels = [
        [law.text_given_draft(rule, *table, lengths=np.full((size,) * gamma, k)) for k in range(gamma + 1)]
        for table in tables
    ]
    text = np.zeros((2 ** (gamma + 1),) * 2)
    for first, second in product(product(range(size), repeat=gamma), repeat=2):
        a, b = lengths((first, second))
        weight = drawn[0][first] * drawn[1][second]
        text += weight * np.outer(kernels[0][a][first].ravel(), kernels[1][b][second].ravel())
    target = np.outer(*(law.target_law(*table).ravel() for table in tables))
    return float(np.abs(text - target).sum() / 2)


def floats(drafts: tuple[exact.Text, ...]) -> list[list[float]]:
    return [[float(c) for c in row] for row in golden_rules.confidences(drafts)]


@every_rule
@pytest.mark.parametrize("row", golden_rules.rows("batched_budget"), ids=lambda row: row["id"])
def test_batched_budget_golden(rule: Verifier, row: dict) -> None:
    """A budget from before the drafts is lossless for both requests together; the best one for them is not."""
    case, expected = row["case"], row["expected"]
    batch, gamma = golden_rules.requests(case), case["gamma"]
    if "K" in case:
        distance = joint_distance(rule, batch, lambda x: admit(floats(x), budget=case["K"]), gamma=gamma)
        assert (distance < 1e-12) is expected["joint_lossless_exact"] is True
        return
    rate = {int(tokens): sps for tokens, sps in case["SPS"].items()}

    def retrospective(drafts: tuple[exact.Text, ...]) -> Any:
        seen = floats(drafts)
        return admit(seen, budget=best_budget(seen, round_seconds=lambda t: [1 / rate[int(n)] for n in t]))

    distance = joint_distance(rule, batch, retrospective, gamma=gamma)
    assert (distance < 1e-12) is expected["joint_lossless_exact"] is False
    if rule.name == "rejection":
        assert distance == pytest.approx(float(Fraction(expected["TV_joint"])), abs=1e-12)


@pytest.mark.parametrize("slope", [0.01, 0.2, 0.5])
@every_rule
def test_the_prefix_scheduler_is_lossless_for_the_whole_batch(rule: Verifier, slope: float) -> None:
    """Where throughput has several peaks too: enumerated over both requests' drafts, in fractions for one rule."""
    batch = golden_rules.requests(golden_rules.rows("batched_budget")[0]["case"])

    def seconds(tokens: Any) -> Any:  # a step up and a flat stretch: two peaks
        return 1 + slope * np.asarray(tokens) + np.where(np.asarray(tokens) == 3, 0.3, 0.0)

    def scheduled(drafts: tuple[exact.Text, ...]) -> list[int]:
        return prefix_schedule(floats(drafts), round_seconds=seconds).lengths.tolist()

    assert joint_distance(rule, batch, scheduled, gamma=2) < 1e-12
    if rule.name == "rejection":
        text = exact_rules.joint_text(batch, exact.rejection, gamma=2, lengths=scheduled)
        target = exact_rules.joint_target(batch, length=3)
        assert {key: share for key, share in text.items() if share} == target


def test_admission_by_hand() -> None:
    confidences = [[0.9, 0.9, 0.9], [0.8, 0.1, 1.0]]  # products 0.9 0.81 0.729; 0.8 0.08 0.08
    for budget, lengths in enumerate([[0, 0], [1, 0], [2, 0], [2, 1], [3, 1], [3, 2], [3, 3], [3, 3]]):
        assert admit(confidences, budget=budget).tolist() == lengths
    assert admit(confidences, budget=3, drafted=[1, 3]).tolist() == [1, 2]
    assert admit([[0.5, 1.0], [0.5, 1.0]], budget=3).tolist() == [2, 1]  # ties: the earlier request, then depth
    assert admit(np.zeros((2, 0)), budget=4).tolist() == [0, 0]
    assert best_budget(confidences, round_seconds=lambda t: np.where(t > 4, 10.0, 1.0)) == 2
    assert best_budget(confidences, round_seconds=lambda t: t.astype(float)) == 0


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 30), st.integers(0, 10**6))
def test_the_budget_goes_to_the_largest_products(requests: int, gamma: int, budget: int, seed: int) -> None:
    confidences = np.random.default_rng(seed).random((requests, gamma))
    lengths = admit(confidences, budget=budget)
    assert lengths.sum() == min(budget, requests * gamma)
    fractions = [[Fraction(c) for c in row] for row in confidences.tolist()]
    assert lengths.tolist() == exact_rules.likeliest(fractions, budget=budget)


# --- the detector, and bad input -----------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_anticipation_is_what_the_definition_says(size: int, gamma: int, seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(gamma + 1, size=(size,) * gamma)
    chains = list(product(range(size), repeat=gamma))
    expected = next(
        (
            depth
            for depth in range(1, gamma + 1)
            if any(
                a[: depth - 1] == b[: depth - 1] and (lengths[a] >= depth) != (lengths[b] >= depth)
                for a, b in product(chains, repeat=2)
            )
        ),
        None,
    )
    assert anticipated_depth(lengths) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: length_before([0.5, 1.5], threshold=0.5), r"confidences\[1\] must be in \[0, 1\], got 1.5"),
        (lambda: length_before([0.5, np.nan], threshold=0.5), r"confidences\[1\] must be finite"),
        (lambda: length_before([0.5], threshold=1.5), "threshold must be"),
        (lambda: worthwhile_length([0.5], marginal_seconds=1.0, tokens_per_second=0), "tokens_per_second must be"),
        (lambda: worthwhile_length([0.5], marginal_seconds=np.nan, tokens_per_second=1), "marginal_seconds must be"),
        (lambda: entropy_confidence([0.5, 0.6]), "p must sum to 1"),
        (lambda: entropy_confidence([1.0], scale=-1), "scale must be"),
        (lambda: admit([0.5], budget=1), "confidences must have 2 axes"),
        (lambda: admit([[0.5]], budget=-1), "budget must be at least 0"),
        (lambda: admit([[0.5]], budget=1, drafted=[2]), r"drafted must hold 1 numbers in 0\.\.1, got \[2\]"),
        (lambda: admit([[0.5]], budget=1, drafted=[0, 1]), "drafted must hold 1 numbers"),
        (lambda: prefix_schedule([[0.5]], round_seconds=lambda t: 0.0 * t), "2 numbers above 0"),
        (lambda: prefix_schedule([[0.5]], round_seconds=lambda t: 1.0), r"got shape \(\)"),
        (lambda: anticipated_depth([0.5]), "lengths must be whole numbers"),
        (
            lambda: law.text_law(Rejection(), [[0.5, 0.5]] * 2, [[0.5, 0.5]], lengths=[2, 0]),
            r"drafted must be in 0\.\.1",
        ),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
