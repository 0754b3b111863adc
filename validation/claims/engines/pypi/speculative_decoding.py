"""speculative-decoding: Leviathan's rule over networks with the package's interface, one text or a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from specsim.conformance import Decoder, Parameters, TableModels
from specsim.conformance.sources import from_callable
from specsim.conformance.verdict import CONFORMS, FAILS
from validation.claims.engines.protocol import Case, Environment
from validation.claims.engines.pypi.adapters import alike, seeded
from validation.claims.engines.pypi.grid import Generate, Make, Mode, grid
from validation.claims.engines.pypi.own_models import OwnModel, OwnRun

NAME = "speculative-decoding"
ENVIRONMENT = Environment(requirements=(f"{NAME}==0.2.0", "torch==2.13.0"), packages=(NAME, "torch", "transformers"))
VOCABULARY = 16
TOP_K = 4
SCALES = {"to_qkv": 3, "to_out": 6, "to_logits.1": 3}
"""Of random weights: as they come, laws are all but flat and hardly hang on what stood before the last token."""
STALE = (
    "In a batch the package's own networks see what stands before the beginning of a text. speculative_decoding "
    "aligns texts on the right and passes seq_start_pos; Decoder.forward, in speculative_decoding.py as in "
    "speculative_decoding_with_prophet.py, makes self_attn_kv_mask of it and does not hand it to the attention of "
    "its layers, so that texts which accepted fewer drafts than the longest attend to stale tokens. Vocabulary 3: "
    "exact law of a next token (0.278, 0.350, 0.373); with two tokens on the left that seq_start_pos masks "
    "(0.244, 0.457, 0.299). Fourth token of a text: exact (0.358, 0.366, 0.275), measured in batches of 256 "
    "(0.393, 0.330, 0.277), n = 5,120; total variation of texts of 4 tokens 0.091, 0.049 of it by chance. One "
    "text at a time conforms, and so do batches over networks that heed seq_start_pos. To see it: "
    "findings/batches_of_decoder.py."
)

Decode = Callable[[torch.Tensor, int, float], torch.Tensor]
"""Prompts (B, L), length of prompt and text, temperature to new tokens (B, T)."""


def cases() -> tuple[Case, ...]:
    """See `protocol.Engine`."""
    modes = [
        Mode(name="speculative_decoding", rule="rejection", make=_one(), tokens=2000),
        Mode(
            name="speculative_decoding, top-k",
            tokens=2000,
            rule="rejection",
            make=_one(filter_thres=1 - TOP_K / 8),
            settings=(("good", 1.0, 4), ("bad", 0.7, 2)),
            parameters=Parameters(top_k=TOP_K),
        ),
        Mode(
            name="speculative_decoding, batches",
            tokens=2000,
            rule="rejection",
            make=_batch,
            settings=(("good", 1.0, 4), ("bad", 1.0, 2)),
            is_batch=True,
        ),
        Mode(
            name="speculative_decoding, lenience 0.5",
            tokens=2000,
            rule="rejection with q halved",
            make=_one(lenience=0.5),
            settings=(("good", 1.0, 4), ("bad", 1.0, 4)),
            expect=FAILS,
            note="lossy on purpose",
        ),
    ]
    return (
        *grid(modes),
        _own("speculative_decoding, its Decoder", _speculative, is_batch=False),
        _own("speculative_decoding, its Decoder, batches", _speculative, is_batch=True, finding=STALE),
        _own("prophet, its Decoder", _prophet, is_batch=False),
        _own("prophet, its Decoder, batches", _prophet, is_batch=True, finding=STALE),
    )


def _one(**options: Any) -> Make:
    def make(models: TableModels, gamma: int) -> Generate:
        return _alone(_over_tables(models, gamma=gamma, **{"filter_thres": 0.0, **options}))

    return make


def _batch(models: TableModels, gamma: int) -> Generate:
    return _together(_over_tables(models, gamma=gamma, filter_thres=0.0))


def _over_tables(models: TableModels, **options: Any) -> Decode:
    from speculative_decoding import speculative_decoding

    from validation.conformance.table_model import table_model

    target, draft = (_Network(table_model(models, side)) for side in ("target", "draft"))

    def decode(prompts: torch.Tensor, length: int, temperature: float) -> torch.Tensor:
        return speculative_decoding(target, draft, prompts, length, temperature=temperature, **options)[0]

    return decode


class _Network:
    """A table model with the calls of the package's own networks; its cache holds token ids, and is what it sees."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(
        self, ids: torch.Tensor, *, seq_start_pos: torch.Tensor | None = None, cache: Any = None, **_: Any
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, None]]:
        count = ids.shape[1] if cache is None else ids.shape[1] - cache[0].shape[-2]
        tokens = ids if cache is None else torch.cat((cache[0][:, 0, :, 0], ids[:, -count:]), dim=1)
        start = torch.zeros(len(ids), dtype=torch.long) if seq_start_pos is None else seq_start_pos
        mask = torch.arange(tokens.shape[1]) >= start[:, None]
        logits = self.model(tokens, attention_mask=mask).logits[:, -count:]
        return logits, (tokens[:, None, :, None], None)


