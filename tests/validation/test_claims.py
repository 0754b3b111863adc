"""Claims pass on the decoder, fail on planted faults, and say so when they could not have seen any.

Null of every passing run: the decoder is lossless; its false-alarm rate is the claims' level, 1e-6. Sizes are small.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.stats import TestResult
from specsim.verifiers import Rejection
from validation import claims
from validation.claims import (
    CLAIMS,
    ClaimResult,
    Control,
    GreedyEquality,
    LosslessModel,
    LosslessTable,
    Settings,
    bfloat16_gap,
    greedy_equality,
    lossless_model,
    lossless_table,
)
from validation.claims.faults import FAULTS, AcceptAll, BonusFromDraft, ResidualIsTarget
from validation.claims.protocol import verdict
from validation.claims.workbench import Workbench, open_workbench, teacher_forced
from validation.decoder.load import Loaded
from validation.decoder.proposers import ModelProposer
from validation.decoder.table_model import TableModel
from validation.decoder.tiny import tiny_model

TABLE = LosslessTable(rounds=3000, vocabulary_size=4)
MODEL = LosslessModel(tokens=400, text_tokens=80)
GREEDY = GreedyEquality(tokens=20)


@pytest.fixture(scope="module")
def tiny() -> Loaded:
    model, tokenizer = tiny_model()
    return Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)


@pytest.fixture(scope="module")
def settings(tiny: Loaded) -> Settings:
    return Settings(seed=1, loaded=tiny)


def test_every_claim_is_registered_with_a_line_of_help() -> None:
    modules = [
        importlib.import_module(f"validation.claims.{info.name}") for info in pkgutil.iter_modules(claims.__path__)
    ]
    classes = {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__ == module.__name__ and isinstance(getattr(value, "name", 0), str)
        if hasattr(value, "run")
    }
    assert classes == {type(claim) for claim in CLAIMS.values()}
    for name, claim in CLAIMS.items():
        assert claim.name == name
        line = claims.summary(claim)
        assert line.endswith(".")
        assert 20 < len(line) <= 120


def test_claims_are_listed_and_tables_decoded_without_torch() -> None:
    """Their processes start in a third of the time."""
    code = (
        "import sys, numpy; from validation.claims.lossless_table import measure, table_cases;"
        "measure(table_cases(3)[0], gamma=2, verifier=None, rng=numpy.random.default_rng(0), rounds=3);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "claim", [TABLE, MODEL, GREEDY, bfloat16_gap.Bfloat16Gap(tokens=4)], ids=lambda claim: str(claim.name)
)
def test_claims_pass_and_can_be_written_down(claim: claims.Claim, settings: Settings) -> None:
    seen: list[float] = []
    result = claim.run(dataclasses.replace(settings, progress=seen.append))
    assert result.verdict == "passed", result
    assert all(control.caught for control in result.controls)
    row = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert {"test", "model", "n", "pvalue", "passed"} <= set(row)
    assert row["passed"] is True
    assert row["test"] == claim.name
    assert row["n"] > 0
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_lossless_table_fails_on_planted_faults(fault: str) -> None:
    result = dataclasses.replace(TABLE, verifier=FAULTS[fault]()).run(Settings())
    assert result.verdict == "failed"
    assert result.pvalue < 1e-9


@pytest.mark.parametrize(
    ("fault", "tokens", "draft_layers"),
    [("accept every draft", 400, 1), ("bonus from q", 800, 3), ("residual is p", 1500, 1)],
)
def test_lossless_model_fails_on_planted_faults(
    fault: str, tokens: int, draft_layers: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the drafter that samples, one draft a round: the faults are those of its laws."""
    monkeypatch.setattr(Workbench, "proposers", lambda bench: (ModelProposer(bench.draft),))
    claim = LosslessModel(tokens=tokens, text_tokens=80, gamma=1, draft_layers=draft_layers, verifier=FAULTS[fault]())
    assert claim.run(settings).verdict == "failed"


def test_greedy_equality_fails_on_a_planted_fault(settings: Settings) -> None:
    result = dataclasses.replace(GREEDY, verifier=AcceptAll()).run(settings)
    assert (result.verdict, result.pvalue) == ("failed", 0.0)


def test_a_run_that_could_not_see_its_faults_is_inconclusive_not_passed() -> None:
    result = LosslessTable(rounds=2000).run(Settings(level=1e-40))
    assert result.verdict == "inconclusive"
    assert not result.passed
    assert not all(control.caught for control in result.controls)
    assert result.smallest_total_variation is not None
    assert result.smallest_total_variation > 0.2


