"""The adapter of vLLM's `LLM`, against a stand-in with the same interface over table models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specsim.conformance import Output, Parameters, Request, TableDecoder, TableModels, TableOracle, check, plan
from specsim.conformance.faults import FAULTS
from specsim.conformance.sources import fitting
from specsim.errors import AdapterError
from validation.conformance.vllm import VLLMDecoder, VLLMOracle, settings_of

MODELS = TableModels.random(seed=0)
EOS = 7


@dataclass(kw_only=True)
class Settings:
    """The fields of vLLM 0.32's `SamplingParams` that are used; another name is an error, as there."""

    temperature: float
    max_tokens: int
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: dict[int, float] | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    stop_token_ids: list[int] = field(default_factory=list)
    seed: int | None = None
    prompt_logprobs: int | None = None
    detokenize: bool = True


class LLM:
    """Decodes with a table decoder, lists prompt log-probabilities as vLLM does."""

    def __init__(self, decoder: TableDecoder | None = None, *, short: bool = False) -> None:
        self.decoder, self.short = decoder or TableDecoder(MODELS), short

    def generate(self, prompts: Sequence[dict[str, list[int]]], settings: Any, *, use_tqdm: bool) -> list[Any]:
        assert not use_tqdm
        several = settings if isinstance(settings, list) else [settings] * len(prompts)
        texts = [tuple(prompt["prompt_token_ids"]) for prompt in prompts]
        outputs = self.decoder.generate([self.request(text, one) for text, one in zip(texts, several, strict=True)])
        return [
            SimpleNamespace(
                outputs=[SimpleNamespace(token_ids=list(output.tokens), finish_reason=output.finish_reason)],
                prompt_logprobs=None if one.prompt_logprobs is None else self.listed(text, one.prompt_logprobs),
            )
            for text, output, one in zip(texts, outputs, several, strict=True)
        ]

    def request(self, text: tuple[int, ...], settings: Settings) -> Request:
        parameters = Parameters(
            temperature=settings.temperature,
            top_k=settings.top_k or None,
            top_p=settings.top_p,
            min_p=settings.min_p,
            repetition_penalty=settings.repetition_penalty,
            presence_penalty=settings.presence_penalty,
            frequency_penalty=settings.frequency_penalty,
            logit_bias=settings.logit_bias or {},
            max_tokens=settings.max_tokens,
            min_tokens=settings.min_tokens,
            eos_ids=tuple(settings.stop_token_ids),
        )
        return Request(id="", prompt=text, parameters=parameters, seed=settings.seed or 0)

    def listed(self, text: tuple[int, ...], top: int) -> list[Any]:
        logits = MODELS.logits("target", MODELS.states([text])[0])
        laws = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
        places: list[Any] = [None]
        for law, token in zip(laws, text[1:], strict=False):
            best = np.argsort(-law)[: len(law) if top == -1 else top]
            kept = best[:1] if self.short else {*best.tolist(), token}
            places.append({int(one): SimpleNamespace(logprob=float(law[one])) for one in kept})
        return places


def adapters(decoder: TableDecoder | None = None, **options: Any) -> tuple[VLLMDecoder, VLLMOracle]:
    return (
        VLLMDecoder(LLM(decoder), eos_id=EOS, is_speculative=False, sampling_params=Settings),
        VLLMOracle(LLM(), vocabulary=8, sampling_params=Settings, **options),
    )


@pytest.mark.parametrize(("fault", "outcome"), [(None, "conforms"), ("accept.always", "does not conform")])
def test_vllm_is_judged_as_the_decoder_behind_it(fault: str | None, outcome: str) -> None:
    """Null: a lossless decoder, false alarms at most 1e-6 by construction, n = 2,000 tokens."""
    decoder, oracle = adapters(None if fault is None else FAULTS[fault](MODELS))
    asked, _ = fitting(plan(tokens=2000, vocabulary=8, eos_id=EOS), decoder, oracle)
    assert check(decoder, oracle, asked).outcome == outcome


def test_the_laws_are_those_of_the_tables() -> None:
    decoder, oracle = adapters()
    asked, gone = fitting(plan(tokens=1000, vocabulary=8, eos_id=EOS), decoder, oracle)
    some = asked.requests(0, 60)
    outputs = decoder.generate(some)
    found, expected = oracle.score(some, outputs), TableOracle(MODELS).score(some, outputs)
    np.testing.assert_allclose(np.exp(found.log_p), np.exp(expected.log_p), atol=1e-9)
    assert set(gone.values()) == {
        "it has no grammar over token ids",
        "it stops at text, not at sequences of token ids",
        "repetition_penalty acts on logits, which log-probabilities do not tell",
    }


def test_a_short_list_leaves_out_what_stands_there_by_chance() -> None:
    _, oracle = adapters(top=3)
    request = Request(id="a", prompt=(1, 2))
    law = MODELS.logits("target", MODELS.states([request.prompt])[0, -1])
    rows = oracle.score([request], [Output(tokens=(int(law.argmin()),), finish_reason="stop")])
    assert np.asarray(rows.ids).tolist() == [np.argsort(-law)[:3].tolist()]


def test_what_vllm_lacks_or_lists_short_is_refused() -> None:
    decoder, _ = adapters()
    with pytest.raises(AdapterError, match=r"request 'a': vLLM cannot be asked for these parameters: it stops at text"):
        decoder.generate([Request(id="a", prompt=(1,), parameters=Parameters(stop_sequences=((1, 2),)))])
    assert decoder.refuses(Parameters(min_tokens=1, eos_ids=(3,)))
    output = [Output(tokens=(1,), finish_reason="stop")]
    with pytest.raises(AdapterError, match=r"must list 8 tokens at every place, got 1 \(max_logprobs\)"):
        VLLMOracle(LLM(short=True), vocabulary=8, sampling_params=Settings).score(
            [Request(id="a", prompt=(1,))], output
        )
    silent = SimpleNamespace(generate=lambda *_, **__: [SimpleNamespace(prompt_logprobs=None)])
    with pytest.raises(AdapterError, match=r"must give prompt_logprobs for every token of a prompt, got None"):
        VLLMOracle(silent, vocabulary=8, sampling_params=Settings).score([Request(id="a", prompt=(1,))], output)


@pytest.mark.parametrize(
    ("parameters", "is_fine"),
    [
        (Parameters(top_k=3, top_p=0.9, repetition_penalty=1.2, eos_ids=(EOS,)), True),
        (Parameters(min_p=0.1), False),
        (Parameters(logit_bias={1: 0.5}), False),
        (Parameters(banned_ids=(1,)), False),
    ],
)
def test_what_vllm_refuses_with_speculation_is_not_asked(parameters: Parameters, is_fine: bool) -> None:
    assert (VLLMDecoder(LLM(), eos_id=EOS, sampling_params=Settings).refuses(parameters) is None) == is_fine
    assert VLLMDecoder(LLM(), eos_id=EOS, is_speculative=False, sampling_params=Settings).refuses(parameters) is None


def test_all_settings_are_said() -> None:
    made = settings_of(Request(id="a", prompt=(1,), seed=5))
    assert Settings(**made) == Settings(temperature=1.0, max_tokens=32, seed=5, ignore_eos=True, detokenize=False)
