"""Assisted generation of transformers over table models: held to exact probabilities, and caught when made wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import DynamicCache
from transformers.generation import utils as generation

from specsim.conformance import Output, Parameters, Request, TableModels, TableOracle, check, plan
from specsim.conformance.sources import fitting
from specsim.errors import AdapterError, InputError
from specsim.stats import anderson_darling, goodness_of_fit
from validation.conformance.hf import TeacherForcing, TransformersDecoder
from validation.conformance.table_model import table_model
from validation.decoder.tiny import tiny_model

MODELS = TableModels.random(seed=0)
TARGET, DRAFT = table_model(MODELS, "target"), table_model(MODELS, "draft")
KINDS: dict[str, dict[str, Any]] = {
    "assistant": {"assistant": DRAFT},
    "prompt lookup": {"options": {"prompt_lookup_num_tokens": 3}},
    "plain": {},
}
ROUNDING = 1e-6
"""Total variation of float32 laws, in which transformers draws."""


def request(number: int, parameters: Parameters | None = None, prompt: tuple[int, ...] = (1, 2)) -> Request:
    return Request(id=str(number), prompt=prompt, parameters=parameters or Parameters(max_tokens=8), seed=number)


# --- the model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", [[7], [1] * 7, [3, 4], [2, 1, 4]])
def test_a_cached_text_gives_the_rows_of_the_whole_text(splits: list[int]) -> None:
    text = torch.tensor([[3, 1, 7, 0, 0, 5, 2], [6, 6, 1, 2, 3, 4, 5]])
    cache, rows, place = DynamicCache(), [], 0
    for size in splits:
        rows.append(TARGET(text[:, place : place + size], cache=cache, use_cache=True).logits)
        place += size
    expected = MODELS.logits("target", MODELS.states(text.numpy()))
    np.testing.assert_array_equal(torch.cat(rows, dim=1).numpy(), expected)
    assert cache.get_seq_length() == 7


def test_a_cropped_cache_forgets_and_a_stale_one_does_not() -> None:
    text, other = torch.tensor([[3, 1, 7]]), torch.tensor([[5, 2]])
    cropped, stale = DynamicCache(), DynamicCache()
    for cache in (cropped, stale):
        TARGET(text, cache=cache, use_cache=True)
    cropped.crop(-1)
    right = TARGET(other, cache=cropped, use_cache=True).logits.numpy()
    wrong = TARGET(other, cache=stale, use_cache=True).logits.numpy()
    np.testing.assert_array_equal(right, MODELS.logits("target", MODELS.states([[3, 1, 5, 2]])[:, 2:]))
    assert not np.array_equal(right[:, 0], wrong[:, 0])


def test_padding_on_the_left_changes_nothing() -> None:
    padded = torch.tensor([[0, 0, 4, 6, 1]])
    rows = TARGET(padded, attention_mask=torch.tensor([[0, 0, 1, 1, 1]])).logits[:, 2:]
    np.testing.assert_array_equal(rows.numpy(), MODELS.logits("target", MODELS.states([[4, 6, 1]])))


def test_the_model_answers_as_callers_expect() -> None:
    ids = torch.tensor([[1, 2, 3]])
    assert TARGET(ids, logits_to_keep=1).logits.shape == (1, 1, 8)
    logits, cache = TARGET(ids, return_dict=False, use_cache=True)
    assert logits.shape == (1, 3, 8)
    assert cache.get_seq_length() == 3
    assert TARGET.get_input_embeddings().num_embeddings == TARGET.config.vocab_size == 8
    assert TARGET.device.type == "cpu"
    with pytest.raises(InputError, match=r"side 'both' is unknown"):
        table_model(MODELS, "both")
    with pytest.raises(InputError, match=r"eos_id must be in 0..7, got 8"):
        table_model(MODELS, "target", eos_id=8)
    with pytest.raises(InputError, match=r"dtype must be torch.float32 or torch.float64"):
        table_model(MODELS, "target", dtype=torch.float16)


# --- the oracle -------------------------------------------------------------------------------------------------------


def test_teacher_forcing_gives_the_tables_laws_for_every_kind_of_request() -> None:
    asked = plan(tokens=1000, vocabulary=8, eos_id=7).requests(0, 80)
    rng = np.random.default_rng(0)
    outputs = [Output(tokens=tuple(rng.integers(8, size=6).tolist()), finish_reason="length") for _ in asked]
    found = TeacherForcing(TARGET, assistant=DRAFT, batch=7).score(asked, outputs)
    expected = TableOracle(MODELS).score(asked, outputs)
    for name in ("log_p", "log_q"):
        np.testing.assert_allclose(np.exp(getattr(found, name)), np.exp(getattr(expected, name)), atol=1e-12)


def test_an_assistant_of_another_vocabulary_is_refused() -> None:
    small = table_model(TableModels.random(vocabulary=4, seed=0), "draft")
    with pytest.raises(InputError, match=r"assistant must have the target's vocabulary 8, got 4"):
        TeacherForcing(TARGET, assistant=small).score([request(0)], [Output(tokens=(1,), finish_reason="stop")])


# --- generate ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_generate_conforms(kind: str) -> None:
    """Null: transformers is lossless; false alarms at most 1e-6 by construction, n = 1,500 tokens."""
    decoder = TransformersDecoder(TARGET, **KINDS[kind])
    asked, gone = fitting(plan(tokens=1500, vocabulary=8, eos_id=7, tolerance=ROUNDING), decoder)
    verdict = check(decoder, TableOracle(MODELS, with_draft=kind == "assistant"), asked)
    assert verdict.outcome == "conforms", verdict.sentence
    assert len(gone) == 2


def test_texts_of_three_tokens_follow_the_exact_joint_law() -> None:
    """Null: the law of three tokens by enumeration; chi-square, n = 400, level 1e-6."""
    small = TableModels.random(vocabulary=3, seed=1)
    decoder = TransformersDecoder(table_model(small, "target"), assistant=table_model(small, "draft"))
    short = Parameters(max_tokens=3)
    outputs = decoder.generate([request(number, short, prompt=(2, 1)) for number in range(400)])
    joint = np.ones((3, 3, 3))
    for a, b, c in np.ndindex(3, 3, 3):
        rows = small.logits("target", small.states([[2, 1, a, b]])[0, 1:])
        laws = np.exp(rows - np.logaddexp.reduce(rows, axis=1)[:, None])
        joint[a, b, c] = laws[0, a] * laws[1, b] * laws[2, c]
    counts = np.bincount([np.ravel_multi_index(output.tokens, (3, 3, 3)) for output in outputs], minlength=27)
    assert goodness_of_fit(counts, joint.ravel()).passed(1e-6)
    assert max(max(output.blocks or ()) for output in outputs) > 1  # it did speculate


def test_a_fault_planted_in_transformers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The residual's law replaced by the target's: caught at 4,000 tokens, with power of almost 1 under a bad draft."""
    right = generation._speculative_sampling

    def from_target(ids: Any, q_logits: Any, length: int, p_logits: Any, **options: Any) -> Any:
        tokens, matches = right(ids, q_logits, length, p_logits, **options)
        if matches < length:
            law = p_logits[:, matches].softmax(dim=-1)
            tokens = torch.cat((tokens[:, :-1], torch.multinomial(law, 1)), dim=-1)
        return tokens, matches

    monkeypatch.setattr(generation, "_speculative_sampling", from_target)
    decoder = TransformersDecoder(TARGET, assistant=DRAFT)
    asked, _ = fitting(plan(tokens=4000, vocabulary=8, tolerance=ROUNDING), decoder)
    verdict = check(decoder, TableOracle(MODELS), asked)
    assert verdict.outcome == "does not conform"