def test_budget_scales_the_size_and_the_seed_moves_the_draws() -> None:
    less = TABLE.run(Settings(budget=0.8))
    assert 2400 <= less.n < 2420
    assert less == TABLE.run(Settings(budget=0.8))
    assert less.pvalue != TABLE.run(Settings(budget=0.8, seed=7)).pvalue


@pytest.mark.parametrize("case", lossless_table.table_cases(3), ids=lambda case: str(case.name))
def test_table_law_is_the_sum_over_texts(case: lossless_table.Case) -> None:
    law = lossless_table.predict(case)
    expected = np.zeros((3, 3, 3))
    for text in product(range(3), repeat=3):
        history, mass, ended = list(case.prompt), 1.0, False
        for token in text:
            mass *= float(token == case.eos) if ended else case.target.laws[tuple(history[-2:])][token]
            ended = ended or token == case.eos
            history.append(token)
        expected[text] = mass
    np.testing.assert_allclose(law, expected, atol=1e-15)


def test_a_text_that_goes_on_after_its_end_is_impossible() -> None:
    case = lossless_table.table_cases(3)[0]
    counts = np.round(1e4 * lossless_table.predict(case)).astype(int)
    assert lossless_table.judge("whole", counts.ravel(), lossless_table.predict(case)).passed(1e-6)
    counts[0, 2, 1] += 1
    assert lossless_table.judge("after the end", counts.ravel(), lossless_table.predict(case)).pvalue == 0.0


def test_lossless_model_keeps_every_text_and_cuts_by_index(settings: Settings) -> None:
    """The number of tokens is met exactly, and texts that ended early are among them."""
    claim = LosslessModel(tokens=700, text_tokens=100)
    bench = open_workbench(settings)
    texts = lossless_model.measure(claim, bench, settings=settings, rng=np.random.default_rng(0))
    assert texts.tokens.size == len(texts.p) == len(texts.q) == 700
    assert 70 < texts.accepted < 700
    assert (texts.tokens == 256).any()


def test_lossless_model_with_truncated_laws(settings: Settings) -> None:
    """Tokens of a truncated law pass under it, and one token outside of it is enough to fail."""
    claim = dataclasses.replace(MODEL, sampling=Sampling(temperature=0.8, top_k=20))
    assert claim.run(settings).verdict == "passed"
    bench, rng = open_workbench(settings), np.random.default_rng(0)
    texts = lossless_model.measure(claim, bench, settings=settings, rng=rng)
    tokens = texts.tokens.copy()
    tokens[5] = int(texts.p[5].argmin())
    assert lossless_model.judge(tokens, texts, u=lossless_model.pit(tokens, texts, rng=rng)).pvalue == 0.0


def test_histograms_hold_every_token(settings: Settings) -> None:
    result = MODEL.run(settings)
    assert set(result.histograms) == {"token_id", "p_descending", "ratio"}
    assert all(sum(counts) == result.n == 400 for counts in result.histograms.values())


def test_one_pass_with_speculation_off_gives_the_laws_of_one_token_passes(settings: Settings) -> None:
    bench = open_workbench(settings)
    prompt, tokens = bench.prompts[0], bench.prompts[1][:6]
    rows = teacher_forced(bench.reference, prompt, tokens)
    bench.target.truncate(0)
    bench.target.score(prompt[:-1])
    alone = [bench.target.score([token])[0] for token in (prompt[-1], *tokens[:-1])]
    np.testing.assert_allclose(rows, Sampling().probabilities(np.array(alone)), atol=1e-5)


@pytest.mark.parametrize(
    ("plain", "fast", "compared", "gap"),
    [
        ([0, 1, 0], [0, 1, 0], 3, None),
        ([0, 1, 0], [0, 2, 2], 2, 0.0),
        ([0, 1, 0], [0, 0, 1], 2, np.log(4.5)),
        ([0, 1, 0], [0, 1], 2, np.inf),
        ([0], [0, 1], 1, np.inf),
    ],
    ids=["equal", "part at a tie", "flip", "ends early", "goes on"],
)
def test_comparison_is_aware_of_margins(plain: list[int], fast: list[int], compared: int, gap: float | None) -> None:
    model = TableModel([0.1, 0.45, 0.45])
    outcome = greedy_equality.compare(plain, fast, model=model, prompt=[0])
    assert outcome.compared == compared
    assert outcome.gap == (None if gap is None else pytest.approx(gap, abs=1e-6))


def test_ties_are_reported_and_do_not_fail(settings: Settings) -> None:
    """With a huge tolerance the same wrong texts count as ties, and the control, judged alike, finds nothing."""
    result = dataclasses.replace(GREEDY, verifier=AcceptAll(), tolerance=1e3).run(settings)
    assert result.figures["ties"] > 0
    assert result.verdict == "inconclusive"


