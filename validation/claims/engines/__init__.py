"""Decoders that others wrote, each run in an environment of its own and held to exact laws or to its own target's.

To add one: write its module with `ENVIRONMENT` and `cases()` as of `protocol.Engine`, add its line to `ENGINES`, run
`specsim validate engines NAME`, and commit `validation/results/engines/NAME.json`. A case that fails is first checked
by hand against exact probabilities; then it is expected to fail, and says so as its `finding`.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from specsim import checks
from validation.claims.engines.protocol import Case, Engine, Environment

ENGINES: dict[str, str] = {
    "hf_assisted": "validation.claims.engines.hf_assisted",
    "llama_cpp": "validation.claims.engines.llama_cpp",
    "vllm_cpu": "validation.claims.engines.vllm_cpu",
    "economize": "validation.claims.engines.pypi.economize",
    "flashspec": "validation.claims.engines.pypi.flashspec",
    "mini_infer": "validation.claims.engines.pypi.mini_infer",
    "naive_speculate": "validation.claims.engines.pypi.naive_speculate",
    "sequential_speculative_decoding": "validation.claims.engines.pypi.sequential_speculative_decoding",
    "specdec": "validation.claims.engines.pypi.specdec",
    "speculative_decoding": "validation.claims.engines.pypi.speculative_decoding",
}
"""Module of each engine."""


def engine(name: str) -> Engine:
    """The module of an engine; an unknown name lists the known ones."""
    return cast(Engine, import_module(ENGINES[checks.one_of("engine", name, ENGINES)]))


__all__ = ["ENGINES", "Case", "Engine", "Environment", "engine"]
