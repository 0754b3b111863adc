"""What a page shows of a run, as tidy rows: the bets as they went, histograms, counts, scores, and what it can see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from specsim.conformance.evidence import Evidence
from specsim.conformance.negative_controls import power_at
from specsim.conformance.trial import Trial
from specsim.conformance.verdict import Verdict
from specsim.stats import CAUSES, directional_scores, pit_values

BINS = 20
BAND = 1e-3
"""Chance that a bin of a lossless decoder lies outside its band [1]."""
LEAST_TOKENS = 100
"""Smaller groups get no histogram [1]."""
MOST_GROUPS = 6
ALL = "all tokens"
RANKS = (0, 1, 2, 3, 4, 8, 16, 32, 64)
"""Where classes of ranks begin, the likeliest token first [1]."""
LEAST_EXPECTED = 10
"""Classes in which fewer tokens are expected are left out: their band would be wrong [1]."""
POWERS = np.geomspace(0.2, 2.0, 41)
"""Distances of the power curve, over the one that is caught with probability 0.99 [1]."""
Row = dict[str, Any]


class Follower:
    """Watches a run: call it after every batch (`check(..., watch=follower)`)."""

    def __init__(self) -> None:
        self.trial: Trial | None = None
        self.bets: list[Row] = []

    def __call__(self, trial: Trial) -> None:
        """Remember the trial, and how far the best bet is."""
        self.trial = trial
        self.bets.append({"tokens": trial.tokens, "log10_margin": trial.gate.log_margin / math.log(10)})


def picture(verdict: Verdict, follower: Follower) -> dict[str, Any]:
    """Rows for the page of a run.

    Parameters
    ----------
    verdict : Verdict
        Of the run.
    follower : Follower
        That watched it.

    Returns
    -------
    dict
        `answer`, `outcome`; `bets`: tokens and base-10 logarithm of the best e-value over the one that rejects; `pit`:
        bins by group; `ranks`: tokens observed and expected by their rank in the target's law; `scores`: standard
        deviations by direction, with what that looks like; `power`: probability of a rejection by total variation;
        `tests`: all of them; `replays`: what shows a fault.
    """
    evidence = None if follower.trial is None or not follower.trial.parts else follower.trial.evidence()
    return {
        "answer": verdict.sentence,
        "outcome": verdict.outcome,
        "level": verdict.level,
        "smallest_tv": verdict.smallest_tv,
        "tokens": verdict.tokens,
        "requests": verdict.requests,
        "bets": follower.bets,
        "pit": [] if evidence is None else _histograms(evidence),
        "ranks": [] if evidence is None else _ranks(evidence),
        "scores": [] if evidence is None else _scores(evidence),
        "power": [] if evidence is None else _power(verdict, tokens=len(evidence)),
        "tests": [
            {"test": name, "pvalue": result.pvalue, "n": result.n, "detail": result.detail}
            for name, result in sorted(verdict.results.items(), key=lambda item: item[1].pvalue)
        ],
        "replays": [
            {
                "request": one.request.id,
                "tags": ", ".join(one.request.tags),
                "place": one.place,
                "token": one.output.tokens[one.place],
                "why": one.why,
            }
            for one in verdict.replays
        ],
    }


def _histograms(evidence: Evidence) -> list[Row]:
    u = pit_values(evidence.observed, order="p_descending", rng=np.random.default_rng(len(evidence)))
    groups = {ALL: np.ones(len(evidence), dtype=bool), **evidence.strata()}
    sizes = {name: int(mask.sum()) for name, mask in groups.items()}
    large = sorted((name for name in groups if sizes[name] >= LEAST_TOKENS), key=lambda name: -sizes[name])
    return [row for name in large[:MOST_GROUPS] for row in _bins(name, u[groups[name]])]


def _bins(group: str, u: Any) -> list[Row]:
    counts, edges = np.histogram(u, bins=BINS, range=(0, 1))
    low, high = stats.binom.interval(1 - BAND, len(u), 1 / BINS)
    return [
        {
            "group": group,
            "bin_low": float(edges[i]),
            "bin_high": float(edges[i + 1]),
            "observed": int(count),
            "expected": len(u) / BINS,
            "low": float(low),
            "high": float(high),
        }
        for i, count in enumerate(counts)
    ]


def _ranks(evidence: Evidence) -> list[Row]:
    """Counts by rank; the ranks of a row depend on its law alone, so that a lossless decoder's are as expected."""
    observed = evidence.observed
    order = np.argsort(-observed.p, axis=1, kind="stable")
    rank = np.argmax(order == observed.cell[:, None], axis=1)
    mass = np.add.reduceat(np.take_along_axis(observed.p, order, axis=1), _starts(observed.p.shape[1]), axis=1)
    counts = np.bincount(np.searchsorted(RANKS, rank, side="right") - 1, minlength=mass.shape[1])
    expected = mass.sum(axis=0)
    slack = stats.norm.isf(BAND / 2) * np.sqrt((mass * (1 - mass)).sum(axis=0))
    return [
        {
            "rank": _ranks_text(number, observed.p.shape[1]),
            "observed": int(counts[number]),
            "expected": float(mean),
            "ratio": float(counts[number] / mean),
            "low": float(1 - slack[number] / mean),
            "high": float(1 + slack[number] / mean),
        }
        for number, mean in enumerate(expected)
        if mean >= LEAST_EXPECTED
    ]


def _starts(cells: int) -> list[int]:
    return [start for start in RANKS if start < cells]


def _ranks_text(number: int, cells: int) -> str:
    """Such as "1", "5 to 8"; ranks are counted from 1 for people."""
    starts = [*_starts(cells), cells]
    first, last = starts[number] + 1, starts[number + 1]
    return str(first) if first == last else f"{first} to {last}"


def _power(verdict: Verdict, *, tokens: int) -> list[Row]:
    """The power curve; none where the run is sure of no fault."""
    smallest = verdict.smallest_tv
    return [
        {
            "total_variation": float(distance),
            "power": power_at(float(distance), smallest_tv=smallest, level=verdict.level),
            "tokens": tokens,
        }
        for distance in POWERS * smallest
        if smallest < 1 and distance <= 1
    ]


def _scores(evidence: Evidence) -> list[Row]:
    return [
        {
            "direction": name,
            "cause": CAUSES[name, 1 if result.statistic >= 0 else -1],
            "deviations": result.statistic,
            "pvalue": result.pvalue,
        }
        for name, result in directional_scores(evidence.observed).items()
    ]
