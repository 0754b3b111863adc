"""`specsim conform`: is this decoder lossless, and would we know if it were not?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from specsim import checks
from specsim.cli.conform_run import judge, run_options
from specsim.cli.conform_sources import source_options
from specsim.cli.output import emit, envelope, json_option, seed_option, table
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.faults import FAULTS
from specsim.conformance.lookalikes import LOOKALIKES
from specsim.conformance.plan import LEVEL
from specsim.conformance.self_test import BUDGETS, SelfTest, self_test


@click.command()
@click.option("--self-test", "is_self_test", is_flag=True, help="Plant every fault and see that it is caught.")
@click.option("--tokens", type=click.IntRange(min=1), default=4000, show_default=True, help="Budget of each check.")
@click.option("--faults", "chosen", help="Only these ids, or all that begin with them: residual,accept.lenience_0.8.")
@click.option("--text-only", is_flag=True, help="See texts and the target's laws alone: no rounds, no draft's laws.")
@click.option("--processes", type=click.IntRange(min=1), default=2, show_default=True, help="Checks side by side.")
@source_options
@run_options
@seed_option
@json_option
def conform(
    is_self_test: bool,
    tokens: int,
    chosen: str | None,
    text_only: bool,
    processes: int,
    seed: int,
    as_json: bool,
    **source: Any,
) -> int:
    """Test that a decoder follows its target's law exactly.

    A source names the decoder, and whose law it is held to. Exit code 0 when it conforms, 1 when it does not, 2 when
    this run cannot tell, 3 when the decoder or the oracle failed.

    --self-test runs the catalogue of planted faults over exact table models, and lossless decoders that look odd, which
    must pass. Exit code 0 when all of these pass, 1 when one does not.
    """
    if not is_self_test:
        return judge(source, tokens=tokens, seed=seed, as_json=as_json)
    faults = _chosen(chosen)
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("checks", total=len(faults) + len(LOOKALIKES))
        found = _run(faults, tokens, seed, text_only, processes, watch=lambda _: progress.advance(bar))
    inputs = {"self_test": True, "tokens": tokens, "faults": list(faults), "text_only": text_only, "seed": seed}
    emit(
        envelope("conform", inputs=inputs, result=_result(found, tokens), assumptions=_assumptions(text_only)),
        as_json=as_json,
        tables=[_faults(found), _controls(found), _sentence(found, tokens)],
    )
    return 0 if found.is_sound else 1


def _chosen(text: str | None) -> dict[str, type[TableDecoder]]:
    if text is None:
        return dict(FAULTS)
    groups = {id_.split(".")[0] for id_ in FAULTS}
    named = [checks.one_of("faults", part.strip(), {*FAULTS, *groups}) for part in text.split(",")]
    return {id_: fault for id_, fault in FAULTS.items() if id_ in named or id_.split(".")[0] in named}


def _run(
    faults: Mapping[str, type[TableDecoder]],
    tokens: int,
    seed: int,
    text_only: bool,
    processes: int,
    *,
    watch: Callable[[str], None],
) -> SelfTest:
    if processes == 1:
        return self_test(tokens=tokens, seed=seed, faults=faults, text_only=text_only, watch=watch)
    with ProcessPoolExecutor(processes) as executor:
        return self_test(tokens=tokens, seed=seed, faults=faults, text_only=text_only, executor=executor, watch=watch)


def _result(found: SelfTest, tokens: int) -> dict[str, Any]:
    faults = [{**asdict(row), "class": row.group} for row in found.faults]
    budgets = [budget for budget in BUDGETS if budget <= tokens]
    return {
        "faults": [{name: value for name, value in row.items() if name != "group"} for row in faults],
        "controls": [asdict(row) for row in found.controls],
        "caught": {str(budget): found.caught(budget) for budget in (*budgets, tokens)},
        "share_caught": found.caught(tokens) / len(found.faults),
    }


def _assumptions(text_only: bool) -> list[str]:
    seen = "texts and the target's exact laws" if text_only else "texts, rounds, and exact laws of target and draft"
    return [f"the checks see {seen}", f"a lossless decoder fails one check with probability {LEVEL:g} at most"]


def _faults(found: SelfTest) -> Table:
    rows = [
        (row.id, str(row.tokens) if row.detected else f"not in {row.tokens}", f"{row.hypothesis} {_place(row.where)}")
        for row in sorted(found.faults, key=lambda row: (not row.detected, row.tokens))
    ]
    built = table(["fault", "tokens", "what it looks like"], rows)
    built.columns[2].justify = "left"
    return built


def _place(where: str) -> str:
    return f"({where})" if where else ""


def _controls(found: SelfTest) -> Table:
    rows = [(row.id, "passed" if row.passed else row.outcome, str(row.tokens)) for row in found.controls]
    return table(["lossless", "verdict", "tokens"], rows)


def _sentence(found: SelfTest, tokens: int) -> str:
    count, passed = len(found.faults), sum(row.passed for row in found.controls)
    budgets = [budget for budget in BUDGETS if budget < tokens]
    shares = ", ".join(f"{found.caught(budget) / count:.0%} at {budget}" for budget in (*budgets, tokens))
    return (
        f"{found.caught(tokens)} of {count} faults caught within {tokens} tokens ({shares}); "
        f"{passed} of {len(found.controls)} lossless decoders passed."
    )
