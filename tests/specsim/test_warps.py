"""Warps of logits: bias, penalties on what was said, truncation, and what they do to acceptance."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.distributions import Alphas, History, Sampling, softmax, warped_alphas
from specsim.errors import InputError
from tests.reference import exact, golden_objectives
from tests.reference import exact_objectives as twin

WEIGHTS = tuple(Fraction(w) for w in ("4", "1/4", "9", "1"))  # squares, so that a repetition penalty of 2 is rational
LOGITS = np.log([float(w) for w in WEIGHTS])
LAW = exact.normalised(list(WEIGHTS))


def floats(law: exact.Law) -> list[float]:
    return [float(x) for x in law]


# --- truncation and bias -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=2, max_size=7).filter(any), st.integers(1, 8), st.integers(1, 20))
def test_each_truncation_is_its_definition(weights: list[int], k: int, twentieths: int) -> None:
    law = exact.normalised([Fraction(w) for w in weights])
    share = Fraction(twentieths, 20)
    with np.errstate(divide="ignore"):
        logits = np.log(np.array(weights, float))
    for rule, expected in (
        (Sampling(top_k=k), twin.top_k(law, k) if k <= sum(w > 0 for w in weights) else law),
        (Sampling(top_p=float(share)), twin.top_p(law, share)),
        (Sampling(min_p=float(share)), None if _on_the_edge(law, share) else twin.min_p(law, share)),
    ):
        if expected is not None:
            np.testing.assert_allclose(rule.probabilities(logits), floats(expected), rtol=1e-12)


def _on_the_edge(law: exact.Law, share: Fraction) -> bool:
    """Where a rounding of the logarithm decides whether a token stays."""
    return any(x == share * max(law) for x in law)


def test_min_p_keeps_the_peak_and_what_is_near() -> None:
    assert np.flatnonzero(Sampling(min_p=0.3).probabilities(LOGITS)).tolist() == [0, 2]
    assert np.flatnonzero(Sampling(min_p=1.0).probabilities(LOGITS)).tolist() == [2]
    assert Sampling(min_p=1.0).probabilities(np.zeros(3)).tolist() == pytest.approx([1 / 3] * 3)
    np.testing.assert_array_equal(Sampling(min_p=0.0).probabilities(LOGITS), softmax(LOGITS))


def test_min_p_comes_after_top_p() -> None:
    """As transformers has it: among what min-p leaves first, 0.7 and 0.3 of the mass, top-p 0.6 would keep one."""
    logits = np.log([0.42, 0.18, 0.1, 0.1, 0.1, 0.1])
    assert np.flatnonzero(Sampling(top_p=0.6, min_p=0.4).probabilities(logits)).tolist() == [0, 1]
    assert np.flatnonzero(Sampling(top_p=0.6).probabilities(np.log([0.7, 0.3]))).tolist() == [0]


def test_min_p_looks_at_the_law_after_the_temperature() -> None:
    hot, cold = (Sampling(temperature=t, min_p=0.3).probabilities(LOGITS) for t in (2.0, 0.5))
    assert [np.count_nonzero(law) for law in (hot, cold)] == [3, 1]


def test_a_bias_is_a_factor() -> None:
    expected = twin.penalised_table(WEIGHTS, bias={1: Fraction(8), 2: Fraction(1, 3)})(())
    rule = Sampling(logit_bias={2: -math.log(3), 1: math.log(8)})
    np.testing.assert_allclose(rule.probabilities(LOGITS), floats(expected), rtol=1e-12)
    np.testing.assert_allclose(rule.probabilities(np.tile(LOGITS, (2, 3, 1)))[1, 2], floats(expected), rtol=1e-12)


def test_a_bias_of_minus_infinity_bans_and_a_large_one_decides() -> None:
    assert Sampling(logit_bias={2: -math.inf}).probabilities(LOGITS)[2] == 0
    assert Sampling(temperature=0, logit_bias={2: -math.inf}).probabilities(LOGITS).argmax() == 0
    assert Sampling(temperature=0, logit_bias={1: 100.0}).probabilities(LOGITS).argmax() == 1


def test_a_sampling_with_a_bias_can_be_compared_and_hashed() -> None:
    one, other = Sampling(logit_bias={1: 2.0, 0: 1.0}), Sampling(logit_bias=((0, 1.0), (1, 2.0)))
    assert one == other
    assert len({one, other, Sampling()}) == 2


# --- penalties -----------------------------------------------------------------------------------------------------

PENALTIES = [
    ({"frequency_penalty": math.log(3)}, {"frequency": Fraction(3)}),
    ({"presence_penalty": math.log(5)}, {"presence": Fraction(5)}),
    ({"repetition_penalty": 2.0}, {"repetition_is_two": True}),
    ({"presence_penalty": -math.log(2)}, {"presence": Fraction(1, 2)}),  # rewards repetition
    (
        {"repetition_penalty": 2.0, "presence_penalty": math.log(5), "frequency_penalty": math.log(3)},
        {"repetition_is_two": True, "presence": Fraction(5), "frequency": Fraction(3)},
    ),
]


@pytest.mark.parametrize(("settings", "factors"), PENALTIES, ids=str)
def test_row_k_sees_the_history_and_the_k_drafts_before_it(settings: dict, factors: dict) -> None:
    prompt, output = (3, 3, 1), (0, 2, 2)
    table = twin.penalised_table(WEIGHTS, prompt=prompt, **factors)
    for draft in itertools.product(range(4), repeat=2):
        rows = Sampling(**settings).probabilities(
            np.tile(LOGITS, (3, 1)), history=History(prompt=prompt, output=output, draft=draft)
        )
        expected = [floats(table(output + draft[:k])) for k in range(3)]
        np.testing.assert_allclose(rows, expected, rtol=1e-12)


@pytest.mark.parametrize(("settings", "factors"), PENALTIES, ids=str)
def test_the_rows_of_a_batch_are_those_of_its_texts(settings: dict, factors: dict) -> None:
    """Texts of different lengths, padded; one row each, and chains of drafts."""
    rng = np.random.default_rng(0)
    rule, logits = Sampling(top_k=3, **settings), rng.normal(size=(2, 3, 3, 5))
    prompt, output, draft = (
        rng.integers(-1, 5, (3, 1, 4)),
        rng.integers(-1, 5, (2, 1, 6)),
        rng.integers(0, 5, (2, 3, 2)),
    )
    together = rule.probabilities(logits, history=History(prompt=prompt[None, :, 0], output=output, draft=draft))
    for b, c, k in np.ndindex(2, 3, 3):
        said = [*output[b, 0], *draft[b, c, :k]]
        alone = rule.probabilities(
            logits[b, c, k],
            history=History(prompt=[x for x in prompt[c, 0] if x >= 0], output=[x for x in said if x >= 0]),
        )
        np.testing.assert_allclose(together[b, c, k], alone, rtol=1e-12)


def test_fewer_rows_than_drafts_are_the_first_rows() -> None:
    """A drafter has no law after its last draft."""
    rule, history = Sampling(presence_penalty=1.0), History(output=[0], draft=[1, 2])
    rows = np.tile(LOGITS, (3, 1))
    np.testing.assert_array_equal(
        rule.probabilities(rows[:2], history=history), rule.probabilities(rows, history=history)[:2]
    )


def test_only_the_repetition_penalty_counts_the_prompt() -> None:
    history = History(prompt=[0, 2])
    for settings in ({"presence_penalty": 2.0}, {"frequency_penalty": 2.0}):
        np.testing.assert_array_equal(Sampling(**settings).probabilities(LOGITS, history=history), softmax(LOGITS))
    assert Sampling(repetition_penalty=2.0).probabilities(LOGITS, history=history)[2] < softmax(LOGITS)[2]


def test_penalties_move_the_greedy_token() -> None:
    rule = Sampling(temperature=0, frequency_penalty=1.0)
    rows = rule.probabilities(np.tile(LOGITS, (3, 1)), history=History(draft=[2, 2]))
    assert rows.argmax(axis=-1).tolist() == [2, 0, 0]


def test_penalties_leave_bans_and_float32_alone() -> None:
    rule = Sampling(repetition_penalty=1.3, presence_penalty=0.5)
    for ban in (-np.inf, np.finfo(np.float32).min):
        law = rule.probabilities(np.array([ban, 1, 2], np.float32), history=History(output=[0, 1]))
        assert law.dtype == np.float32
        assert law[0] == 0


def test_the_logits_handed_in_are_not_changed() -> None:
    logits = LOGITS.copy()
    Sampling(logit_bias={0: 1.0}, repetition_penalty=2.0).probabilities(logits, history=History(output=[0]))
    np.testing.assert_array_equal(logits, LOGITS)


def _rows(rule: Sampling, *, blind: bool) -> exact.Table:
    """A table from `Sampling`, as fractions; `blind`: made as if no token had been drafted."""

    def table(text: exact.Text) -> exact.Law:
        output = () if blind else text
        law = rule.probabilities(LOGITS, history=History(output=np.array(output, dtype=int)))
        return exact.normalised([Fraction(float(x)).limit_denominator(10**12) for x in law])

    return table


def test_speculation_under_penalties_is_lossless_only_if_drafts_count() -> None:
    """Rejection with rows that count drafts gives the text of plain decoding; with rows that do not, another one."""
    p = _rows(Sampling(frequency_penalty=math.log(3)), blind=False)
    q = exact.iid(exact.normalised([Fraction(w) for w in (1, 2, 3, 4)]))
    target = exact.target_law(p, length=3)
    right = exact.text_law(p, q, exact.rejection, gamma=2, length=3)
    assert exact.total_variation(right, target) == 0

    def blind_rule(p_rows: list[exact.Law], q_rows: list[exact.Law], draft: exact.Text) -> dict:
        return exact.rejection([p_rows[0]] * len(p_rows), q_rows, draft)

    wrong = exact.text_law(p, q, blind_rule, gamma=2, length=3)
    assert exact.total_variation(wrong, target) > 0.1


# --- the same as transformers and vLLM -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def processors():
    pytest.importorskip("torch")
    return pytest.importorskip("transformers.generation.logits_process")


@pytest.mark.parametrize("seed", range(5))
def test_the_laws_are_those_of_transformers(processors, seed: int) -> None:
    import torch

    rng = np.random.default_rng(seed)
    logits = (rng.normal(size=(4, 50)) * 3).astype(np.float32)
    history = rng.integers(0, 50, (4, 12))
    bias = {3: 2.5, 40: -4.0, 7: 1.0}
    chain = [
        processors.SequenceBiasLogitsProcessor([[[token], value] for token, value in bias.items()]),
        processors.RepetitionPenaltyLogitsProcessor(1.4),
        processors.TemperatureLogitsWarper(0.8),
        processors.TopKLogitsWarper(20),
        processors.TopPLogitsWarper(0.9),
        processors.MinPLogitsWarper(0.05),
    ]
    scores = torch.tensor(logits)
    for processor in chain:
        scores = processor(torch.tensor(history), scores)
    rule = Sampling(logit_bias=bias, repetition_penalty=1.4, temperature=0.8, top_k=20, top_p=0.9, min_p=0.05)
    law = rule.probabilities(logits, history=History(prompt=history[:, :5], output=history[:, 5:]))
    np.testing.assert_allclose(law, torch.softmax(scores, dim=-1).numpy(), rtol=2e-5)


def test_the_penalties_are_those_that_vllm_documents() -> None:
    """`vllm/model_executor/layers/utils.py::apply_penalties`, from its comments: written again densely."""
    rng = np.random.default_rng(3)
    logits, prompt, output = rng.normal(size=30), rng.integers(0, 30, 8), rng.integers(0, 30, 20)
    counts = np.bincount(output, minlength=30)
    seen = (np.bincount(prompt, minlength=30) + counts) > 0
    expected = np.where(seen, np.where(logits > 0, logits / 1.2, logits * 1.2), logits)
    expected = expected - 0.3 * counts - 0.7 * (counts > 0)
    rule = Sampling(repetition_penalty=1.2, frequency_penalty=0.3, presence_penalty=0.7)
    law = rule.probabilities(logits, history=History(prompt=prompt, output=output))
    np.testing.assert_allclose(law, softmax(expected), rtol=1e-12)


# --- acceptance under warps ----------------------------------------------------------------------------------------


def alphas(rule: Sampling, p: exact.Law, q: exact.Law, warped: str) -> Alphas:
    with np.errstate(divide="ignore"):
        return warped_alphas(rule, target_logits=np.log(floats(p)), draft_logits=np.log(floats(q)), warped=warped)


@pytest.mark.parametrize("row", golden_objectives.rows("temperature_alpha"), ids=lambda row: row["id"])
def test_golden_alpha_by_temperature(row: dict) -> None:
    logits = {name: row["case"][name] for name in ("target_logits", "draft_logits")}
    for temperature, expected in row["expected"].items():
        found = warped_alphas(Sampling(temperature=float(temperature)), **logits)
        assert float(found.sampled) == pytest.approx(expected, rel=row["rtol"])


@pytest.mark.parametrize("row", golden_objectives.rows("top_k"), ids=lambda row: row["id"])
def test_golden_alpha_by_truncation(row: dict) -> None:
    p, q = (tuple(map(Fraction, row["case"][name])) for name in ("p", "q"))
    rule, expected = Sampling(top_k=row["case"]["k"]), row["expected"]
    for warped, name in (
        ("neither", "alpha_no_trunc"),
        ("target", "alpha_trunc_target_only"),
        ("both", "alpha_trunc_both"),
    ):
        found = alphas(rule, p, q, warped).sampled
        assert float(found) == pytest.approx(float(Fraction(expected[name])), rel=row["rtol"], abs=1e-15)
    for law, name in ((p, "p_trunc"), (q, "q_trunc")):
        np.testing.assert_allclose(
            rule.probabilities(np.log(floats(law))), [float(Fraction(x)) for x in expected[name]], rtol=row["rtol"]
        )


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=6),
    st.sampled_from(["target", "draft", "both", "neither"]),
    st.integers(1, 4),
)
def test_alphas_are_those_of_the_twin(weights: list[tuple[int, int]], warped: str, k: int) -> None:
    p, q = (exact.normalised([Fraction(pair[side]) for pair in weights]) for side in (0, 1))
    found = alphas(Sampling(top_k=k), p, q, warped)
    p = twin.top_k(p, k) if warped in ("target", "both") else p
    q = twin.top_k(q, k) if warped in ("draft", "both") else q
    assert float(found.sampled) == pytest.approx(float(twin.alpha(p, q)), rel=1e-12, abs=1e-15)
    assert float(found.argmax) == pytest.approx(float(twin.alpha_argmax(p, q)), rel=1e-12)


def test_alpha_at_the_ends_of_the_temperature() -> None:
    """Cold: whether the argmaxes agree. Hot: both uniform."""
    p, agreeing, other = np.array([2.0, 1.0, 0.0]), np.array([9.0, 0.0, 5.0]), np.array([0.0, 1.0, 0.5])
    for q, agrees in ((agreeing, 1.0), (other, 0.0)):
        for temperature in (0.0, 1e-3):
            cold = warped_alphas(Sampling(temperature=temperature), target_logits=p, draft_logits=q)
            assert [float(cold.sampled), float(cold.argmax)] == pytest.approx([agrees, agrees], abs=1e-12)
        assert float(warped_alphas(Sampling(temperature=1e4), target_logits=p, draft_logits=q).sampled) > 0.999


def test_alpha_need_not_be_monotone_in_temperature() -> None:
    p, q = np.array([3.0, 0.0, 0.0]), np.array([9.0, 0.0, 0.0])
    found = [
        float(warped_alphas(Sampling(temperature=t), target_logits=p, draft_logits=q).sampled) for t in (0.1, 2.0, 50.0)
    ]
    assert found[1] < min(found[0], found[2])


def test_neither_way_of_drafting_dominates() -> None:
    """0.70 against 0.20, and 0.65 against 0.95."""
    for p, q, expected in (
        ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0.7, 0.2)),
        ((0.95, 0.05), (0.6, 0.4), (0.65, 0.95)),
    ):
        found = warped_alphas(Sampling(), target_logits=np.log(p), draft_logits=np.log(q))
        assert (float(found.sampled), float(found.argmax)) == pytest.approx(expected)


def test_a_penalty_on_the_target_alone_costs_acceptance() -> None:
    """The drafter repeats what the target may not: warped alike they still agree."""
    rule, history = Sampling(frequency_penalty=5.0), History(output=[2])
    one_sided, alike = (
        float(warped_alphas(rule, target_logits=LOGITS, draft_logits=LOGITS, warped=warped, history=history).sampled)
        for warped in ("target", "both")
    )
    assert one_sided < 0.5
    assert alike == pytest.approx(1)


def test_each_warp_moves_alpha_as_its_definition_says() -> None:
    """Bias of log 3 on token 0: a factor on both laws."""
    p, q = (exact.normalised([Fraction(w) for w in weights]) for weights in ((1, 2, 3), (3, 2, 1)))
    biased = [twin.penalised_table(law, bias={0: Fraction(3)})(()) for law in (p, q)]
    found = alphas(Sampling(logit_bias={0: math.log(3)}), p, q, "both")
    assert float(found.sampled) == pytest.approx(float(twin.alpha(*biased)), rel=1e-12)


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_p": 1.1}, r"min_p must be in \[0, 1\], got 1.1"),
        ({"min_p": float("nan")}, "min_p"),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be above 0, got 0"),
        ({"repetition_penalty": -1.0}, "repetition_penalty must be above 0"),
        ({"presence_penalty": float("inf")}, "presence_penalty must be finite, got inf"),
        ({"frequency_penalty": float("nan")}, "frequency_penalty must be finite"),
        ({"logit_bias": {-1: 1.0}}, "logit_bias token must be at least 0, got -1"),
        ({"logit_bias": {0: float("nan")}}, r"logit_bias\[0\] must be finite, got nan"),
        ({"logit_bias": {0: float("inf")}}, r"logit_bias\[0\] must be finite, got inf"),
        ({"logit_bias": {0.5: 1.0}}, "logit_bias token must be a whole number"),
    ],
    ids=str,
)
def test_settings_outside_their_range(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**settings)


@pytest.mark.parametrize(
    ("rule", "history", "message"),
    [
        (Sampling(presence_penalty=1.0), None, "history must be given with a penalty"),
        (Sampling(logit_bias={4: 1.0}), None, r"logit_bias must name tokens in 0..3, got 4"),
        (Sampling(presence_penalty=1.0), {"output": [4]}, r"output must hold tokens in 0..3, or -1 for none, got 4"),
        (Sampling(repetition_penalty=2.0), {"prompt": [9]}, r"prompt must hold tokens in 0..3"),
        (Sampling(presence_penalty=1.0), {"output": [-2]}, r"output\[0\] must be at least -1, got -2"),
        (Sampling(presence_penalty=1.0), {"output": [0.5]}, "output must be whole numbers"),
        (Sampling(presence_penalty=1.0), {"output": 3}, "output must have an axis of tokens"),
        (Sampling(presence_penalty=1.0), {"output": [[1], [2]]}, r"output must have leading axes that fit \(\)"),
        (Sampling(presence_penalty=1.0), {"draft": [1]}, r"logits must have shape \(..., R, V\), R at most 2"),
        (Sampling(logit_bias=dict.fromkeys(range(4), -math.inf)), None, "after bias and penalties must be"),
    ],
    ids=str,
)
def test_histories_that_do_not_fit(rule: Sampling, history: dict | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rule.probabilities(LOGITS, history=None if history is None else History(**history))


def test_too_many_rows_for_the_drafts() -> None:
    with pytest.raises(InputError, match="R at most 2 for 1 drafts"):
        Sampling(presence_penalty=1.0).probabilities(np.zeros((3, 4)), history=History(draft=[1]))


def test_an_unknown_side_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="warped 'p' is unknown; known: both, draft, neither, target"):
        warped_alphas(Sampling(), target_logits=LOGITS, draft_logits=LOGITS, warped="p")


def test_a_vocabulary_of_one_is_always_accepted() -> None:
    rule = Sampling(top_k=1, top_p=0.1, min_p=0.5, repetition_penalty=2.0)
    found = warped_alphas(rule, target_logits=[3.0], draft_logits=[0.0], history=History(output=[0]))
    assert (float(found.sampled), float(found.argmax)) == (1, 1)
