"""transformers: assisted generation, prompt lookup and early exit, and its assisted generation with an ensemble weight.

All but early exit run on table models, whose laws are exact; early exit needs layers, so it runs on a tiny random Llama
against teacher forcing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from specsim.conformance import Plan, TableModels, TableOracle, Verdict, check, plan
from specsim.conformance.sources import fitting
from specsim.conformance.verdict import FAILS
from validation.claims.engines.checking import check_at
from validation.claims.engines.protocol import Case, Environment

ENVIRONMENT = Environment(
    requirements=("torch==2.13.0", "transformers==5.24.0"), packages=("transformers", "torch", "numpy")
)
VOCABULARY = 8
ROUNDING = 1e-6
"""Total variation of float32 laws, in which transformers draws."""
NEAR = 1e-4
"""Logits of the tiny Llama that differ by less may change places by rounding."""
TABLE, LLAMA = "table model, V 8", "tiny random Llama, 2 layers, V 257"
SPECULATIVE, MATCH = "speculative sampling", "same token as the target's argmax"
TEMPERATURES = (1.0, 0.7, 0.0)


def cases() -> tuple[Case, ...]:
    """See `Engine.cases`."""
    return (*_assisted(), *_lookups(), *_early_exits())


def _assisted() -> Iterator[Case]:
    for draft, gamma in (("good", 4), ("bad", 2)):
        for temperature in TEMPERATURES:
            yield _case(f"{draft} assistant", temperature, gamma, draft=draft)
    for gamma in (1, 8):
        yield _case("good assistant", 1.0, gamma, draft="good")
    yield _case("good assistant, float32 tables", 1.0, 4, draft="good", dtype="float32")
    unsure = {"assistant_confidence_threshold": 0.4}
    yield _case(
        "unsure assistant", 1.0, 20, draft="good", settings=unsure, note="stops drafting below 0.4, as by default"
    )
    left_out = "every kind of sampling parameters but what generate lacks: presence and frequency penalties, stop ids"
    yield _case("good assistant, all parameters", None, 4, draft="good", note=left_out)
    yield _case(
        "assistant with ensemble weight 0.5",
        1.0,
        4,
        draft="good",
        settings={"options": {"assistant_ensemble_weight": 0.5}},
        rule="0.5 p + 0.5 q in place of p, lossy on purpose",
        expect=FAILS,
        note="negative control",
    )


def _lookups() -> Iterator[Case]:
    for temperature in TEMPERATURES:
        options = {"options": {"prompt_lookup_num_tokens": 3}}
        yield _case("prompt lookup", temperature, 3, drafter="n-grams of the text", settings=options)


def _early_exits() -> Iterator[Case]:
    for temperature in TEMPERATURES:
        yield Case(
            name=_name("early exit", temperature, 4),
            drafter="first of 2 layers",
            rule=_rule(temperature),
            temperature=temperature,
            gamma=4,
            model=LLAMA,
            tokens=4_000,
            run=partial(_early_exit, temperature, 4),
        )


def _case(
    title: str,
    temperature: float | None,
    gamma: int,
    *,
    draft: str | None = None,
    drafter: str | None = None,
    dtype: str = "float64",
    settings: Mapping[str, Any] | None = None,
    rule: str | None = None,
    **rest: Any,
) -> Case:
    return Case(
        name=_name(title, temperature, gamma),
        drafter=drafter or f"{draft} table model",
        rule=rule or _rule(temperature),
        temperature=temperature,
        gamma=gamma,
        model=f"{TABLE}, {dtype}",
        tokens=4_000 if temperature == 0 else 16_000,
        run=partial(_table, temperature, gamma, draft, dtype, dict(settings or {})),
        **rest,
    )


def _table(
    temperature: float | None,
    gamma: int,
    draft: str | None,
    dtype: str,
    settings: dict[str, Any],
    tokens: int,
    seed: int,
) -> Verdict:
    """Table models, with a draft table as assistant where one is named."""
    import torch

    from validation.conformance.hf import TransformersDecoder
    from validation.conformance.table_model import table_model

    models = TableModels.random(vocabulary=VOCABULARY, seed=seed, draft=draft or "good")
    sides = {side: table_model(models, side, dtype=getattr(torch, dtype)) for side in ("target", "draft")}
    assistant = {"assistant": sides["draft"], "num_assistant_tokens": gamma} if draft else {}
    decoder = TransformersDecoder(sides["target"], **assistant, **settings)
    oracle = TableOracle(models, with_draft=draft is not None)
    asked = plan(tokens=tokens, vocabulary=VOCABULARY, eos_id=VOCABULARY - 1, tolerance=ROUNDING, seed=seed)
    return _checked(temperature, decoder, oracle, asked)


def _early_exit(temperature: float, gamma: int, tokens: int, seed: int) -> Verdict:
    """A model that drafts with its own first layers."""
    from validation.conformance.hf import TeacherForcing, TransformersDecoder
    from validation.decoder.tiny import tiny_model

    model, _ = tiny_model(layers=2, seed=seed)
    model.generation_config.eos_token_id = None
    model.generation_config.num_assistant_tokens = gamma
    model.generation_config.num_assistant_tokens_schedule = "constant"
    decoder = TransformersDecoder(model, options={"assistant_early_exit": 1})
    asked = plan(tokens=tokens, vocabulary=model.config.vocab_size, tolerance=ROUNDING, seed=seed)
    return _checked(temperature, decoder, TeacherForcing(model), asked, margin=NEAR)


def _checked(temperature: float | None, decoder: Any, oracle: Any, asked: Plan, *, margin: float = 0.0) -> Verdict:
    if temperature is None:
        return check(decoder, oracle, fitting(asked, decoder, oracle)[0])
    return check_at(temperature, decoder, oracle, asked, margin=margin)


def _name(title: str, temperature: float | None, gamma: int) -> str:
    kind = "" if temperature is None else f", T {temperature:g}"
    return f"{title}{kind}, gamma {gamma}"


def _rule(temperature: float | None) -> str:
    return MATCH if temperature == 0 else SPECULATIVE
