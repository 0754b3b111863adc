"""Scenario: one way to decode, with all its parts checked together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray
from specsim.cost import RoundCost, round_cost
from specsim.drafters import Drafter
from specsim.errors import InputError
from specsim.roofline import PassCost


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A target, a drafter, how often drafts are accepted, and the round's shape.

    Parameters
    ----------
    target : PassCost
        Cost of the target's passes.
    drafter : Drafter
        Cost and lengths of drafts.
    acceptance : Acceptance
        P(draft k accepted | k drafted and k - 1 accepted).
    gamma : int
        Drafted tokens asked for; 0 is plain decoding [1].
    batch, context : int
        Sequences, and tokens cached in each [1].
    sample_seconds, host_seconds : float
        Of a round without drafts [s].
    sample_per_token_seconds : float
        What sampling takes more for every drafted token [s].

    Raises
    ------
    InputError
        A part of the wrong kind, a count or time outside its range, an acceptance that does not reach depth gamma,
        or a target cost that does not cover the passes.

    Notes
    -----
    How many tokens are proposed is taken as independent of whether they are accepted, so
    P(accepted >= k) = P(drafted >= k) * survival of the acceptance at k.

    Examples
    --------
    >>> from specsim.drafters import RatioDrafter
    >>> from specsim.roofline import Staircase
    >>> flat = Staircase(tokens=(1, 9), seconds=(0.04, 0.04), source="example")
    >>> drafter = RatioDrafter(c=0.1, step_seconds=0.04)
    >>> scenario = Scenario(target=flat, drafter=drafter, acceptance=Acceptance.constant(0.7), gamma=4)
    >>> round(scenario.tokens_per_round, 4), round(scenario.cost.seconds, 4)
    (2.7731, 0.056)
    """

    target: PassCost
    drafter: Drafter
    acceptance: Acceptance
    gamma: int
    batch: int = 1
    context: int = 0
    sample_seconds: float = 0.0
    host_seconds: float = 0.0
    sample_per_token_seconds: float = 0.0

    def __post_init__(self) -> None:
        for part, kind in (("target", PassCost), ("drafter", Drafter), ("acceptance", Acceptance)):
            if not isinstance(getattr(self, part), kind):
                raise InputError(f"{part} must be of type {kind.__name__}, got {getattr(self, part)!r}")
        checks.integer("gamma", self.gamma)
        checks.integer("batch", self.batch, low=1)
        checks.integer("context", self.context)
        checks.non_negative("sample_seconds", self.sample_seconds)
        checks.non_negative("host_seconds", self.host_seconds)
        checks.positive("tokens per round", self.tokens_per_round)
        checks.positive("round seconds", self.cost.seconds)

    @property
    def accepted_survival(self) -> FloatArray:
        """P(at least k drafts accepted), k = 1..gamma, shape (gamma,) [1]."""
        return np.asarray(self.drafter.proposed_survival(self.gamma) * self.acceptance.survival(self.gamma))

    @property
    def tokens_per_round(self) -> float:
        """Expected tokens committed per round and sequence, bonus included: tau [1]."""
        return 1.0 + float(self.accepted_survival.sum())

    @property
    def cost(self) -> RoundCost:
        """Expected cost of a round [s]."""
        return round_cost(
            self.target,
            self.drafter,
            gamma=self.gamma,
            batch=self.batch,
            context=self.context,
            sample_seconds=self.sample_seconds,
            host_seconds=self.host_seconds,
            sample_per_token_seconds=self.sample_per_token_seconds,
        )

    @property
    def plain_seconds(self) -> float:
        """Seconds of one step of plain decoding: a one-token pass, its sampling and the host's part [s]."""
        step = self.target.pass_seconds(tokens=1, batch=self.batch, context=self.context)
        return float(step) + self.sample_seconds + self.host_seconds
