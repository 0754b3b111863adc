"""economize: its drafters over a small random Llama, with sampling, greedy and lossy rules, in batches and alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from specsim.conformance import Decoder, Parameters, Verdict, check, plan
from specsim.conformance.sources import fitting, from_callable
from specsim.conformance.verdict import CONFORMS, FAILS
from validation.claims.engines.protocol import CRASHES, Case, Environment
from validation.claims.engines.pypi.own_models import ROUNDING, OwnRun

ENVIRONMENT = Environment(
    requirements=("economize==0.3.2", "torch==2.13.0"), packages=("economize", "torch", "transformers")
)
VOCABULARY, LAYERS = 16, 4
ROWS = 64
"""Texts decoded at once."""
SEEDS = 2**31
MODEL = f"random Llama, {LAYERS} layers, vocabulary {VOCABULARY}"
TREE = ((0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0))

GENERATE = (
    "check_model_kwargs in integrations/_generation_args.py knows the empty cache that generate of transformers "
    "hands on as past_key_values; transformers 5.24 calls it cache. So every model.generate(ids) of economize "
    "0.3.2, which allows transformers 5.0 and later, raises ConfigError (cannot forward the model inputs "
    "['cache']) unless use_cache=False is given; decode and decode_batch are not touched. To see it: "
    "findings/economize_generate.py."
)

Technique = Callable[[], Any]


def cases() -> tuple[Case, ...]:
    """See `protocol.Engine`."""
    good, bad = _draft_model(sign=1), _draft_model(sign=-1)
    return (
        *_sampled("draft_model, good draft", good, temperatures=(1.0, 0.6, 0.0)),
        *_sampled("draft_model, bad draft", bad, temperatures=(1.0, 1.5, 0.0)),
        *_sampled("lookup", _lookup, temperatures=(1.0, 0.0)),
        *_sampled("early_exit", _early_exit, temperatures=(1.0, 0.0)),
        *_sampled("layer_skip", _layer_skip, temperatures=(1.0,)),
        *_sampled("jump", _jump, temperatures=(1.0,)),
        *_sampled("medusa, chain", _medusa(tree=None), temperatures=(1.0,)),
        *_sampled("medusa, tree", _medusa(tree=TREE), temperatures=(1.0, 0.0)),
        _alone("draft_model through generate, all parameters", good, use_cache=False),
        _alone("draft_model through generate", good, expect=CRASHES, finding=GENERATE),
        _case("draft_model, good draft", good, rule="typical", temperature=1.0, expect=FAILS),
        _case("early_exit", _early_exit, rule="accept_all", temperature=1.0, expect=FAILS),
    )


def _sampled(name: str, technique: Technique, *, temperatures: Sequence[float]) -> list[Case]:
    rules = {temperature: "rejection" if temperature > 0 else "greedy" for temperature in temperatures}
    return [_case(name, technique, rule=rule, temperature=temperature) for temperature, rule in rules.items()]


def _case(
    name: str, technique: Technique, *, rule: str, temperature: float, gamma: int = 3, expect: str = CONFORMS
) -> Case:
    def make() -> tuple[Decoder, Any]:
        import economize

        model = economize.apply(_target(), technique())
        decoding = economize.DecodeConfig(cycle_length=gamma + 1, verifier=rule)
        return from_callable(_in_batches(model, decoding), is_batch=True), _target()

    return Case(
        name=f"{name}, {rule}, temperature {temperature:g}, gamma {gamma}",
        drafter=name,
        rule=rule,
        temperature=temperature,
        gamma=gamma,
        model=MODEL,
        tokens=8000,
        run=OwnRun(make=make, vocabulary=VOCABULARY, temperature=temperature, is_seeded=False),
        expect=expect,
        note=f"{ROWS} texts of different lengths at once" + ("; lossy on purpose" if expect == FAILS else ""),
    )


def _in_batches(model: Any, decoding: Any) -> Callable[..., list[list[int]]]:
    def generate(
        prompts: Sequence[list[int]], parameters: Sequence[Parameters], seeds: Sequence[int]
    ) -> list[list[int]]:
        from economize import GreedySelector, TopPSampler

        (temperature,) = {asked.temperature for asked in parameters}
        texts: list[list[int]] = []
        for start in range(0, len(prompts), ROWS):
            some = slice(start, start + ROWS)
            seed = seeds[start] % SEEDS
            made = model.decode_batch(
                [torch.tensor(prompt) for prompt in prompts[some]],
                [asked.max_tokens for asked in parameters[some]],
                decoding=decoding,
                selector=TopPSampler(temperature=temperature, seed=seed) if temperature else GreedySelector(),
            )
            texts += [one.tokens.view(-1).tolist() for one in made]
        return texts

    return generate


def _alone(name: str, technique: Technique, *, expect: str = CONFORMS, finding: str = "", **options: Any) -> Case:
    def run(tokens: int, seed: int) -> Verdict:
        import economize

        from validation.conformance.hf import TeacherForcing, TransformersDecoder

        model = economize.apply(_target(), technique())
        decoding = economize.DecodeConfig(cycle_length=4, verifier="rejection")
        decoder = TransformersDecoder(_Generating(model), options={"decoding": decoding, **options})
        whole = plan(vocabulary=VOCABULARY, tokens=tokens, eos_id=VOCABULARY - 1, seed=seed, tolerance=ROUNDING)
        asked, _ = fitting(whole, decoder)
        return check(decoder, TeacherForcing(_target()), asked)

    return Case(
        name=name,
        drafter="draft_model, good draft",
        rule="rejection",
        temperature=None,
        gamma=3,
        model=MODEL,
        tokens=2000,
        run=run,
        expect=expect,
        note="one text at a time; without presence and frequency penalties and stop sequences, which generate lacks"
        + ("; use_cache=False, without which it crashes" if options else ""),
        finding=finding,
    )


class _Generating:
    """The model with the attributes that `TransformersDecoder` asks for."""

    def __init__(self, model: Any) -> None:
        self.generate, self.device, self.config = model.generate, torch.device("cpu"), _target().config


def _target(*, noise: float = 0.0, sign: int = 1) -> Any:
    """A random Llama whose laws hang on the whole text, neither flat nor sharp; or a draft near it or against it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(1)
    for name, weight in model.named_parameters():
        if weight.ndim == 2:
            weight.normal_(0, 1.0 if "embed" in name else 0.4, generator=generator)
    if noise:
        model.lm_head.weight += noise * torch.randn(model.lm_head.weight.shape, generator=generator)
    model.lm_head.weight *= sign
    return model


def _draft_model(*, sign: int) -> Technique:
    def technique() -> Any:
        from economize.techniques.draft_model import DraftModelConfig

        folder = Path(tempfile.mkdtemp(prefix="specsim-draft-"))
        _target(noise=0.15, sign=sign).save_pretrained(folder)
        return DraftModelConfig(model=str(folder))

    return technique


def _lookup() -> Any:
    from economize.techniques.lookup import LookupConfig

    return LookupConfig(max_ngram=2)


def _early_exit() -> Any:
    from economize.techniques.early_exit import EarlyExitConfig

    return EarlyExitConfig(exit_layer=2, head="shared")


def _layer_skip() -> Any:
    from economize.techniques.layer_skip import LayerSkipConfig

    return LayerSkipConfig(skip_layers=(2,))


def _jump() -> Any:
    from economize import JumpConfig

    return JumpConfig(target_layer=2, source_layer=3)


def _medusa(*, tree: Any) -> Technique:
    def technique() -> Any:
        from economize.techniques.medusa import MedusaConfig

        return MedusaConfig(num_heads=3, tree=tree)

    return technique
