"""The tests of a run keep their false-alarm rate, spend it as they say, and stop where they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from specsim import stats
from specsim.conformance import Parameters, Plan, Request, TableDecoder, TableModels, TableOracle, plan
from specsim.conformance.acceptance import acceptance_tests, contradictions, end_tests, rare_tests
from specsim.conformance.collecting import collect
from specsim.conformance.evidence import Evidence
from specsim.conformance.faults import FAULTS
from specsim.conformance.fixed_prompts import fixed_prompt_tests, joint_laws, kinds
from specsim.conformance.gate import ALL, Gate
from specsim.conformance.negative_controls import failed_controls, redrawn, sight
from specsim.conformance.trial import Trial

MODELS = TableModels.random(seed=7)
ORACLE = TableOracle(MODELS)
PLAN = plan(tokens=1000, vocabulary=8, eos_id=7, seed=7)


def evidence_of(decoder: type[TableDecoder], count: int, first: int = 0) -> Evidence:
    requests = PLAN.requests(first, count)
    outputs = decoder(MODELS).generate(requests)
    return collect(requests, outputs, ORACLE.score(requests, outputs), tags=PLAN.tags)


def trial(asked: Plan, evidence: Evidence, claims: str | None = "rejection") -> Trial:
    return Trial.new(asked, groups=tuple(evidence.strata()), claims=claims).update(evidence)


def null_pvalues(runs: int, requests: int) -> list[float]:
    """The smallest adjusted p-value of each of many runs of 600 tokens, decoded side by side."""
    asked = replace(PLAN, tokens=600, level=0.01)
    every = PLAN.requests(0, runs * requests)
    outputs = TableDecoder(MODELS).generate(every)
    found = []
    for start in range(0, len(every), requests):
        part = slice(start, start + requests)
        rows = ORACLE.score(every[part], outputs[part])
        run = trial(asked, collect(every[part], outputs[part], rows, tags=PLAN.tags))
        assert run.tokens == 600
        found.append(min(result.pvalue for result in run.adjusted().values()))
    return found


def test_false_alarms_are_no_more_than_promised() -> None:
    """Null: the right decoder, 100 runs of 600 tokens at levels 1e-1 and 1e-2; false alarm of this test 5e-7 each."""
    pvalues = np.array(null_pvalues(100, 40))
    for level in (1e-1, 1e-2):
        count = int((pvalues <= level).sum())
        assert stats.exact_binomial(count, pvalues.size, probability=level, alternative="greater").passed(5e-7)


def test_levels_of_the_gate_sum_to_its_own() -> None:
    gate = Gate.new(("a", "b", "c"), level=1e-3)
    assert sum(gate.share(name) for name in gate.processes) == pytest.approx(1e-3)
    assert gate.share(ALL) == pytest.approx(5e-4)


def test_the_gate_tells_at_which_token_it_rejected() -> None:
    """The first prefix of the run that rejects is as long as the gate says."""
    evidence = evidence_of(FAULTS["accept.without_q"], 30)
    groups = tuple(evidence.strata())
    gate = Gate.new(groups, level=1e-6).update(evidence)
    assert gate.crossed is not None
    name, tokens = gate.crossed
    assert name in (ALL, *groups)
    before = Gate.new(groups, level=1e-6).update(evidence.take(np.arange(tokens - 1)))
    assert before.crossed is None
    assert Gate.new(groups, level=1e-6).update(evidence.take(np.arange(tokens))).crossed == gate.crossed
    assert gate.log_margin >= 0 > before.log_margin


def test_in_portions_or_at_once_the_gate_says_the_same() -> None:
    evidence = evidence_of(TableDecoder, 30)
    groups = tuple(evidence.strata())
    half = len(evidence) // 2
    once = Gate.new(groups, level=1e-6).update(evidence)
    twice = Gate.new(groups, level=1e-6)
    for rows in (np.arange(half), np.arange(half, len(evidence))):
        twice = twice.update(evidence.take(rows))
    for name, process in once.processes.items():
        np.testing.assert_allclose(process.log_wealth, twice.processes[name].log_wealth, atol=1e-9)


def test_looks_are_at_exact_counts_and_the_budget_cuts() -> None:
    evidence = evidence_of(TableDecoder, 300)
    assert len(evidence) > 4000
    found = trial(replace(PLAN, tokens=4000), evidence)
    assert (found.tokens, found.looked, len(found.evidence())) == (4000, 2, 4000)
    assert all(result.n <= 4000 for result in found.adjusted().values())


def test_impossible_tokens_reject_at_their_place() -> None:
    evidence = evidence_of(TableDecoder, 20)
    mass = evidence.observed.mass.copy()
    mass[[123, 200]] = 0
    spoilt = replace(evidence, observed=replace(evidence.observed, mass=mass))
    found = trial(PLAN, spoilt).finding
    assert found is not None
    assert (found.test, found.tokens, found.result.pvalue) == ("impossible tokens", 124, 0.0)


def test_a_tolerance_forgives_rare_impossible_tokens_and_not_many() -> None:
    evidence = evidence_of(TableDecoder, 30)
    asked = replace(PLAN, tokens=len(evidence), tolerance=0.01)
    for count, forgiven in ((2, True), (80, False)):
        mass = evidence.observed.mass.copy()
        mass[:count] = 0
        spoilt = replace(evidence, observed=replace(evidence.observed, mass=mass))
        finding = trial(asked, spoilt).finding
        assert (finding is None) == forgiven


def test_chances_of_drafts_and_ends_are_right() -> None:
    """Null: the right decoder, 60,000 tokens; some 40 p-values, the least above 1e-8: false alarm at most 1e-6."""
    evidence = evidence_of(TableDecoder, 2600, first=10_000)
    tests = dict([*acceptance_tests(evidence, claims="rejection"), *end_tests(evidence), *rare_tests(evidence)])
    assert len(tests) > 30
    assert min(result.pvalue for result in tests.values()) > 1e-8
    assert not contradictions(evidence, claims="rejection").any()


@pytest.mark.parametrize(
    ("fault", "starts"), [("accept.lenience_0.8", "drafts"), ("draft.never_eos", "texts that end")]
)
def test_chances_of_drafts_and_ends_see_their_faults(fault: str, starts: str) -> None:
    evidence = evidence_of(FAULTS[fault], 2600, first=20_000)
    tests = [*acceptance_tests(evidence, claims="rejection"), *end_tests(evidence)]
    assert min(result.pvalue for name, result in tests if name.startswith(starts)) < 1e-6


def test_a_rule_for_tokens_contradicts_the_claim_of_a_rule_for_blocks() -> None:
    evidence = evidence_of(TableDecoder, 200)
    assert contradictions(evidence, claims="block").any()
    assert not contradictions(evidence, claims=None).any()


def test_joint_laws_of_fixed_prompts_are_products_along_texts() -> None:
    kind = kinds(PLAN)[0]
    laws = joint_laws(kind, ORACLE, vocabulary=8)
    text = (3, 1, 6)
    from specsim.conformance import Output

    rows = np.exp(ORACLE.score([kind], [Output(tokens=text, finish_reason="length")]).log_p)
    assert laws[3][text] == pytest.approx(float(np.prod(rows[np.arange(3), list(text)])))
    assert set(laws) == {1, 2, 3}
    assert set(joint_laws(Request(id="", prompt=(1,)), ORACLE, vocabulary=8)) == {1, 2, 3}


def test_fixed_prompts_see_a_wrong_law_after_one_prompt() -> None:
    """2,000 draws of three tokens; the null passes at 1e-6, the law of another prompt does not."""
    one, other = kinds(PLAN)[:2]
    laws = {one: joint_laws(one, ORACLE, vocabulary=8), other: joint_laws(other, ORACLE, vocabulary=8)}
    rng = np.random.default_rng(1)
    for drawn_from, passes in ((one, True), (other, False)):
        draws = np.unravel_index(rng.choice(512, size=2000, p=laws[drawn_from][3].ravel()), (8, 8, 8))
        texts = [(one, tuple(map(int, text))) for text in zip(*draws, strict=True)]
        results = fixed_prompt_tests(texts, {one: laws[one]}, tolerance=0.0)
        assert set(results) == {f"first {length} of fixed prompts" for length in (1, 2, 3)}
        assert all(result.passed(1e-6) == passes for result in results.values())


# --- negative controls ---------------------------------------------------------------------------------------------


def test_redrawn_tokens_follow_the_laws_that_they_were_drawn_from() -> None:
    """Null: uniform PIT values, 20,000 tokens, false alarm 1e-6."""
    evidence = evidence_of(FAULTS["accept.always"], 900)
    anew = redrawn(evidence, evidence.observed.p, rng=np.random.default_rng(2))
    u = stats.pit_values(anew.observed, order="p_descending", rng=np.random.default_rng(3))
    assert stats.anderson_darling(u).passed(1e-6)
    assert (anew.observed.mass > 0).all()


def test_controls_find_a_harness_that_cannot_see_and_one_that_always_alarms() -> None:
    evidence = evidence_of(TableDecoder, 60)
    asked = replace(PLAN, tokens=len(evidence))
    found = sight(evidence, level=asked.level)
    assert 0 < found.strength < 1
    assert failed_controls(evidence, asked, found) is None
    blind = failed_controls(evidence, asked, replace(found, strength=1e-3))
    assert blind is not None
    assert "was not caught" in blind
    nervous = failed_controls(evidence, replace(asked, level=1.0), found)
    assert nervous is not None
    assert "tokens drawn from the oracle's own laws fail" in nervous


def test_what_the_sight_promises_is_kept() -> None:
    """Faults of the size stated are caught in most of 40 runs: fewer than 30 has probability below 1e-10 at 0.99."""
    evidence = evidence_of(TableDecoder, 60)
    asked = replace(PLAN, tokens=len(evidence))
    found = sight(evidence, level=asked.level)
    from specsim.conformance.negative_controls import gains

    bent = evidence.observed.p * (1 + found.strength * gains(evidence, found.direction))
    moved = np.abs(bent - evidence.observed.p).sum(axis=1).mean() / 2
    assert moved == pytest.approx(found.total_variation, rel=1e-6)
    groups = tuple(evidence.strata())
    caught = 0
    for number in range(40):
        wrong = redrawn(evidence, np.maximum(bent, 0), rng=np.random.default_rng(number))
        caught += Gate.new(groups, level=asked.level / 2).update(wrong).crossed is not None
    assert caught >= 30


def test_greedy_requests_are_judged_by_what_is_possible() -> None:
    class NotQuiteGreedy(TableDecoder):
        def verify_parameters(self, parameters: Parameters) -> Parameters:
            return replace(parameters, temperature=0.3) if parameters.temperature == 0 else parameters

    evidence = evidence_of(NotQuiteGreedy, 300)
    mass = evidence.observed.mass[evidence.tags["greedy"]]
    assert set(mass.tolist()) == {0.0, 1.0}
