"""What the claims about a pair share: drafters calibrated at some gammas, what that foretells of others, their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from specsim.calibrate import Calibration, Prediction, calibrate, measured_round_seconds, measured_speedup, measured_tau
from specsim.cost import RoundCost
from specsim.distributions import Sampling
from specsim.records import RoundRecord
from specsim.roofline import Staircase
from validation.claims.drafting import is_head
from validation.claims.prediction import Row
from validation.claims.protocol import Settings
from validation.claims.workbench import PROMPTS
from validation.decoder.load import Loaded, load
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS
from validation.decoder.tiny import tiny_model
from validation.demo.bench import PLAIN, Bench, Run, Setting, decode_groups, rows
from validation.demo.prompts import Prompt, prompts
from validation.heads.shipped import shipped_head
from validation.memory import enough_memory
from validation.timing import pass_rows

CALIBRATED_GAMMAS = (1, 6)
HELD_OUT_GAMMAS = (2, 3, 4, 5)
GAMMAS = tuple(sorted({*CALIBRATED_GAMMAS, *HELD_OUT_GAMMAS}))

TOKENS = 28
"""New tokens a text at budget 1; at least two rounds of the largest gamma [token]."""
CONTEXT = 64
"""Cached tokens at which passes are timed: about the middle of the texts [token]."""
REPEATS = 7

LARGE = {
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 14_336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 32_768,
    "bos_token_id": None,
    "eos_token_id": None,
}
"""Shape of Mistral-7B (its config.json on the Hugging Face hub), for timings: time does not depend on the weights."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Study:
    """One pair, calibrated and then measured.

    Parameters
    ----------
    model
        On what.
    calibrations
        Of each drafter, at CALIBRATED_GAMMAS.
    calibrated, held_out
        The runs that predictions come from, and those that they are held against; plain decoding is run for both.

    Notes
    -----
    All runs take turns, prompt by prompt: a machine whose speed wanders then wanders for both alike. Nothing that was
    held out enters a prediction.
    """

    model: str
    calibrations: Mapping[str, Calibration]
    calibrated: Sequence[Run]
    held_out: Sequence[Run]

    def records(self, name: str, *, gammas: Sequence[int]) -> list[RoundRecord]:
        """Rounds of a drafter at some gammas, of either kind."""
        every = [*self.calibrated, *self.held_out]
        return [record for gamma in gammas for record in rows(every, Setting(proposer=name, gamma=gamma))]

    def plain_calibrated(self) -> list[RoundRecord]:
        """Steps of plain decoding that predictions come from."""
        return rows(self.calibrated, PLAIN)

    def compared(self, quantity: str, *, seed: int) -> list[Row]:
        """A row for each drafter and held-out gamma; quantities are those of `Prediction`."""
        plain = rows(self.held_out, PLAIN)
        return [
            self._row(quantity, name, gamma, plain=plain, seed=seed)
            for name in self.calibrations
            for gamma in HELD_OUT_GAMMAS
        ]

    def cost(self, row: Row) -> RoundCost:
        """The parts of a round of a row's drafter and gamma, as calibrated [s]."""
        return self.calibrations[row.setting["proposer"]].scenario(row.setting["gamma"]).cost

    def has_passes(self, row: Row) -> bool:
        """Whether the drafter of a row runs a model."""
        return any(record.draft_passes for record in self.records(row.setting["proposer"], gammas=CALIBRATED_GAMMAS))

    def _row(self, quantity: str, name: str, gamma: int, *, plain: Sequence[RoundRecord], seed: int) -> Row:
        foretold: Prediction = self.calibrations[name].predict(gamma)
        estimate = getattr(foretold, quantity)
        records = self.records(name, gammas=[gamma])
        return Row(
            setting={"proposer": name, "gamma": gamma},
            quantity=quantity,
            predicted=estimate.value,
            low=estimate.low,
            high=estimate.high,
            measured=_measured(quantity, records, plain, seed=seed),
            n=len(records),
        )


def study(settings: Settings, *, is_timed: bool) -> Study:
    """The pair that was asked for; measured once, however many claims ask.

    Parameters
    ----------
    settings
        Of the claim.
    is_timed
        Whether seconds matter to the claim; see `open_target`.
    """
    found = _study(_Asked.of(settings, is_timed=is_timed))
    settings.progress(1.0)
    return found


def planted(study_rows: Sequence[Row], wrong: Callable[[Row], float]) -> list[Row]:
    """The same rows with predictions made wrongly, their intervals as wide as before relative to them."""
    return [_moved(row, wrong(row)) for row in study_rows]


def open_target(settings: Settings, *, is_timed: bool) -> Loaded:
    """The target: in float32 on a processor, in the format that it computes fastest in on a GPU.

    Where seconds matter, nobody named a model and there is a GPU, it is a random one of 7B shape: the default model is
    so small that a GPU would spend its time on launches.
    """
    if settings.loaded is not None:
        return settings.loaded
    if is_timed and _is_unnamed(settings) and _on_gpu(settings):
        return random_target(LARGE, device="cuda")
    dtype = "auto" if _on_gpu(settings) else "float32"
    return load(settings.model, dtype=dtype, device=settings.device, cache_dir=settings.cache_dir)


