"""Speedup over plain decoding at gammas that nothing was calibrated at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from validation.claims.prediction import Row, predicted
from validation.claims.protocol import ClaimResult, Settings
from validation.claims.round_seconds import forgotten, without

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.claims.speculation import Study


@dataclass(frozen=True, kw_only=True, slots=True)
class Speedup:
    """Speedup at held-out gammas is tau times the plain step over the round, all calibrated at other gammas.

    Notes
    -----
    Measured is the ratio of tokens per second of full rounds to that of plain decoding of the same prompts in the same
    turns. Classic formulas forget a part of the round.
    """

    name: ClassVar[str] = "speedup"

    def run(self, settings: Settings) -> ClaimResult:
        """Calibrate every drafter at some gammas, state the speedup at others, and decode with those and plainly."""
        from validation.claims.speculation import study

        found = study(settings, is_timed=True)
        rows = found.compared("speedup", seed=settings.seed)
        controls = forgotten(found, rows, _faster, level=settings.level)
        best = max(rows, key=lambda row: row.measured)
        return predicted(
            self.name,
            rows,
            model=found.model,
            settings=settings,
            controls=controls,
            figures={"largest_measured": best.measured, "gamma_of_largest": best.setting["gamma"]},
        )


def _faster(found: Study, part: str, row: Row) -> float:
    """The speedup of a round with one part of it left out."""
    return row.predicted * found.cost(row).seconds / without(part, found.cost(row))
