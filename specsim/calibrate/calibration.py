"""Calibration: the parts that rows determine, and what they predict for a further run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from specsim import checks
from specsim.acceptance import Acceptance
from specsim.calibrate.draws import Draws
from specsim.calibrate.estimate import Estimate, from_error, standard_error
from specsim.checks import FloatArray
from specsim.drafters import MeasuredDrafter
from specsim.errors import InputError
from specsim.roofline import PassCost
from specsim.scenario import Scenario


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """What a further run of `requests` requests will show, with prediction intervals.

    Parameters
    ----------
    gamma, requests : int
        The run [1].
    tau : Estimate
        Tokens committed per full round [1].
    round_seconds : Estimate
        Seconds per full round [s].
    speedup : Estimate
        Over plain decoding of the same requests [1].
    """

    gamma: int
    requests: int
    tau: Estimate
    round_seconds: Estimate
    speedup: Estimate


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Calibration:
    """Parts of a decoder, fitted to its rows.

    Parameters
    ----------
    proposer : str
        Whose drafts.
    gammas : tuple of int
        Drafted tokens per round that the rows were decoded with [1].
    requests : int
        With drafting rows; intervals have one degree of freedom less [1].
    batch : int or None
        Of the rows; None when they mix several [1].
    context : int
        Mean cached tokens of the full rounds [1].
    level : float
        Of all intervals [1].
    acceptance : Acceptance
        Counts by depth, all gammas pooled; the last depth is held beyond.
    drafter : MeasuredDrafter
        Seconds per round and token, and P(k tokens proposed).
    target : PassCost
        The target's pass.
    estimates : Mapping[str, Estimate]
        Every fitted number by name: acceptance[k], proposed[k], per_round_seconds, per_token_seconds, sample_seconds,
        sample_per_token_seconds, host_seconds, plain_seconds, and of the target pass_seconds[n], or scale, or
        bandwidth_fraction, flop_fraction and overhead_seconds.
    draws : Draws
        The replicates behind the intervals.
    """

    proposer: str
    gammas: tuple[int, ...]
    requests: int
    batch: int | None
    context: int
    level: float
    acceptance: Acceptance
    drafter: MeasuredDrafter
    target: PassCost
    estimates: Mapping[str, Estimate]
    draws: Draws = field(repr=False)

    @property
    def sample_seconds(self) -> Estimate:
        """Sampling of a round without drafts [s]."""
        return self.estimates["sample_seconds"]

    @property
    def host_seconds(self) -> Estimate:
        """The host's part of a drafting round [s]."""
        return self.estimates["host_seconds"]

    @property
    def plain_seconds(self) -> Estimate:
        """A whole step of plain decoding, as measured [s]."""
        return self.estimates["plain_seconds"]

    def scenario(self, gamma: int, *, batch: int | None = None, context: int | None = None) -> Scenario:
        """The fitted parts as a scenario, by default at the batch and the mean context of the rows.

        Raises
        ------
        InputError
            A gamma, batch or context that the parts do not cover; no batch given where the rows mix several.
        """
        asked = self.batch if batch is None else batch
        if asked is None:
            raise InputError("batch must be given, since the calibrated rows mix several")
        return Scenario(
            target=self.target,
            drafter=self.drafter,
            acceptance=self.acceptance,
            gamma=gamma,
            batch=asked,
            context=self.context if context is None else context,
            sample_seconds=self.sample_seconds.value,
            host_seconds=self.host_seconds.value,
            sample_per_token_seconds=self.estimates["sample_per_token_seconds"].value,
        )

    def predict(self, gamma: int, *, requests: int | None = None) -> Prediction:
        """Predict a further run like the calibrated rows, also for a gamma that is not among them.

        Parameters
        ----------
        gamma : int
            Drafted tokens per round, at least 1 [1].
        requests : int, optional
            Requests of the run, each as long as the calibrated ones; by default as many as were calibrated [1].

        Returns
        -------
        Prediction

        Raises
        ------
        InputError
            gamma below 1 or beyond what the target's staircase covers; rows of several batches.

        Notes
        -----
        tau = 1 + sum of P(k proposed) * survival at k; round seconds add up the parts; the speedup is
        tau * plain seconds / round seconds, where the plain step is the measured one. Variances of the logs add: that
        of the calibration, from the bootstrap, and that of the run's own mean, from the differences between requests.
        The interval is for other requests of the same kind on the same machine; it is wide for the requests that were
        calibrated on. The machine drifts, and a run shares one drift: round seconds as a whole may lie as far from the
        calibrated level as the plain steps of one text lie from those of the others. Speedup compares runs that took
        turns, so drift leaves it alone.
        """
        checks.integer("gamma", gamma, low=1)
        run = checks.integer("requests", self.requests if requests is None else requests, low=1)
        scenario = self.scenario(gamma)
        tau, seconds = scenario.tokens_per_round, scenario.cost.seconds
        taus = self.draws.tau(gamma)
        rounds = self.draws.round_seconds(gamma, batch=scenario.batch, context=scenario.context)
        between = self.draws.spread.at(gamma)
        least = self.draws.independent_variance(gamma)
        speedup = tau * self.plain_seconds.value / seconds
        return Prediction(
            gamma=gamma,
            requests=run,
            tau=self._predicted(tau, taus, own=between["tau"] / run, least=least, low=1.0, high=gamma + 1.0),
            round_seconds=self._predicted(
                seconds, rounds, own=between["round_seconds"] / run + self.draws.spread.drift
            ),
            speedup=self._predicted(
                speedup, taus * self.draws.plain / rounds, own=between["speedup"] / run, least=least
            ),
        )

    def _predicted(
        self,
        value: float,
        replicates: FloatArray,
        *,
        own: float,
        least: float = 0.0,
        low: float = 0.0,
        high: float = math.inf,
    ) -> Estimate:
        """Prediction interval: variance of the calibration (at least `least`) plus that of the run's own mean."""
        calibration = max(standard_error(replicates, n=self.requests, scale="log") ** 2, least)
        return from_error(
            value,
            error=math.sqrt(calibration + own),
            n=self.requests,
            level=self.level,
            scale="log",
            low=low,
            high=high,
        )
