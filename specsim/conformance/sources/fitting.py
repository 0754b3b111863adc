"""What a source can be asked: plans cut down to the parameters that an engine's interface has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specsim.conformance.parameters import Parameters
from specsim.conformance.plan import Cell, Plan
from specsim.errors import InputError

SEEDS = "seeds"


def fitting(plan: Plan, *sources: object) -> tuple[Plan, dict[str, str]]:
    """The plan without what decoder and oracle refuse, with parameters that they adapt, and why cells are gone.

    Parameters
    ----------
    plan : Plan
        As for any decoder.
    sources : objects
        `adapted(parameters)` gives parameters that they can be asked for, `refuses(parameters)` a reason or None;
        those without these can be asked for anything.

    Notes
    -----
    Where texts that cannot end are refused, seeds are not tested either: two short texts may be alike by chance.

    Raises
    ------
    InputError
        Nothing is left.

    Examples
    --------
    >>> from specsim.conformance.plan import plan
    >>> class NoBans:
    ...     def refuses(self, parameters):
    ...         return "no bans" if parameters.banned_ids else None
    >>> left, gone = fitting(plan(tokens=1000, vocabulary=8), NoBans())
    >>> gone, "bans" in left.tags
    ({'bans': 'no bans'}, False)
    """
    cells: list[Cell] = []
    gone: dict[str, str] = {}
    for cell in plan.cells:
        parameters = cell.parameters
        for source in sources:
            parameters = _adapted(source, parameters)
        reason = _refusal(sources, parameters)
        if reason is None:
            cells.append(replace(cell, parameters=parameters))
        else:
            gone[cell.name] = reason
    if not cells:
        raise InputError(f"plan must hold a kind of request that the decoder can be asked, got none: {gone}")
    endless = _refusal(sources, Parameters())
    if plan.is_seeded and endless is not None:
        gone[SEEDS] = endless
    return replace(plan, cells=tuple(cells), is_seeded=plan.is_seeded and endless is None), gone


def _refusal(sources: Sequence[object], parameters: Parameters) -> str | None:
    reasons = (getattr(source, "refuses", lambda _: None)(parameters) for source in sources)
    return next((reason for reason in reasons if reason is not None), None)


def _adapted(source: object, parameters: Parameters) -> Parameters:
    change = getattr(source, "adapted", None)
    return parameters if change is None else change(parameters)
