"""Negative controls: what the tests say of the run's own prefixes when tokens are drawn anew, rightly and wrongly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from specsim.checks import FloatArray
from specsim.conformance.evidence import UNKNOWN, Evidence
from specsim.conformance.plan import Plan
from specsim.conformance.trial import GATE_SHARE, Trial
from specsim.distributions.draw import draw
from specsim.stats import betting_power, betting_tv
from specsim.stats.betting import DIRECTIONS as BETS
from specsim.stats.betting import STAKES
from specsim.stats.directions import available, scores

POWER = 0.99
_STREAM = 1  # not that of the looks, whose randomised PIT would know the draws
OVERSIZE = 1.6
"""A planted fault is so many times the smallest that is caught with POWER, so that it is all but sure to be caught."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """The smallest fault that a run of this size is sure to see.

    Parameters
    ----------
    direction : str
        Along which it bends the law: p'(x) = p(x) (1 + strength gain(x)), gain = (g - E_p g) / range of g.
    strength : float
        More than 1 cannot be planted: the run is too small for any fault of this kind [1].
    total_variation : float
        Its mean over tokens; 1 if it cannot be planted [1].
    """

    direction: str
    strength: float
    total_variation: float


def sight(evidence: Evidence, *, level: float) -> Sight:
    """The direction in which the weakest fault is caught by betting on all tokens with probability 0.99."""
    seen = []
    for direction in available(evidence.observed):
        if direction not in BETS:
            continue
        gain = gains(evidence, direction)
        spread = float(np.einsum("nk,nk->", evidence.observed.p, np.abs(gain)))
        variance = float(np.einsum("nk,nk,nk->", evidence.observed.p, gain, gain))
        if variance <= 0:
            continue
        size = betting_tv(spread=spread, variance=variance, n=len(evidence), **_bets(level))
        strength = 2 * size * len(evidence) / spread
        seen.append(Sight(direction=direction, strength=strength, total_variation=size if strength <= 1 else 1.0))
    return min(seen, key=lambda one: one.strength, default=Sight(direction="", strength=np.inf, total_variation=1.0))


def power_at(total_variation: float, *, smallest_tv: float, level: float) -> float:
    """Probability with which a run rejects a fault that bends laws as the weakest one does that it is sure to see [1].

    Parameters
    ----------
    total_variation : float
        Of the fault, a mean over tokens [1].
    smallest_tv : float
        That of the weakest fault that the run catches with probability 0.99; see `sight` [1].
    level : float
        False-alarm rate of the run [1].

    Examples
    --------
    >>> round(power_at(0.03, smallest_tv=0.03, level=1e-6), 4), power_at(0.0, smallest_tv=0.03, level=1e-6)
    (0.99, 0.0)
    """
    return betting_power(total_variation, smallest_tv=smallest_tv, **_bets(level))


def _bets(level: float) -> dict[str, Any]:
    """How many bets share the capital, the level that one group's gate has, and the power that is asked for."""
    return {"bets": len(BETS) * len(STAKES), "level": level / 2 * GATE_SHARE, "power": POWER}


def gains(evidence: Evidence, direction: str) -> FloatArray:
    """(g - E_p g) / range of g for every cell, 0 where g is constant."""
    g = scores(evidence.observed, direction)
    span = np.ptp(g, axis=1)[:, None]
    centred = g - np.einsum("nk,nk->n", evidence.observed.p, g)[:, None]
    gain: FloatArray = np.divide(centred, span, out=np.zeros_like(g), where=span > 0)
    return np.clip(gain, -1, 1)  # a g that is constant but for rounding


def redrawn(evidence: Evidence, laws: FloatArray, *, rng: np.random.Generator) -> Evidence:
    """The same places with tokens drawn from other laws over the same cells; nothing is known of drafts and ends."""
    cell = draw(laws, rng.random(len(evidence)))
    mass = np.take_along_axis(evidence.observed.p, cell[:, None], axis=1)[:, 0]
    unknown = np.full(len(evidence), np.nan)
    return replace(
        evidence,
        observed=replace(evidence.observed, cell=cell, mass=mass),
        accepted=np.full(len(evidence), UNKNOWN),
        draft_mass=unknown,
        end_mass=unknown,
    )


def failed_controls(evidence: Evidence, plan: Plan, found: Sight) -> str | None:
    """What is wrong with the run, as its own prefixes show; None if nothing is.

    Tokens drawn anew from the target's laws must pass, and tokens from a planted fault must fail.
    """
    if found.strength > 1:
        return f"{len(evidence)} tokens are too few to be sure of any fault"
    rng = np.random.default_rng([plan.seed, len(evidence), _STREAM])
    p, groups = evidence.observed.p, tuple(evidence.strata())
    right = Trial.new(plan, groups=groups).update(redrawn(evidence, p, rng=rng))
    if right.finding is not None:
        return f"tokens drawn from the oracle's own laws fail ({right.finding.test})"
    bent = p * (1 + min(1.0, OVERSIZE * found.strength) * gains(evidence, found.direction))
    wrong = Trial.new(plan, groups=groups).update(redrawn(evidence, np.maximum(bent, 0), rng=rng))
    if wrong.finding is None:
        return f"a fault planted in the run's own prefixes was not caught ({found.direction})"
    return None
