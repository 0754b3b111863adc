"""Numbers stated before they are measured on other texts, with the law of their error: a miss has a p-value."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.stats import TestResult, combine
from validation.claims.prediction import STATED, Row, predicted
from validation.claims.protocol import ClaimResult, Control, Settings, verdict


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sums:
    """A ratio of sums over texts: accepted drafts over rounds, tokens over seconds.

    Parameters
    ----------
    top, bottom : arrays (n,)
        By text, which is what is resampled: rounds of one text are correlated.
    coins : float
        Where `top` is an expectation given the text: the variance that throwing the coins adds, per unit of `bottom`.
    least : float
        Variance of a single text at least: of counts some chance is left where all texts agree.

    Examples
    --------
    >>> sums = Sums(top=np.array([2.0, 4.0]), bottom=np.array([4.0, 4.0]))
    >>> sums.value, sums.variance
    (0.75, 0.125)
    """

    top: FloatArray
    bottom: FloatArray
    coins: float = 0.0
    least: float = 0.0

    @property
    def value(self) -> float:
        """The ratio."""
        return float(self.top.sum() / self.bottom.sum())

    @property
    def variance(self) -> float:
        """Of the ratio over a single text, to first order, coins left out."""
        checks.integer("number of texts", len(self.top), low=2)
        return max(self.least, float(np.var((self.top - self.value * self.bottom) / self.bottom.mean(), ddof=1)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """What a measurement on other texts will show.

    Parameters
    ----------
    setting : Mapping
        What will be set, by name.
    quantity : str
        What will be measured, with its SI unit in the name.
    predicted : float
    error : float
        Standard deviation of measured minus predicted.
    freedom : int
        Degrees of freedom of `error` [1].

    Examples
    --------
    >>> statement = Statement(setting={}, quantity="tau", predicted=2.0, error=0.1, freedom=30)
    >>> round(statement.row(2.1, n=40).high, 3), round(statement.pvalue(2.1), 3)
    (2.204, 0.325)
    """

    setting: Mapping[str, Any]
    quantity: str
    predicted: float
    error: float
    freedom: int

    def row(self, measured: float, *, n: int) -> Row:
        """The statement beside what was measured in n texts."""
        reach = float(stats.t.isf((1 - STATED) / 2, self.freedom)) * self.error
        return Row(
            setting=self.setting,
            quantity=self.quantity,
            predicted=self.predicted,
            low=max(0.0, self.predicted - reach),
            high=self.predicted + reach,
            measured=measured,
            n=n,
        )

    def pvalue(self, measured: float) -> float:
        """Chance of a miss as large, if the statement is right [1]."""
        return float(2 * stats.t.sf(abs(measured - self.predicted) / self.error, self.freedom))

    def instead(self, predicted: float) -> Statement:
        """The same statement of another number: a fault."""
        return dataclasses.replace(self, predicted=predicted)


def state(sums: Sums, *, setting: Mapping[str, Any], quantity: str, texts: int) -> Statement:
    """State that the same ratio will be measured over `texts` other texts of the same kind.

    Notes
    -----
    Variances add: that of these texts' ratio, and that of the texts to come with their coins.

    Examples
    --------
    >>> sums = Sums(top=np.array([2.0, 4.0]), bottom=np.array([4.0, 4.0]), coins=0.25)
    >>> round(state(sums, setting={}, quantity="alpha", texts=2).error ** 2, 5)
    0.15625
    """
    coins = sums.coins / (texts * sums.bottom.mean())
    return Statement(
        setting=setting,
        quantity=quantity,
        predicted=sums.value,
        error=float(np.sqrt(sums.variance * (1 / len(sums.top) + 1 / texts) + coins)),
        freedom=len(sums.top) - 1,
    )


Stated = tuple[Statement, float]
"""A statement and what was measured."""


def misses(stated: Sequence[Stated], *, name: str) -> TestResult:
    """Do stated numbers miss by more than chance? A two-sided t test each, Holm-corrected.

    Notes
    -----
    Statements that share texts fail together; Holm's correction is right all the same.

    Examples
    --------
    >>> statement = Statement(setting={}, quantity="tau", predicted=2.0, error=0.1, freedom=30)
    >>> misses([(statement, 2.1), (statement, 3.5)], name="tau").pvalue < 1e-12
    True
    """
    results = [
        TestResult(
            test=f"{one.quantity} {dict(one.setting)}",
            statistic=abs(measured - one.predicted) / one.error,
            pvalue=one.pvalue(measured),
            n=one.freedom + 1,
        )
        for one, measured in stated
    ]
    return combine(results, test=name)


def judged(
    name: str,
    stated: Sequence[Stated],
    *,
    model: str,
    settings: Settings,
    faults: Mapping[str, Sequence[Stated]],
    figures: Mapping[str, float] | None = None,
    also: Iterable[Mapping[str, Any]] = (),
    others: Sequence[TestResult] = (),
    controls: Sequence[Control] = (),
    note: str = "",
) -> ClaimResult:
    """The result of a claim that states numbers about other texts.

    Parameters
    ----------
    name, model, settings, figures
        As of `ClaimResult`.
    stated
        Statements and what was measured.
    faults
        Statements made with a fault planted, which have to miss.
    also
        Further rows to keep.
    others
        Further tests that have to stand.
    controls
        Further faults, judged already.
    note
        For people, after the rest.
    """
    result = combine([misses(stated, name=name), *others], test=name)
    planted = [_control(fault, wrong, level=settings.level) for fault, wrong in faults.items()]
    every = (*planted, *controls)
    rows = [one.row(measured, n=one.freedom + 1) for one, measured in stated]
    found = predicted(name, rows, model=model, settings=settings, controls=every, figures=figures, also=tuple(also))
    return dataclasses.replace(
        found,
        pvalue=result.pvalue,
        statistic=result.statistic,
        verdict=verdict(result, level=settings.level, controls=every),
        detail=f"{found.detail}{'; ' if note else ''}{note}",
    )


def _control(fault: str, wrong: Sequence[Stated], *, level: float) -> Control:
    outcome = misses(wrong, name=fault)
    return Control(fault=fault, n=len(wrong), pvalue=outcome.pvalue, caught=not outcome.passed(level))
