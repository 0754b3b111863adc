"""calibrate: rows in, parts with intervals out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from specsim.acceptance import Acceptance
from specsim.calibrate.calibration import Calibration
from specsim.calibrate.depths import Depths, acceptance_depths, proposed_depths
from specsim.calibrate.draws import Draws, TargetFit
from specsim.calibrate.estimate import Estimate, checked_level, from_replicates
from specsim.calibrate.line import Line, line
from specsim.calibrate.losses import fitted_losses
from specsim.calibrate.resample import bootstrap_weights, ratio
from specsim.calibrate.rows import PLAIN, Rows, columns
from specsim.calibrate.spread import spread_between_requests
from specsim.calibrate.stairs import own_stairs, scaled_stairs
from specsim.catalog import Hardware, ModelShape
from specsim.checks import FloatArray
from specsim.drafters import MeasuredDrafter
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.roofline import Staircase


def calibrate(
    records: Iterable[RoundRecord],
    *,
    level: float = 0.95,
    replicates: int = 400,
    seed: int = 0,
    staircase: Staircase | None = None,
    model: ModelShape | None = None,
    hardware: Hardware | None = None,
    dtype: str = "bfloat16",
) -> Calibration:
    """Fit acceptance, drafter and target to the rows of a decoder, or of a simulation.

    Parameters
    ----------
    records : iterable of RoundRecord
        Plain rows (proposer "none") and rows of one proposer, at one gamma or several; rows of a text in time order.
    level : float
        Of the intervals, in (0, 1) [1].
    replicates, seed : int
        Of the bootstrap [1].
    staircase : Staircase, optional
        Benchmarked passes of the target; one factor on it is fitted.
    model, hardware, dtype : ModelShape, Hardware, str, optional
        What the target is and runs on; its `Efficiency` is fitted. With neither, the target is a staircase of the
        rows' own mean pass seconds.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        No plain rows, no drafting rows, several proposers or verifiers, fewer than two requests of either kind,
        both a staircase and a model, one of model and hardware alone, or rows that do not determine a part.

    Notes
    -----
    Acceptance counts a draft as judged in rounds that drafted it and accepted all before it, pooled over gammas.
    Seconds are means after stalls were clipped, not medians: means of parts add up to the mean of rounds, and
    throughput is a ratio of means. Intervals resample whole requests, all parts jointly, and take Student-t quantiles
    with one degree of freedom less than requests on the log scale (logit for probabilities, plain for seconds that
    may be 0).

    Examples
    --------
    >>> rows = [
    ...     RoundRecord(request=str(r), round=i, proposer=name, verifier="greedy", gamma=g, drafted=g,
    ...                 accepted=(r + i) % (g + 1), committed=(r + i) % (g + 1) + 1,
    ...                 draft_seconds=0.004 * g, verify_seconds=0.04 + 0.002 * g + 0.0001 * (r % 3))
    ...     for name, g in (("none", 0), ("small", 2), ("small", 4)) for r in range(6) for i in range(30)
    ... ]
    >>> fitted = calibrate(rows)
    >>> fitted.gammas, fitted.acceptance.conditional(2).round(3), round(fitted.drafter.per_token_seconds, 6)
    ((2, 4), array([0.733, 0.636]), 0.004)
    """
    checked_level(level)
    rows = columns(records)
    _check(rows, staircase=staircase, model=model, hardware=hardware)
    weights = bootstrap_weights(rows, replicates=replicates, seed=seed)
    accepted, proposed = acceptance_depths(rows, weights=weights), proposed_depths(rows, weights=weights)
    draft, sample = _draft_line(rows, weights), _sample_line(rows, weights)
    host, hosts = _mean(rows.seconds["host_seconds"], rows, rows.drafting, weights)
    plain, plains = _mean(rows.total, rows, rows.plain, weights)
    target: TargetFit
    if model is not None and hardware is not None:
        target = fitted_losses(rows, model, hardware, dtype=dtype, weights=weights, level=level)
    elif staircase is not None:
        target = scaled_stairs(rows, staircase, weights=weights, level=level)
    else:
        target = own_stairs(rows, weights=weights, level=level)
    requests = rows.requests(rows.drafting)
    estimates = {
        **accepted.estimates("acceptance", weights, level=level),
        **proposed.estimates("proposed", weights, level=level),
        **_line_estimates(draft, ("per_round_seconds", "per_token_seconds"), level=level),
        **target.estimates,
        **_line_estimates(sample, ("sample_seconds", "sample_per_token_seconds"), level=level),
        "host_seconds": from_replicates(host, hosts, n=requests, level=level),
        "plain_seconds": from_replicates(plain, plains, n=rows.requests(rows.plain), level=level),
    }
    return Calibration(
        proposer=str(rows.proposer),
        gammas=tuple(np.unique(rows.asked[rows.full]).tolist()),
        requests=requests,
        batch=int(rows.batch[0]) if (rows.batch == rows.batch[0]).all() else None,
        context=round(float(rows.context[rows.full].mean())),
        level=level,
        acceptance=_acceptance(accepted, rows),
        drafter=MeasuredDrafter(
            name=str(rows.proposer),
            per_round_seconds=draft.fixed,
            per_token_seconds=draft.slope,
            proposed=_proposed(proposed),
        ),
        target=target.cost,
        estimates=estimates,
        draws=Draws(
            accepted=accepted,
            proposed=proposed,
            target=target,
            draft=draft.replicates,
            sample=sample.replicates,
            host=hosts,
            plain=plains,
            spread=spread_between_requests(rows),
        ),
    )


def _check(rows: Rows, *, staircase: Staircase | None, model: ModelShape | None, hardware: Hardware | None) -> None:
    if (model is None) != (hardware is None):
        raise InputError("model and hardware must be given together, got one alone")
    if staircase is not None and model is not None:
        raise InputError("the target must be a staircase or a model on hardware, got both")
    for kind, where in ((f"plain rows (proposer {PLAIN!r})", rows.plain), ("full drafting rounds", rows.full)):
        found = rows.requests(where)
        if found == 0:
            raise InputError(f"records must hold {kind}, got none")
        if found == 1:
            raise InputError(f"records must hold {kind} of at least two requests, since an interval needs two, got one")


def _mean(values: FloatArray, rows: Rows, where: np.ndarray, weights: FloatArray) -> tuple[float, FloatArray]:
    return ratio(rows.sums(values, where), rows.sums(where, where), weights)


def _draft_line(rows: Rows, weights: FloatArray) -> Line:
    return line(rows, "draft_seconds", rows.drafting, weights=weights)


def _sample_line(rows: Rows, weights: FloatArray) -> Line:
    """Over drafting rows; plain rows stand for no drafts where all rounds drafted the same number."""
    drafting = rows.drafting
    several = len(np.unique(rows.drafted[drafting])) > 1
    return line(rows, "sample_seconds", drafting if several else drafting | rows.plain, weights=weights)


def _line_estimates(fitted: Line, names: tuple[str, str], *, level: float) -> dict[str, Estimate]:
    return {
        name: from_replicates(
            value,
            fitted.replicates[:, place],
            n=fitted.requests,
            level=level,
            positive=False,
            centre=float(fitted.centre[place]),
        )
        for place, (name, value) in enumerate(zip(names, (fitted.fixed, fitted.slope), strict=True))
    }


def _acceptance(accepted: Depths, rows: Rows) -> Acceptance:
    reached, stood = (counts.sum(axis=0).astype(int).tolist() for counts in (accepted.trials, accepted.hits))
    return Acceptance.from_counts(
        reached, stood, beyond="hold", source=f"{len(rows.names)} requests of {rows.proposer}"
    )


def _proposed(proposed: Depths) -> tuple[float, ...]:
    """Rates by depth, never rising; empty when every round proposed all that it was asked for."""
    rates = np.minimum.accumulate(proposed.rates)
    return () if (rates == 1).all() else tuple(rates.tolist())