def test_the_same_seed_gives_the_same_text_and_leaves_torch_as_it_was() -> None:
    decoder = TransformersDecoder(TARGET, assistant=DRAFT)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, second, other = decoder.generate([request(1), request(1), request(2)])
    assert first == second != other
    assert torch.equal(before, torch.random.get_rng_state())


def test_greedy_texts_are_the_argmax_whoever_drafts() -> None:
    cold = Parameters(temperature=0.0, max_tokens=12)
    texts = {TransformersDecoder(TARGET, **kind).generate([request(0, cold)])[0].tokens for kind in KINDS.values()}
    assert len(texts) == 1
    (text,) = texts
    states = MODELS.states([[1, 2, *text]])[0, 1:-1]
    assert text == tuple(MODELS.logits("target", states).argmax(axis=1).tolist())


def test_what_transformers_lacks_is_refused() -> None:
    decoder = TransformersDecoder(TARGET)
    for parameters, reason in (
        (Parameters(presence_penalty=0.1), "no presence and frequency penalty"),
        (Parameters(stop_sequences=((1, 2),)), "stops at text"),
    ):
        with pytest.raises(AdapterError, match=reason):
            decoder.generate([request(0, parameters)])


def test_early_exit_of_a_real_architecture_follows_teacher_forcing() -> None:
    """Null: uniform PIT of a tiny Llama drafted by its own first layers; Anderson-Darling, n = 400, level 1e-6."""
    model, _ = tiny_model(layers=4)
    model.generation_config.eos_token_id = None
    decoder = TransformersDecoder(model, options={"assistant_early_exit": 2})
    asked = [request(number, Parameters(max_tokens=10), prompt=(65, 66, 67 + number)) for number in range(40)]
    outputs = decoder.generate(asked)
    laws = np.exp(np.asarray(TeacherForcing(model).score(asked, outputs).log_p))
    tokens = np.array([token for output in outputs for token in output.tokens])
    below = (laws * (np.arange(laws.shape[1]) < tokens[:, None])).sum(axis=1)
    u = below + np.random.default_rng(0).random(tokens.size) * laws[np.arange(tokens.size), tokens]
    assert tokens.size == 400
    assert anderson_darling(np.clip(u, 0, 1)).passed(1e-6)
