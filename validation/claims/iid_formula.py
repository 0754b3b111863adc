"""One alpha for all drafts, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from specsim.acceptance import Acceptance
from specsim.checks import FloatArray, IntArray
from specsim.records import RoundRecord
from specsim.stats import TestResult
from specsim.tau import expected_tokens
from validation.claims.prediction import Row, median_abs_error
from validation.claims.protocol import ClaimResult, Control, Settings, verdict

FAULT = "pooled draft utilisation as alpha"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """How often draft k was on trial, all before it having stood, and how often it stood; shape (K,) each [1]."""

    trials: IntArray
    hits: IntArray

    @property
    def by_depth(self) -> FloatArray:
        """Acceptance of each depth, half counts added [1]."""
        return np.asarray((self.hits + 0.5) / (self.trials + 1))

    @property
    def pooled(self) -> float:
        """One alpha for all depths [1]."""
        return float((self.hits.sum() + 0.5) / (self.trials.sum() + 1))

    def log_likelihood(self, alpha: FloatArray | float) -> float:
        """Of what was judged, if draft k stands with probability alpha[k] [nat]."""
        missed = self.trials - self.hits
        chances = np.broadcast_to(alpha, self.hits.shape)
        return float(self.hits @ np.log(chances) + missed @ np.log1p(-chances))


def judged(records: Iterable[RoundRecord], *, depths: int) -> Judged:
    """Count drafts by depth; in a round that ended its text only accepted drafts were judged.

    Examples
    --------
    >>> row = RoundRecord(request="a", round=0, proposer="x", verifier="greedy", gamma=3, drafted=3, accepted=1,
    ...                   committed=2)
    >>> judged([row], depths=3)
    Judged(trials=array([1, 1, 0]), hits=array([1, 0, 0]))
    """
    rounds = list(records)
    accepted = np.array([row.accepted for row in rounds], dtype=np.int64)
    ends = (row.drafted if row.committed > row.accepted else row.accepted for row in rounds)
    reached = np.fromiter(ends, dtype=np.int64)
    places = np.arange(1, depths + 1)
    hits = (accepted[:, None] >= places).sum(axis=0)
    trials = (np.minimum(reached, accepted + 1)[:, None] >= places).sum(axis=0)
    return Judged(trials=trials, hits=hits)


@dataclass(frozen=True, kw_only=True, slots=True)
class IidFormula:
    """One alpha in (1 - alpha^(gamma+1)) / (1 - alpha) foretells held-out rounds no better than acceptance by depth.

    Notes
    -----
    Both are calibrated on the same rounds and judged on others, draft by draft: if acceptance by depth is right, the
    chance that one alpha is ever x times as likely is at most 1 / x (Ville). The errors of tau are reported beside one
    another. The fault takes accepted over drafted for alpha; the formula with a proper alpha has to expose it.
    """

    name: ClassVar[str] = "iid_formula"

    def run(self, settings: Settings) -> ClaimResult:
        """Compare the two on held-out gammas, and the fault with the formula."""
        from validation.claims.speculation import CALIBRATED_GAMMAS, HELD_OUT_GAMMAS, planted, study

        found = study(settings, is_timed=False)
        rows = found.compared("tau", seed=settings.seed)
        alphas, wrong, bets, drafts = {}, {}, {"iid": 0.0, FAULT: 0.0}, 0
        for name in found.calibrations:
            seen = found.records(name, gammas=CALIBRATED_GAMMAS)
            known = judged(seen, depths=max(CALIBRATED_GAMMAS))
            fresh = judged(found.records(name, gammas=HELD_OUT_GAMMAS), depths=max(CALIBRATED_GAMMAS))
            alphas[name], wrong[name] = known.pooled, _utilisation(seen)
            iid = fresh.log_likelihood(alphas[name])
            bets["iid"] += iid - fresh.log_likelihood(known.by_depth)
            bets[FAULT] += iid - fresh.log_likelihood(wrong[name])
            drafts += int(fresh.trials.sum())
        result = _bet(self.name, bets["iid"], n=drafts)
        exposed = _bet(FAULT, bets[FAULT], n=drafts)
        controls = (Control(fault=FAULT, n=drafts, pvalue=exposed.pvalue, caught=not exposed.passed(settings.level)),)
        by = {
            "iid": planted(rows, lambda row: _formula(alphas[row.setting["proposer"]], row)),
            "utilisation": planted(rows, lambda row: _formula(wrong[row.setting["proposer"]], row)),
        }
        errors = {f"median_abs_error_{name}": median_abs_error(made) for name, made in by.items()}
        ours = median_abs_error(rows)
        return ClaimResult(
            test=self.name,
            model=found.model,
            n=drafts,
            unit="drafts",
            pvalue=result.pvalue,
            level=settings.level,
            verdict=verdict(result, level=settings.level, controls=controls),
            statistic=result.statistic,
            controls=controls,
            figures={**errors, "nats_gained": -bets["iid"]},
            median_abs_error=ours,
            rows=tuple(_beside(row, by, place) for place, row in enumerate(rows)),
            detail=f"median absolute error of tau {ours:.1%} by depth, {errors['median_abs_error_iid']:.1%} with one "
            f"alpha, {errors['median_abs_error_utilisation']:.1%} with accepted over drafted",
        )


def _bet(name: str, log_evalue: float, *, n: int) -> TestResult:
    """An e-value as a test: its inverse is a p-value."""
    pvalue = math.exp(-max(0.0, log_evalue))
    return TestResult(test=name, statistic=log_evalue, pvalue=pvalue, n=n, log_evalue=log_evalue)


def _utilisation(records: Sequence[RoundRecord]) -> float:
    """Accepted over drafted, half counts added [1]."""
    return (sum(row.accepted for row in records) + 0.5) / (sum(row.drafted for row in records) + 1)


def _formula(alpha: float, row: Row) -> float:
    return expected_tokens(Acceptance.constant(alpha), gamma=row.setting["gamma"])


def _beside(row: Row, by: dict[str, list[Row]], place: int) -> dict[str, object]:
    others = {f"{name}_predicted": made[place].predicted for name, made in by.items()}
    return row.as_dict() | others