def _alone(decode: Decode) -> Generate:
    def generate(prompt: list[int], parameters: Parameters, seed: int) -> list[int]:
        seeded(seed)
        made = decode(torch.tensor([prompt]), len(prompt) + parameters.max_tokens, parameters.temperature)
        return made[0].tolist()[: parameters.max_tokens]

    return generate


def _together(decode: Decode) -> Generate:
    def generate(prompts: Sequence[list[int]], asked: Parameters, seed: int) -> list[list[int]]:
        seeded(seed)
        made = decode(torch.tensor(prompts), len(prompts[0]) + asked.max_tokens, asked.temperature)
        return [text[: asked.max_tokens] for text in made.tolist()]

    return alike(generate)


def _own(name: str, networks: Callable[[], tuple[Any, Decode]], *, is_batch: bool, finding: str = "") -> Case:
    def make() -> tuple[Decoder, Any]:
        target, decode = networks()
        function = _together(decode) if is_batch else _alone(decode)
        return from_callable(function, is_batch=is_batch), OwnModel(lambda ids: target(ids).detach())

    return Case(
        name=f"{name}, temperature 1, gamma 4",
        drafter="another random network",
        rule="rejection",
        temperature=1.0,
        gamma=4,
        model=f"random network of the package, 2 layers, vocabulary {VOCABULARY}",
        tokens=8000 if is_batch else 2000,
        run=OwnRun(make=make, vocabulary=VOCABULARY, temperature=1.0, is_seeded=not is_batch),
        expect=FAILS if finding else CONFORMS,
        finding=finding,
    )


def _speculative() -> tuple[Any, Decode]:
    from speculative_decoding import speculative_decoding

    target, draft = _decoder(seed=1), _decoder(seed=2)

    def decode(prompts: torch.Tensor, length: int, temperature: float) -> torch.Tensor:
        options = {"gamma": 4, "temperature": temperature, "filter_thres": 0.0}
        return speculative_decoding(target, draft, prompts, length, **options)[0]

    return target, decode


def _prophet() -> tuple[Any, Decode]:
    from speculative_decoding import speculative_decoding_with_prophet as prophets

    target, prophet = (_decoder(seed=seed, package=prophets) for seed in (1, 2))
    wrapped = prophets.ModelWithProphetWrapper(model=target, prophet=prophet)

    def decode(prompts: torch.Tensor, length: int, temperature: float) -> torch.Tensor:
        return prophets.speculative_decoding_with_prophet_model(
            wrapped, prompts, length, gamma=4, temperature=temperature, filter_thres=0.0
        )[0]

    return target, decode


def _decoder(*, seed: int, package: Any = None) -> Any:
    import speculative_decoding

    torch.manual_seed(seed)
    network = (package or speculative_decoding).Decoder(num_tokens=VOCABULARY, dim=32, depth=2, heads=2, dim_head=16)
    for name, weight in network.requires_grad_(False).eval().named_parameters():
        weight *= next((factor for part, factor in SCALES.items() if part in name), 1)
    return network