class ShiftedRows(TableModel):
    """The fault of a verifying pass whose rows are one off."""

    def read(self, tokens, **options):  # type: ignore[no-untyped-def]
        reading = super().read(tokens, **options)
        return dataclasses.replace(reading, logits=[np.roll(rows, 1, axis=0) for rows in reading.logits])


def test_gap_sees_a_verifying_pass_that_differs() -> None:
    laws = TableModel.random(6, order=1, seed=3).laws
    prompt = [0, 3, 1, 4, 2, 5, 0, 1]
    assert bfloat16_gap.gap(TableModel(laws), prompt, tokens=5).max() == 0.0
    assert bfloat16_gap.gap(ShiftedRows(laws), prompt, tokens=5).max() > 0.05


def test_bfloat16_gap_reports_both_and_judges_float32(settings: Settings) -> None:
    result = bfloat16_gap.Bfloat16Gap(tokens=4).run(settings)
    assert 0 < result.statistic == result.figures["largest_total_variation_float32"] < 1e-4
    assert 0 <= result.figures["mean_total_variation_bfloat16"] < 0.2
    assert bfloat16_gap.Bfloat16Gap(tokens=4, tolerance=1e-12).run(settings).verdict == "failed"


P = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
Q = np.array([[0.2, 0.3, 0.5]])


@pytest.mark.parametrize(
    ("rule", "first", "bonus"),
    [
        (ResidualIsTarget(), [0.2 + 0.3 * 0.5, 0.3 + 0.3 * 0.3, 0.2 + 0.3 * 0.2], P[1]),
        (BonusFromDraft(), P[0], Q[0]),
        (AcceptAll(), Q[0], P[1]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_faults_have_the_law_that_their_name_says(rule: Rejection, first: list[float], bonus: np.ndarray) -> None:
    """20,000 rounds; chi-square of first token and of bonus at 1e-7 each."""
    rng, runs = np.random.default_rng(0), 20_000
    draft = rng.choice(3, size=(runs, 1), p=Q[0])
    outcome = rule.verify(P, draft, q=Q, rng=rng)
    firsts = np.where(outcome.accepted > 0, draft[:, 0], outcome.token)
    bonuses = outcome.token[outcome.accepted == 1]
    for tokens, law in ((firsts, first), (bonuses, bonus)):
        assert claims_test(tokens, law).passed(1e-7)
    assert not rule.is_lossless


def claims_test(tokens: np.ndarray, law: object) -> TestResult:
    return lossless_table.judge("law", np.bincount(tokens, minlength=3), np.asarray(law))


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_faults_judge_plain_rounds_and_lookups(fault: str) -> None:
    rng = np.random.default_rng(0)
    plain = FAULTS[fault]().verify(P[:1], np.empty(0, dtype=int), q=None, rng=rng)
    assert int(plain.accepted) == 0
    lookup = FAULTS[fault]().verify(P, np.array([2]), q=None, rng=rng)
    assert lookup.accepted.shape == lookup.token.shape == ()


def test_verdicts() -> None:
    good = TestResult(test="a", statistic=0.0, pvalue=0.5, n=1)
    bad = TestResult(test="a", statistic=0.0, pvalue=1e-9, n=1)
    caught, missed = (Control(fault="f", n=1, pvalue=p, caught=p < 0.1) for p in (0.0, 0.5))
    assert verdict(good, level=1e-6, controls=[caught]) == "passed"
    assert verdict(good, level=1e-6, controls=[caught, missed]) == "inconclusive"
    assert verdict(bad, level=1e-6, controls=[missed]) == "failed"


def test_an_infinite_statistic_is_written_as_null() -> None:
    result = ClaimResult(
        test="a", model="b", n=1, unit="tokens", pvalue=0.0, level=0.1, verdict="failed", statistic=np.inf
    )
    assert result.as_dict()["statistic"] is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Settings(level=0.0), "level must be in"),
        (lambda: Settings(budget=-1.0), "budget must be above 0"),
        (lambda: Settings(seed=-1), "seed must be at least 0"),
        (lambda: LosslessTable(gamma=0), "gamma must be at least 1"),
        (lambda: LosslessTable(rounds=0), "rounds must be at least 1"),
        (lambda: LosslessModel(tokens=0), "tokens must be at least 1"),
        (lambda: GreedyEquality(tolerance=-1.0), "tolerance must be at least 0"),
        (lambda: bfloat16_gap.Bfloat16Gap(tolerance=0.0), "tolerance must be above 0"),
    ],
)
def test_bad_sizes_are_refused(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        make()


def test_an_unknown_model_is_one_clear_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match="found nothing at"):
        GREEDY.run(Settings(model=str(tmp_path / "missing")))
