"""What a page shows of a run, as tidy rows: the bets as they went, PIT histograms by group, scores by direction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from specsim.conformance.evidence import Evidence
from specsim.conformance.trial import Trial
from specsim.conformance.verdict import Verdict
from specsim.stats import directional_scores, pit_values

BINS = 20
BAND = 1e-3
"""Chance that a bin of a lossless decoder lies outside its band [1]."""
LEAST_TOKENS = 100
"""Smaller groups get no histogram [1]."""
MOST_GROUPS = 6
ALL = "all tokens"
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
        bins by group; `scores`: standard deviations by direction; `tests`: all of them; `replays`: what shows a fault.
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
        "scores": [] if evidence is None else _scores(evidence),
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


def _scores(evidence: Evidence) -> list[Row]:
    return [
        {"direction": name, "deviations": result.statistic, "pvalue": result.pvalue}
        for name, result in directional_scores(evidence.observed).items()
    ]
