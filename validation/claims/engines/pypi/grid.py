"""Cases of a package: its modes over good and bad drafts, temperatures and lengths of drafts, on table models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from specsim.conformance import Cell, Parameters, TableModels, TableOracle, Verdict, check, plan
from specsim.conformance.sources import from_callable
from specsim.conformance.verdict import CONFORMS
from validation.claims.engines.checking import check_at
from validation.claims.engines.protocol import Case

VOCABULARY = 8
TABLES = 5
ROUNDING = 1e-6
"""Total variation of laws in float32, in which most packages draw, and what they may add against a division by 0."""

Generate = Callable[..., Any]
Make = Callable[[TableModels, int], Generate]

SAMPLED = (("good", 1.0, 4), ("bad", 1.0, 4), ("good", 0.6, 2), ("bad", 1.5, 1))
"""Kind of draft, temperature, gamma."""
GREEDY = (("good", 0.0, 4), ("bad", 0.0, 2))


@dataclass(frozen=True, kw_only=True, slots=True)
class Mode:
    """One way to run a package.

    Parameters
    ----------
    name, rule
        Of the mode and of what accepts, in words.
    make : callable
        `make(models, gamma)` returns a function as of `from_callable`.
    settings : tuple
        Kind of draft, temperature and gamma of each case.
    drafter : str
        What drafts, in words, with `{}` for the kind of draft; without, the draft table drafts nothing.
    claims : str or None
        See `check`; takes outputs with rounds.
    is_batch : bool
        Whether the function takes whole batches; their texts hang on each other's random numbers.
    is_seeded : bool
        Whether a seed settles a text that is made alone.
    parameters : Parameters or None
        What requests ask for instead of the setting's temperature alone.
    tokens : int
        Budget of each case [1].
    expect, note, finding
        See `Case`.
    """

    name: str
    rule: str
    make: Make
    settings: tuple[tuple[str, float, int], ...] = SAMPLED + GREEDY
    drafter: str = "{} draft table"
    claims: str | None = None
    is_batch: bool = False
    is_seeded: bool = True
    parameters: Parameters | None = None
    tokens: int = 4000
    expect: str = CONFORMS
    note: str = ""
    finding: str = ""


def grid(modes: Iterable[Mode]) -> tuple[Case, ...]:
    """All cases of some modes."""
    return tuple(case for mode in modes for case in _cases(mode))


def tables(draft: str) -> TableModels:
    """The table models of every case with one kind of draft."""
    return TableModels.random(vocabulary=VOCABULARY, seed=TABLES, draft=draft)


def _cases(mode: Mode) -> Iterator[Case]:
    for draft, temperature, gamma in mode.settings:
        drafter = mode.drafter.format(draft)
        kind = f", {draft} draft" if drafter != mode.drafter else ""
        yield Case(
            name=f"{mode.name}{kind}, temperature {temperature:g}, gamma {gamma}",
            drafter=drafter,
            rule=mode.rule,
            temperature=temperature,
            gamma=gamma,
            model=f"table models, vocabulary {VOCABULARY}",
            tokens=mode.tokens,
            run=_runner(mode, draft, temperature, gamma),
            expect=mode.expect,
            note=mode.note,
            finding=mode.finding,
        )


def _runner(mode: Mode, draft: str, temperature: float, gamma: int) -> Callable[[int, int], Verdict]:
    def run(tokens: int, seed: int) -> Verdict:
        models = tables(draft)
        decoder = from_callable(mode.make(models, gamma), is_batch=mode.is_batch)
        is_seeded = mode.is_seeded and not mode.is_batch
        asked = plan(vocabulary=VOCABULARY, tokens=tokens, seed=seed, tolerance=ROUNDING, is_seeded=is_seeded)
        if mode.parameters is None:
            return check_at(temperature, decoder, TableOracle(models), asked, margin=ROUNDING, claims=mode.claims)
        cells = (Cell(name="cold prefix", parameters=replace(mode.parameters, temperature=temperature)),)
        return check(decoder, TableOracle(models), replace(asked, cells=cells), claims=mode.claims)

    return run
