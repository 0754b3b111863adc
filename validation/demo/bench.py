"""The bench: one target, its drafters and the prompts; and interleaved runs on it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from specsim.distributions import Sampling
from specsim.records import RoundRecord
from validation.decoder.load import Loaded, load
from validation.decoder.loop import Decoding, decode
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS, ModelProposer, NgramProposer, Proposer
from validation.decoder.proposers.head import HeadProposer
from validation.demo.prompts import Prompt, prompts
from validation.demo.settings import DemoSettings
from validation.heads.files import load_head
from validation.heads.shipped import shipped_head

LOOKUP, HEAD, EARLY_EXIT, COPY = "ngram", "eagle", "early exit", "bfloat16 copy"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One way to decode: a drafter and a number of drafted tokens; plain decoding has neither."""

    proposer: str | None = None
    gamma: int = 0


PLAIN = Setting()


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """Everything that stays the same while settings change.

    Parameters
    ----------
    target : CachedModel
        The model whose text is wanted.
    proposers : Mapping[str, Proposer]
        Drafters by name.
    prompts : Mapping[Prompt, list[int]]
        Prompts and their token ids.
    sampling : Sampling
        Law of the text.
    tokens : int
        New tokens per text [1].
    slow : frozenset[str]
        Drafters whose texts are half as long, so that they do not take most of the time.
    eos_ids : frozenset[int]
        Ids that end a text.
    """

    target: CachedModel
    proposers: Mapping[str, Proposer]
    prompts: Mapping[Prompt, list[int]]
    sampling: Sampling
    tokens: int
    slow: frozenset[str]
    eos_ids: frozenset[int]

    def text_tokens(self, setting: Setting) -> int:
        """New tokens of a text under a setting [1]."""
        return self.tokens // 2 if setting.proposer in self.slow else self.tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One text: which prompt, which setting, what came out."""

    prompt: Prompt
    setting: Setting
    decoding: Decoding


def set_up(loaded: Loaded, settings: DemoSettings) -> Bench:
    """The bench of a model: lookup, a trained head or else an early exit, and an independent model as drafters."""
    proposers = (NgramProposer(), _from_features(loaded), _independent(loaded, settings))
    return Bench(
        target=CachedModel(loaded.model, pack=True),
        proposers={proposer.name: proposer for proposer in proposers},
        prompts={prompt: loaded.prompt_tokens(prompt.text) for prompt in prompts(settings.prompt_count)},
        sampling=Sampling(temperature=settings.temperature),
        tokens=settings.tokens,
        slow=frozenset({EARLY_EXIT}),
        eos_ids=loaded.eos_ids,
    )


def _from_features(loaded: Loaded) -> Proposer:
    """The head that comes with this package, where the target is the one that it was trained for."""
    own = shipped_head(loaded.model)
    if own is not None:
        return HeadProposer(load_head(own, loaded.model))
    return PROPOSERS["early_exit"](loaded)


def _independent(loaded: Loaded, settings: DemoSettings) -> ModelProposer:
    """The drafter asked for; else the target's own weights in bfloat16, with a cache of their own.

    That is the nearest thing to a second model of the same vocabulary that needs no second download.
    """
    if settings.drafter is None:
        return ModelProposer(CachedModel(copy.deepcopy(loaded.model).to(torch.bfloat16), pack=True), name=COPY)
    drafter = load(settings.drafter, dtype=settings.dtype, device=settings.device)
    return ModelProposer(CachedModel(drafter.model, pack=True), name=f"drafter {Path(drafter.name).name}")


def decode_interleaved(
    bench: Bench, settings: Sequence[Setting], *, seed: int, progress: Callable[[float], None] = lambda fraction: None
) -> list[Run]:
    """Every prompt under every setting; settings take turns within a prompt and change order between prompts.

    A slow moment of the machine then hits all settings alike, plain decoding among them.

    Parameters
    ----------
    bench
        Target, drafters, prompts.
    settings
        What to compare.
    seed
        The text of prompt i is drawn with seed + i under every setting.
    progress
        Called after each text with the fraction done.
    """
    return decode_groups(bench, [settings], seed=seed, progress=progress)[0]


def decode_groups(
    bench: Bench,
    groups: Sequence[Sequence[Setting]],
    *,
    seed: int,
    progress: Callable[[float], None] = lambda fraction: None,
) -> list[list[Run]]:
    """The runs of several groups of settings, which all take turns; a setting in two groups is run for each of them.

    Parameters as of `decode_interleaved`.
    """
    asked = [(place, setting) for place, settings in enumerate(groups) for setting in settings]
    found: list[list[Run]] = [[] for _ in groups]
    for position, (prompt, tokens) in enumerate(bench.prompts.items()):
        shift = position % len(asked)
        for place, setting in (*asked[shift:], *asked[:shift]):
            decoding = decode(
                bench.target,
                bench.proposers[setting.proposer] if setting.proposer else None,
                tokens,
                gamma=setting.gamma,
                max_tokens=bench.text_tokens(setting),
                sampling=bench.sampling,
                eos_ids=bench.eos_ids,
                seed=seed + position,
                request=prompt.name,
            )
            found[place].append(Run(prompt=prompt, setting=setting, decoding=decoding))
            progress(sum(map(len, found)) / (len(bench.prompts) * len(asked)))
    return found


def rows(runs: Sequence[Run], setting: Setting) -> list[RoundRecord]:
    """The rows of one setting."""
    return [record for run in runs if run.setting == setting for record in run.decoding.records]
