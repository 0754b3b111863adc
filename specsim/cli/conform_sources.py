"""What `specsim conform` can be pointed at: options that name a decoder and the target's laws, and what they build."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import click

from specsim import checks
from specsim.cli.parts import Command, integers, options
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.faults import FAULTS
from specsim.conformance.plan import Plan
from specsim.conformance.protocol import Decoder, Oracle
from specsim.conformance.sources import from_callable, read_recording, replayed
from specsim.conformance.table_laws import TableOracle
from specsim.conformance.tables import DRAFTS, TableModels
from specsim.errors import InputError

KINDS = ("table", "callable", "recording", "url", "llama_cpp", "hf")
TABLE_SIZE, TABLE_EOS = 8, 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A decoder with what is needed to judge it.

    Parameters
    ----------
    decoder : Decoder
    name : str
        For people.
    vocabulary : int or None
        V; None only beside a `plan` [1].
    oracle : Oracle or None
        None where there is a `reference`.
    reference : Decoder or None
        Texts without speculation, where no law is known.
    eos_id : int or None
        The token that ends a text.
    is_seeded : bool
        Whether a seed settles a text whatever else is decoded beside it; rounding in batched engines breaks that.
    plan : Plan or None
        Of a recording.
    """

    decoder: Decoder
    name: str
    vocabulary: int | None = None
    oracle: Oracle | None = None
    reference: Decoder | None = None
    eos_id: int | None = None
    is_seeded: bool = False
    plan: Plan | None = None


def source_options(command: Command) -> Command:
    """Options that say which decoder, and where the laws are."""
    return options(
        click.option(
            "--table", type=click.Choice(("mixed", *DRAFTS)), help="A decoder over exact table models, with this draft."
        ),
        click.option("--plant", help="Plant this fault in the table decoder; ids: --self-test."),
        click.option("--callable", metavar="MODULE:FUNCTION", help="generate(prompt_ids, parameters, seed)."),
        click.option(
            "--oracle",
            metavar="MODULE:NAME",
            help="Laws for --callable or --recording: an Oracle, or a function that makes one.",
        ),
        click.option("--recording", metavar="FILE", help="Judge a recording: JSON Lines, .gz or not."),
        click.option("--url", help="A server with /v1/completions that takes and returns token ids."),
        click.option("--model", help="Name of the model there."),
        click.option(
            "--oracle-url", help="A server without speculation that gives prompt log-probabilities; by default --url."
        ),
        click.option(
            "--reference-url", help="A server without speculation whose texts are compared: no laws needed, more texts."
        ),
        click.option(
            "--top",
            type=click.IntRange(min=1),
            default=20,
            show_default=True,
            help="Tokens listed in a row of --oracle-url; the vocabulary's size gives whole rows.",
        ),
        click.option("--llama-cpp", help="llama.cpp's own server; with --oracle-url one without speculation."),
        click.option("--eog-ids", help="All tokens that end a text in the model of --llama-cpp: 2,7."),
        click.option("--hf", metavar="MODEL", help="transformers: folder or hub name of the target."),
        click.option("--assistant", metavar="MODEL", help="transformers: folder or hub name of the draft model."),
        click.option("--lookup", type=click.IntRange(min=1), help="transformers: tokens drafted by prompt lookup."),
        click.option("--early-exit", type=click.IntRange(min=1), help="transformers: layers that draft."),
        click.option("--vocabulary", type=click.IntRange(min=2), help="V, where the source does not tell it."),
        click.option("--eos-id", type=click.IntRange(min=0), help="The token that ends a text."),
        click.option(
            "--workers", type=click.IntRange(min=1), default=8, show_default=True, help="Requests under way at once."
        ),
        click.option(
            "--timeout",
            "timeout_seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds for one answer.",
        ),
        click.option(
            "--seeded", is_flag=True, help="The engine promises the same text for a seed in any batch: test that, too."
        ),
    )(command)


def source(chosen: Mapping[str, Any], *, seed: int) -> Source:
    """The source that options name.

    Raises
    ------
    InputError
        None or several, or what one of them needs is not said.
    """
    named = [kind for kind in KINDS if chosen.get(kind) is not None]
    if len(named) != 1:
        listed = ", ".join("--" + kind.replace("_", "-") for kind in KINDS)
        raise InputError(f"name one decoder, got {len(named)}: {listed}, or --self-test")
    return BUILDERS[named[0]](chosen, seed)


def _table(chosen: Mapping[str, Any], seed: int) -> Source:
    models = TableModels.random(seed=seed, draft=chosen["table"], vocabulary=TABLE_SIZE)
    kind = TableDecoder if chosen.get("plant") is None else FAULTS[checks.one_of("plant", chosen["plant"], FAULTS)]
    name = f"table decoder, {chosen['table']} draft" + (f", {chosen['plant']}" if chosen.get("plant") else "")
    return Source(
        decoder=kind(models),
        oracle=TableOracle(models),
        name=name,
        vocabulary=models.vocabulary,
        eos_id=TABLE_EOS,
        is_seeded=kind.is_seeded,
    )


