"""mini-infer: its speculative step over table models, and its serving engine over a small model of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from specsim.conformance import Decoder, Parameters, TableModels
from specsim.conformance.sources import from_callable
from specsim.conformance.verdict import CONFORMS, FAILS
from validation.claims.engines.protocol import Case, Environment
from validation.claims.engines.pypi.adapters import in_rounds, seeded
from validation.claims.engines.pypi.grid import Generate, Mode, grid
from validation.claims.engines.pypi.own_models import OwnModel, OwnRun, prompts_with_shared_beginnings

NAME = "mini-infer"
ENVIRONMENT = Environment(requirements=(f"{NAME}==0.2.5", "torch==2.13.0"), packages=(NAME, "torch", "transformers"))
VOCABULARY = 16
BLOCK = 16
"""Tokens of a block of the engine's cache, by default."""

FORGOTTEN = (
    "A prompt whose first 16 tokens or more are in the prefix cache, which is on by default, is decoded as if it "
    "began after them. InferenceEngine.step in engine.py forwards what is left of the prompt with "
    "past_key_values=None, so that neither the cached blocks nor their positions reach the model, and then writes "
    "the new keys and values over the shared blocks from their first slot on (start_token_idx=0). Small random "
    "Qwen2, vocabulary 4: exact law after the prompt (0.826, 0.005, 0.030, 0.139), after its last two tokens "
    "alone (0.851, 0.036, 0.112, 0.001), measured with prefix cache (0.864, 0.033, 0.100, 0.003) and without "
    "(0.823, 0.004, 0.030, 0.143), n = 2,000. To see it: findings/prefix_cache.py."
)


def cases() -> tuple[Case, ...]:
    """See `protocol.Engine`."""
    step = Mode(name="speculative_step", rule="rejection", make=_step, claims="rejection")
    return (
        *grid([step]),
        _serving("engine", temperature=1.0, caching=False),
        _serving("engine", temperature=0.0, caching=False),
        _serving("engine, chunked prefill", temperature=1.0, caching=False, chunked_prefill_size=5),
        _serving("engine, prefix cache", temperature=1.0, caching=True, finding=FORGOTTEN),
        _serving("engine, prefix cache", temperature=0.0, caching=True, finding=FORGOTTEN),
    )


def _step(models: TableModels, gamma: int) -> Generate:
    from mini_infer.speculative import speculative_step

    from validation.conformance.table_model import table_model

    sides = [table_model(models, side) for side in ("target", "draft")]
    target, draft = [lambda ids, model=model: model(ids, return_dict=False) for model in sides]

    def step(ids: torch.Tensor, temperature: float) -> Sequence[int]:
        made, _ = speculative_step(target, draft, ids, k_draft=gamma, temperature=temperature)
        return made

    return in_rounds(step, gamma=gamma)


def _serving(name: str, *, temperature: float, caching: bool, finding: str = "", **options: Any) -> Case:
    def make() -> tuple[Decoder, Any]:
        from mini_infer.engine import InferenceEngine

        model = _model()
        engine = InferenceEngine(
            model, model.config, enable_prefix_caching=caching, device=torch.device("cpu"), **options
        )

        def generate(
            prompts: Sequence[list[int]], parameters: Sequence[Parameters], seeds: Sequence[int]
        ) -> list[list[int]]:
            seeded(seeds[0])
            sequences = [
                engine.add_request(prompt, max_tokens=asked.max_tokens, temperature=asked.temperature)
                for prompt, asked in zip(prompts, parameters, strict=True)
            ]
            while engine.scheduler.has_unfinished_sequences():
                engine.step()
            return [sequence.output_token_ids for sequence in sequences]

        return from_callable(generate, is_batch=True), OwnModel(lambda ids: model(ids)[0])

    return Case(
        name=f"{name}, temperature {temperature:g}",
        drafter="none",
        rule="plain decoding with paged cache and continuous batching",
        temperature=temperature,
        gamma=None,
        model=f"random Qwen2 of the package, 2 layers, vocabulary {VOCABULARY}",
        tokens=4000,
        run=OwnRun(
            make=make,
            vocabulary=VOCABULARY,
            temperature=temperature,
            is_seeded=False,
            prompts=prompts_with_shared_beginnings(VOCABULARY, shared=BLOCK),
        ),
        expect=FAILS if finding else CONFORMS,
        note="half of the prompts share their first block of the cache",
        finding=finding,
    )


def _model() -> Any:
    from mini_infer.models import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(1)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        rope_theta=100.0,
        max_position_embeddings=128,
        tie_word_embeddings=False,
    )
    model = Qwen2ForCausalLM(config).eval().requires_grad_(False)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight *= 3  # as they come, laws are all but flat
    return model
