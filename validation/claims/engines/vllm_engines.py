"""Engines of vLLM in this process: made of what drafts, one at a time, and put right where that is asked for."""

from __future__ import annotations

import gc
import os
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

NGRAMS, OFF = "ngram", ""
PROCESS = {
    "HF_HUB_OFFLINE": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Environment variables: one thread, 1 GiB of cache, the engine in this process, nothing reported to anybody."""
SETTINGS: dict[str, Any] = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_logprobs": -1,
    "max_model_len": 128,
    "max_num_seqs": 128,
    "seed": 0,
}
"""Of every engine, offline and served."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """An engine: what drafts, how much, how, and whether its one function is put right."""

    drafter: str = OFF
    gamma: int | None = None
    is_sampled: bool = False
    is_repaired: bool = False

    @property
    def words(self) -> str:
        """For people."""
        if self.drafter == OFF:
            return "speculation off"
        how = "sampled" if self.is_sampled else "greedy"
        return "n-grams" if self.drafter == NGRAMS else f"{self.drafter} draft model, {how} drafts"


@cache
def models(seed: int) -> tuple[Any, Any]:
    """A folder with target and drafts, which stays as long as this process, and the target."""
    from validation.claims.engines.vllm_models import write_models

    kept = tempfile.TemporaryDirectory()
    return kept, write_models(Path(kept.name), seed=seed)


def folder(seed: int) -> Path:
    """Where they are: subfolders "target", "good" and "bad"."""
    return Path(models(seed)[0].name)


def speculation(setup: Setup, seed: int) -> dict[str, Any] | None:
    """The `speculative_config` of an engine; None where nothing drafts."""
    if setup.drafter == OFF:
        return None
    drafts = {"num_speculative_tokens": setup.gamma}
    if setup.drafter == NGRAMS:
        return {"method": "ngram", "prompt_lookup_max": 3, "prompt_lookup_min": 1, **drafts}
    kind = "probabilistic" if setup.is_sampled else "greedy"
    return {"method": "draft_model", "model": str(folder(seed) / setup.drafter), "draft_sample_method": kind, **drafts}


_RUNNING: dict[tuple[object, ...], Any] = {}


def offline(setup: Setup, seed: int) -> Any:
    """The engine, the last one or a new one in its place: each holds a gigabyte."""
    os.environ.update(PROCESS)
    from vllm import LLM
    from vllm.platforms import current_platform

    key = (setup.drafter, setup.gamma, setup.is_sampled, seed)
    if key not in _RUNNING:
        has_kernels = bool(_RUNNING)  # of the process; to put them in place again fails once llvmlite is imported
        _RUNNING.clear()
        gc.collect()
        name = "register_triton_kernel_overrides"
        with mock.patch.object(type(current_platform), name) if has_kernels else nullcontext():
            _RUNNING[key] = LLM(str(folder(seed) / "target"), speculative_config=speculation(setup, seed), **SETTINGS)
    return _RUNNING[key]


def repaired() -> Any:
    """A function in place of the one that the finding in `vllm_cpu` is about."""
    from vllm.v1.sample import rejection_sampler

    def expand_batch_to_tokens(
        x: Any, cu_num_tokens: Any, num_tokens: int, replace_from: int = 0, replace_to: int = 0
    ) -> Any:
        counts = cu_num_tokens.diff(prepend=cu_num_tokens.new_zeros(1))
        return x.masked_fill(x == replace_from, replace_to).repeat_interleave(counts, output_size=num_tokens)

    return mock.patch.object(rejection_sampler, "expand_batch_to_tokens", expand_batch_to_tokens)