def _callable(chosen: Mapping[str, Any], seed: int) -> Source:
    made = named_object("callable", chosen["callable"])
    decoder = made if hasattr(made, "generate") else from_callable(made, timeout_seconds=chosen["timeout_seconds"])
    oracle = _oracle(chosen)
    return Source(
        decoder=decoder,
        oracle=_needed("oracle", oracle),
        name=chosen["callable"],
        vocabulary=_needed("vocabulary", chosen.get("vocabulary") or _vocabulary(oracle)),
        eos_id=chosen.get("eos_id"),
        is_seeded=chosen["seeded"],
    )


def _recording(chosen: Mapping[str, Any], seed: int) -> Source:
    held = read_recording(chosen["recording"], vocabulary=chosen.get("vocabulary"))
    made = replayed(held, oracle=_oracle(chosen), seed=seed)
    return Source(
        decoder=made.decoder,
        oracle=made.oracle,
        name=str(chosen["recording"]),
        vocabulary=held.vocabulary,
        plan=made.plan,
    )


def _url(chosen: Mapping[str, Any], seed: int) -> Source:
    http, openai = _http("http"), _http("openai")
    client = http.Client(chosen["url"], timeout_seconds=chosen["timeout_seconds"])
    shared = {"model": chosen.get("model"), "workers": chosen["workers"]}
    common: dict[str, Any] = {
        "decoder": openai.OpenAIDecoder(client, eos_id=chosen.get("eos_id"), **shared),
        "name": chosen["url"],
        "vocabulary": _needed("vocabulary", chosen.get("vocabulary")),
        "eos_id": chosen.get("eos_id"),
        "is_seeded": chosen["seeded"],
    }
    if chosen.get("reference_url"):
        other = http.Client(chosen["reference_url"], timeout_seconds=chosen["timeout_seconds"])
        return Source(reference=openai.OpenAIDecoder(other, eos_id=chosen.get("eos_id"), **shared), **common)
    other = http.Client(chosen.get("oracle_url") or chosen["url"], timeout_seconds=chosen["timeout_seconds"])
    oracle = _http("openai_oracle").PromptOracle(other, vocabulary=common["vocabulary"], top=chosen["top"], **shared)
    return Source(oracle=oracle, **common)


def _llama_cpp(chosen: Mapping[str, Any], seed: int) -> Source:
    http, llama = _http("http"), _http("llama_cpp")
    clients = [
        http.Client(url, timeout_seconds=chosen["timeout_seconds"])
        for url in (chosen["llama_cpp"], chosen.get("oracle_url") or chosen["llama_cpp"])
    ]
    ends = integers("eog-ids", _needed("eog-ids", chosen.get("eog_ids")))
    size = _needed("vocabulary", chosen.get("vocabulary"))
    return Source(
        decoder=llama.LlamaCppDecoder(clients[0], eog_ids=ends, workers=chosen["workers"]),
        oracle=llama.LlamaCppOracle(clients[1], vocabulary=size, workers=chosen["workers"]),
        name=chosen["llama_cpp"],
        vocabulary=size,
        eos_id=ends[0],
        is_seeded=chosen["seeded"],
    )


def _hf(chosen: Mapping[str, Any], seed: int) -> Source:
    points = metadata.entry_points(group="specsim.sources", name="transformers")
    try:
        (point,) = points
        build = point.load()
    except (ValueError, ModuleNotFoundError):
        raise InputError("--hf needs transformers: pip install 'specsim[validation]'") from None
    made = build(
        chosen["hf"],
        assistant=chosen.get("assistant"),
        lookup=chosen.get("lookup"),
        early_exit=chosen.get("early_exit"),
    )
    return Source(name=chosen["hf"], **made)


Builder = Callable[[Mapping[str, Any], int], Source]
BUILDERS: dict[str, Builder] = {
    "table": _table,
    "callable": _callable,
    "recording": _recording,
    "url": _url,
    "llama_cpp": _llama_cpp,
    "hf": _hf,
}


def named_object(name: str, text: str) -> Any:
    """What `module:name` stands for; modules are also looked for in the current folder.

    Examples
    --------
    >>> named_object("callable", "math:sqrt")(4.0)
    2.0
    """
    module, _, attribute = text.partition(":")
    if not module or not attribute:
        raise InputError(f"{name} must be MODULE:NAME, got {text!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name} must name something that can be imported, got {text!r}: {error}") from None


def _oracle(chosen: Mapping[str, Any]) -> Any:
    if chosen.get("oracle") is None:
        return None
    made = named_object("oracle", chosen["oracle"])
    return made if hasattr(made, "score") and not isinstance(made, type) else made()


def _vocabulary(oracle: Any) -> int | None:
    return getattr(oracle, "vocabulary", None) or getattr(getattr(oracle, "models", None), "vocabulary", None)


def _needed(name: str, value: Any) -> Any:
    if value is None:
        raise InputError(f"--{name} must be given for this decoder, got none")
    return value


def _http(module: str) -> Any:
    try:
        return import_module(f"specsim.conformance.sources.{module}")
    except ModuleNotFoundError:
        raise InputError("servers need the package 'httpx': pip install 'specsim[http]'") from None