def random_target(shape: Mapping[str, Any], *, device: str) -> Loaded:
    """A Llama with random weights in bfloat16, made in place; its texts are bytes."""
    with torch.device(device), enough_memory("random weights of 7B shape", lower="device to cpu, or name a target"):
        model: Any = AutoModelForCausalLM.from_config(LlamaConfig(**shape), dtype=torch.bfloat16)  # type: ignore[no-untyped-call]
    parameters = sum(weight.numel() for weight in model.parameters())
    name = f"random Llama of {parameters / 1e9:.2g}B parameters"
    return Loaded(model=model, tokenizer=tiny_model()[1], name=name, is_real=False)


def open_bench(loaded: Loaded, *, drafter: str | None, tokens: int) -> Bench:
    """Target, drafters and prompts: a lookup, the target's own layers, and the drafter asked for.

    That is an independent model or the file of a trained head. Where none was asked for it is a quantised copy of the
    target, on a GPU (where few bits save no time) the target with layers left out, and the head that comes with this
    package if it was trained for this target.
    """
    if drafter is not None and is_head(drafter):
        third: tuple[str, dict[str, Any]] = ("head", {"path": drafter})
    elif drafter is not None:
        third = ("independent", {"drafter": drafter})
    else:
        third = ("quantised" if loaded.model.device.type == "cpu" else "draft_verify", {})
    own = None if drafter is not None else shipped_head(loaded.model)
    fourth = [] if own is None else [("head", {"path": own})]
    asked = [("ngram", {}), ("early_exit", {}), third, *fourth]
    made = [PROPOSERS[name](loaded, **options) for name, options in asked]
    return Bench(
        target=CachedModel(loaded.model, pack=True),
        proposers={proposer.name: proposer for proposer in made},
        prompts={prompt: loaded.prompt_tokens(prompt.text) for prompt in _prompts()},
        sampling=Sampling(temperature=0.0),
        tokens=tokens,
        slow=frozenset(),
        eos_ids=loaded.eos_ids,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """The settings that a study depends on, to remember it by; who is told of its progress makes no difference."""

    settings: Settings
    is_timed: bool
    progress: Callable[[float], None] = field(compare=False)

    @classmethod
    def of(cls, settings: Settings, *, is_timed: bool) -> _Asked:
        decides = is_timed and settings.loaded is None and _is_unnamed(settings) and _on_gpu(settings)
        own = Settings(
            seed=settings.seed,
            budget=settings.budget,
            model=settings.model,
            drafter=settings.drafter,
            device=settings.device,
            cache_dir=settings.cache_dir,
            loaded=settings.loaded,
        )
        return cls(settings=own, is_timed=decides, progress=settings.progress)


@lru_cache(maxsize=2)
def _study(asked: _Asked) -> Study:
    settings = asked.settings
    loaded = open_target(settings, is_timed=asked.is_timed)
    tokens = settings.scaled(TOKENS, least=2 * (max(GAMMAS) + 1))
    bench = open_bench(loaded, drafter=settings.drafter, tokens=tokens)
    stairs = _stairs(bench, settings)
    groups = [_turns(bench, gammas) for gammas in (CALIBRATED_GAMMAS, HELD_OUT_GAMMAS)]
    calibrated, held_out = decode_groups(bench, groups, seed=settings.seed, progress=asked.progress)
    plain = rows(calibrated, PLAIN)
    calibrations = {
        name: calibrate([*plain, *_of(calibrated, name)], staircase=stairs, seed=settings.seed)
        for name in bench.proposers
    }
    return Study(model=loaded.name, calibrations=calibrations, calibrated=calibrated, held_out=held_out)


def _stairs(bench: Bench, settings: Settings) -> Staircase:
    """Passes over every number of tokens that a round may score, taken in turns."""
    counts = range(1, max(GAMMAS) + 2)
    context = min(CONTEXT, bench.target.context_limit - max(counts))
    repeats = settings.scaled(REPEATS, least=3)
    timings = pass_rows(bench.target, tokens=counts, context=context, repeats=repeats, seed=settings.seed)
    seconds = tuple(float(row["seconds"]) for row in timings)
    return Staircase(tokens=tuple(counts), seconds=seconds, source=f"timed at {context} cached tokens")


def _turns(bench: Bench, gammas: Sequence[int]) -> list[Setting]:
    """Every drafter at every gamma, and plain decoding once a gamma: all speedups share its time."""
    return [
        setting
        for gamma in gammas
        for setting in (PLAIN, *(Setting(proposer=name, gamma=gamma) for name in bench.proposers))
    ]


def _of(runs: Sequence[Run], name: str) -> list[RoundRecord]:
    return [record for run in runs if run.setting.proposer == name for record in run.decoding.records]


def _prompts() -> tuple[Prompt, ...]:
    """Those of the demo and those of the claims: a dozen requests, which intervals are drawn from."""
    own = (Prompt(name=f"claims {place}", kind="claims", text=text) for place, text in enumerate(PROMPTS))
    return (*prompts(), *own)


def _measured(quantity: str, records: list[RoundRecord], plain: Sequence[RoundRecord], *, seed: int) -> float:
    if quantity == "speedup":
        return measured_speedup(records, plain, seed=seed).value
    return {"tau": measured_tau, "round_seconds": measured_round_seconds}[quantity](records, seed=seed).value


def _moved(row: Row, wrong: float) -> Row:
    scale = wrong / row.predicted
    return replace(row, predicted=wrong, low=row.low * scale, high=row.high * scale)


def _is_unnamed(settings: Settings) -> bool:
    return settings.model is None and settings.drafter is None


def _on_gpu(settings: Settings) -> bool:
    return settings.device != "cpu" and torch.cuda.is_available()
