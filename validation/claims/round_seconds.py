"""Seconds of a round at gammas that nothing was calibrated at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from specsim.cost import RoundCost
from validation.claims.prediction import Row, control, predicted
from validation.claims.protocol import ClaimResult, Control, Settings

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.claims.speculation import Study

FORGOTTEN = {"the drafter's passes forgotten": "draft_seconds", "verification taken as free": "verify_seconds"}
"""Parts of a round that wrong formulas leave out, by the name of the fault."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundSeconds:
    """Seconds per round at held-out gammas are the sum of calibrated parts: draft, verify, sample and host.

    Notes
    -----
    The target's passes were timed over every number of tokens; drafting is a line in the drafted tokens. Intervals
    allow for a machine that wanders as much between the two phases as it did between texts.
    """

    name: ClassVar[str] = "round_seconds"

    def run(self, settings: Settings) -> ClaimResult:
        """Calibrate every drafter at some gammas, state the seconds of rounds at others, and decode with those."""
        from validation.claims.speculation import study

        found = study(settings, is_timed=True)
        rows = found.compared("round_seconds", seed=settings.seed)
        controls = forgotten(found, rows, _shorter, level=settings.level)
        return predicted(self.name, rows, model=found.model, settings=settings, controls=controls)


def forgotten(
    found: Study, rows: Sequence[Row], wrong: Callable[[Study, str, Row], float], *, level: float
) -> list[Control]:
    """Each part of the round left out of the predictions, where there is such a part: a lookup has no passes.

    Parameters
    ----------
    found, rows
        The study and its predictions.
    wrong
        The prediction without a part, given the study, the part and the row.
    level
        Of the claim.
    """
    from validation.claims.speculation import planted

    matter = {"draft_seconds": [row for row in rows if found.has_passes(row)], "verify_seconds": rows}
    return [
        control(fault, planted(matter[part], partial(wrong, found, part)), level=level)
        for fault, part in FORGOTTEN.items()
    ]


def without(part: str, cost: RoundCost) -> float:
    """Seconds of a round with one part of it left out.

    Examples
    --------
    >>> parts = RoundCost(draft_seconds=1.0, verify_seconds=2.0, sample_seconds=0.0, host_seconds=0.5)
    >>> without("draft_seconds", parts)
    2.5
    """
    return cost.seconds - float(getattr(cost, part))


def _shorter(found: Study, part: str, row: Row) -> float:
    return without(part, found.cost(row))
