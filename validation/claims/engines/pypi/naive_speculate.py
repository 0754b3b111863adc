"""naive-speculate: its decoder with its drafter, scorer and both ways to verify, over table models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from specsim.conformance import Output, Parameters, TableModels
from specsim.conformance.verdict import FAILS
from validation.claims.engines.protocol import CRASHES, Case, Environment
from validation.claims.engines.pypi.adapters import output, seeded
from validation.claims.engines.pypi.grid import Generate, Make, Mode, grid
from validation.claims.engines.pypi.lazy_annotations import annotations_of

NAME = "naive-speculate"
ENVIRONMENT = Environment(
    requirements=("torch==2.13.0", "pydantic>=2.12.5", "accelerate>=1.12"),
    bare=(f"{NAME}==0.1.0",),
    packages=(NAME, "torch", "transformers"),
    pip_options=("--ignore-requires-python",),
)
SAMPLED = (("good", 1.0, 4), ("bad", 1.0, 4), ("good", 1.0, 1))
EOS = 7
GREEDY_DRAFTS = (
    "SampleStrategy.GREEDY drafts under VerifyStrategy.SPECULATIVE_SAMPLING, which SpeculativeDecoder.decode "
    "calls legal, and slow because a one-hot proposal is always rejected: decode in speculate/decoder.py takes "
    "the softmax of the draft's logits as the proposal, so the likeliest draft x is accepted with p(x) / q(x) and "
    "replaced from (p - q)+ as if it had been drawn from q. For p = (0.5, 0.3, 0.2) and q = (0.6, 0.3, 0.1) that "
    "gives (0.833, 0, 0.167); measured (0.840, 0, 0.160), n = 20,000. Sampled drafts conform. To see it: "
    "findings/greedy_drafts.py."
)
CROP = (
    "DynamicCache.crop in infer/kvcache/dynamic.py hands transformers the length to keep, a positive number, "
    "which transformers 5 refuses: ValueError (Calling `crop` with a positive value is not supported) at the "
    "first rejection, or after the first draft that stands whole. naive-speculate 0.1.0 asks for transformers "
    "4.57.1 or later without a bound. To see it: findings/crop.py."
)


def cases() -> tuple[Case, ...]:
    """See `protocol.Engine`."""
    modes = [
        Mode(
            name="speculative_sampling",
            rule="rejection",
            make=_make("random", "speculative_sampling"),
            settings=SAMPLED,
            claims="rejection",
            note="has no temperature; over a cache of ours, as its own breaks",
        ),
        Mode(
            name="speculative_sampling, end of text",
            tokens=2000,
            rule="rejection",
            make=_make("random", "speculative_sampling"),
            settings=SAMPLED[:1],
            parameters=Parameters(eos_ids=(EOS,), max_tokens=16),
        ),
        Mode(
            name="speculative_sampling, greedy drafts",
            tokens=2000,
            rule="rejection",
            make=_make("greedy", "speculative_sampling"),
            settings=SAMPLED[:2],
            expect=FAILS,
            finding=GREEDY_DRAFTS,
        ),
        Mode(
            name="greedy_match",
            tokens=2000,
            rule="greedy",
            make=_make("greedy", "greedy_match"),
            settings=(("good", 0.0, 4), ("bad", 0.0, 2)),
            is_seeded=False,
        ),
        Mode(
            name="greedy_match, sampled drafts",
            tokens=2000,
            rule="greedy",
            make=_make("random", "greedy_match"),
            settings=(("good", 0.0, 4),),
            is_seeded=False,
        ),
        Mode(
            name="its own cache",
            tokens=2000,
            rule="rejection",
            make=_make("random", "speculative_sampling", is_own_cache=True),
            settings=SAMPLED[:1],
            expect=CRASHES,
            finding=CROP,
        ),
    ]
    return grid(modes)


def _make(drafts: str, verify: str, *, is_own_cache: bool = False) -> Make:
    def make(models: TableModels, gamma: int) -> Generate:
        with annotations_of("naive_speculate"):
            from naive_speculate.config.strategy import SampleStrategy, VerifyStrategy
            from naive_speculate.infer.inferencer.basic import BasicInferencer
            from naive_speculate.infer.kvcache.dynamic_no_update import DynamicNoUpdateCache
            from naive_speculate.speculate import SpeculativeDecoder
            from naive_speculate.speculate.drafter import Drafter
            from naive_speculate.speculate.scorer import Scorer

        networks = [_Network(models, side) for side in ("draft", "target")]
        drafter, scorer = Drafter(BasicInferencer(networks[0])), Scorer(networks[1])
        cache: Callable[[], Any] = DynamicNoUpdateCache if is_own_cache else _Cache
        strategies = SampleStrategy(drafts), VerifyStrategy(verify)

        def generate(prompt: list[int], parameters: Parameters, seed: int) -> Output:
            seeded(seed)
            for network in networks:
                network.eos_token_id = parameters.eos_ids[0] if parameters.eos_ids else -1
            decoder = SpeculativeDecoder(drafter, scorer, cache(), cache())
            text: list[int] = []
            blocks: list[int] = []
            query = prompt
            while parameters.end(text) is None:
                made = decoder.decode(torch.tensor([query]), gamma, *strategies)
                text += made.token_ids[0].tolist()
                blocks.append(made.token_ids.shape[1])
                is_whole = made.num_accepted_tokens == gamma
                query = text[-2:] if is_whole else text[-1:]  # as its own main program does
            return output(text, parameters, blocks=blocks, gamma=gamma)

        return generate

    return make


class _Network:
    """A table model as the package's `LanguageModel`."""

    def __init__(self, models: TableModels, side: str) -> None:
        from validation.conformance.table_model import table_model

        self.model, self.eos_token_id = table_model(models, side), -1

    def forward(self, query_token_ids: torch.Tensor, kv_cache: Any) -> torch.Tensor:
        """Logits after each of the ids, which join the cache."""
        return self.model(query_token_ids, cache=kv_cache.cache, use_cache=True).logits


class _Cache:
    """The package's `KVCache` over a transformers one, cropped as transformers 5 asks for."""

    def __init__(self) -> None:
        from transformers import DynamicCache

        self.cache = DynamicCache()

    def crop(self, num_tokens_crop: int) -> None:
        """Forget the last tokens."""
        if num_tokens_crop > 0:
            self.cache.crop(-num_tokens_crop)
