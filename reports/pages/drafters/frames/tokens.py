"""Frames of how many drafts stand: as counted, by fitted laws, and by temperature."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports.pages.drafters.study import Study
from specsim.acceptance import Acceptance
from specsim.capacity.variants import MAX_GAMMA
from specsim.tau import expected_tokens

Rows = Iterator[dict[str, Any]]

DEPTHS = range(1, MAX_GAMMA + 1)
BAND_DEPTHS = (1, 2, 4, 6, 8, 12, 16)
"""Where intervals over all laws are computed, each half a second; between them the band is straight."""
NORMAL = 1.96
"""Standard deviations of a 95 % interval."""


def counts(found: Study) -> Rows:
    """Acceptance by depth where it was counted, with intervals."""
    for name, counted in found.scenario.counted.items():
        low, high = counted.interval()
        for depth, share in enumerate(counted.conditional(counted.depths)):
            yield {
                "proposer": name,
                "depth": depth + 1,
                "reached": counted.reached[depth],
                "accepted": counted.accepted[depth],
                "conditional": float(share),
                "low": float(low[depth]),
                "high": float(high[depth]),
            }


def tokens(found: Study) -> Rows:
    """Tokens per round by gamma: by every law that the counts leave open, or by what is assumed of the best drafter."""
    for name, compared in found.laws.items():
        for law in compared.left_open:
            for gamma in DEPTHS:
                tau = compared.fits[law].expected_tokens(gamma)
                yield {"proposer": name, "law": law.replace("_", " "), "gamma": gamma, "E_tokens": tau}
    for one in () if found.laws else found.drafters[:1]:
        assert one.assumed is not None
        law_name = one.assumed.acceptance.name
        for gamma in DEPTHS:
            tau = expected_tokens(one.assumed.acceptance, gamma=gamma)
            yield {"proposer": one.name, "law": law_name, "gamma": gamma, "E_tokens": tau}


def tokens_band(found: Study) -> Rows:
    """What the counts, or the error of the assumed acceptance, leave open."""
    for name, compared in found.laws.items():
        for gamma in BAND_DEPTHS:
            told = compared.predict(gamma)
            yield {"proposer": name, "gamma": gamma, "low": told.low, "high": told.high}
    for one in () if found.laws else found.drafters[:1]:
        assert one.assumed is not None
        ends = [min(max(one.assumed.alpha + side * NORMAL * one.assumed.error, 0.0), 1.0) for side in (-1, 1)]
        for gamma in DEPTHS:
            low, high = (expected_tokens(Acceptance.constant(end), gamma=gamma) for end in ends)
            yield {"proposer": one.name, "gamma": gamma, "low": low, "high": high}


def tokens_measured(found: Study) -> Rows:
    """Tokens per round as counted, at each gamma up to the deepest one."""
    for name, compared in found.laws.items():
        free = compared.fits["by_depth"]
        for gamma in range(1, free.data.depths + 1):
            low, high = free.tokens_interval(gamma)
            row = {"proposer": name, "gamma": gamma, "E_tokens": free.expected_tokens(gamma)}
            yield row | {"low": low, "high": high}


def temperature(found: Study) -> Rows:
    """Published tokens per round at temperature 0 and 1."""
    listed = tomllib.loads((Path(__file__).parent / "temperature.toml").read_text(encoding="utf-8"))
    for row in listed["row"]:
        for value, tau in row["tokens"].items():
            yield {**row, "tokens": None, "temperature": float(value), "E_tokens": tau}
