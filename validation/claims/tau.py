"""Tokens per round at gammas that nothing was calibrated at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import stats

from specsim.acceptance import Acceptance
from specsim.tau import expected_tokens
from validation.claims.prediction import STATED, Row, control, predicted
from validation.claims.protocol import ClaimResult, Settings

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.claims.speculation import Study


@dataclass(frozen=True, kw_only=True, slots=True)
class Tau:
    """Tokens per round at held-out gammas lie where acceptance by depth, calibrated at other gammas, puts them.

    Notes
    -----
    tau is 1 plus the sum over depths of the chance that so many drafts are proposed and stand. The fault takes
    accepted over drafted tokens, which is often published as an acceptance rate, for the alpha of
    (1 - alpha^(gamma+1)) / (1 - alpha).
    """

    name: ClassVar[str] = "tau"

    def run(self, settings: Settings) -> ClaimResult:
        """Calibrate every drafter at some gammas, state tau at others, and decode with those."""
        from validation.claims.speculation import CALIBRATED_GAMMAS, planted, study

        found = study(settings, is_timed=False)
        rows = [same_requests(found, row) for row in found.compared("tau", seed=settings.seed)]

        def pooled(row: Row) -> float:
            records = found.records(row.setting["proposer"], gammas=CALIBRATED_GAMMAS)
            utilisation = sum(one.accepted for one in records) / sum(one.drafted for one in records)
            return expected_tokens(Acceptance.constant(utilisation), gamma=row.setting["gamma"])

        fault = "pooled draft utilisation in the iid formula"
        models = [row for row in rows if found.has_passes(row)]  # of a lookup most rounds draft nothing anyway
        return predicted(
            self.name,
            rows,
            model=found.model,
            settings=settings,
            controls=[control(fault, planted(models, pooled), level=settings.level)],
        )


def same_requests(found: Study, row: Row) -> Row:
    """The row with the interval for the requests that were calibrated on.

    Notes
    -----
    `Calibration.predict` speaks of other requests of the same kind. What these differ in is in both phases here, and
    cancels; the chance of the rounds is left, of those calibrated with and of those to come. How many will come is not
    known beforehand: those that the length of the texts foretells, but for the last of each text.
    """
    calibration, gamma = found.calibrations[row.setting["proposer"]], row.setting["gamma"]
    survival = calibration.scenario(gamma).accepted_survival
    spread = float((2 * np.arange(1, gamma + 1) - 1) @ survival - survival.sum() ** 2) / row.predicted**2
    tokens = {(record.request, record.round) for record in found.plain_calibrated()}  # each text was decoded repeatedly
    rounds = len(tokens) / row.predicted - len({request for request, _ in tokens})
    variance = calibration.draws.independent_variance(gamma) + spread / max(1.0, rounds)
    reach = math.exp(float(stats.norm.ppf((1 + STATED) / 2)) * math.sqrt(variance))
    return replace(row, low=max(1.0, row.predicted / reach), high=min(gamma + 1.0, row.predicted * reach))
