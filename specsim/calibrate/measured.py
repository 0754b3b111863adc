"""What rows show, without a model: tau, round seconds and speedup, each with an interval."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from specsim.calibrate.estimate import Estimate, checked_level, from_replicates
from specsim.calibrate.resample import bootstrap_weights, ratio
from specsim.calibrate.rows import PLAIN, Rows, columns
from specsim.errors import InputError
from specsim.records import RoundRecord


def measured_tau(
    records: Iterable[RoundRecord], *, level: float = 0.95, replicates: int = 400, seed: int = 0
) -> Estimate:
    """Tokens committed per full round, bonus included [1].

    Parameters
    ----------
    records : iterable of RoundRecord
        Rows of one proposer at one gamma, rows of a text in time order.
    level, replicates, seed
        Of the interval, and of the bootstrap over requests.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        Plain rows, several proposers or gammas, or fewer than two requests.

    Notes
    -----
    Tokens over rounds, both summed over requests: long texts count more, as they do for throughput. Cut rounds are left
    out: those that asked for fewer tokens near the end of a text, and those that committed no bonus token because the
    text ended on an accepted draft.

    Examples
    --------
    >>> rows = [RoundRecord(request=str(r), round=i, proposer="ngram", verifier="greedy", gamma=4, drafted=4,
    ...                     accepted=(r + i) % 3, committed=(r + i) % 3 + 1) for r in range(4) for i in range(20)]
    >>> measured_tau(rows).value
    1.9875
    """
    rows, gamma = _drafting(records)
    value, replicated = ratio(
        rows.sums(rows.committed, rows.full),
        rows.sums(rows.full, rows.full),
        bootstrap_weights(rows, replicates=replicates, seed=seed),
    )
    estimate = from_replicates(value, replicated, n=rows.requests(rows.full), level=checked_level(level))
    return Estimate(
        value=value,
        low=max(1.0, estimate.low),
        high=min(gamma + 1.0, estimate.high),
        level=level,
        n=estimate.n,
    )


def measured_round_seconds(
    records: Iterable[RoundRecord], *, level: float = 0.95, replicates: int = 400, seed: int = 0
) -> Estimate:
    """Mean seconds of a full round, stalls clipped as in `calibrate` [s].

    Takes and refuses what `measured_tau` does.

    Examples
    --------
    >>> rows = [RoundRecord(request=str(r), round=i, proposer="ngram", verifier="greedy", gamma=2, drafted=2,
    ...                     accepted=1, committed=2, verify_seconds=0.04 + r / 1e3) for r in range(3) for i in range(9)]
    >>> round(measured_round_seconds(rows).value, 6)
    0.041
    """
    rows, _ = _drafting(records)
    value, replicated = ratio(
        rows.sums(rows.total, rows.full),
        rows.sums(rows.full, rows.full),
        bootstrap_weights(rows, replicates=replicates, seed=seed),
    )
    return from_replicates(value, replicated, n=rows.requests(rows.full), level=checked_level(level))


def measured_speedup(
    records: Iterable[RoundRecord],
    plain: Iterable[RoundRecord],
    *,
    level: float = 0.95,
    replicates: int = 400,
    seed: int = 0,
) -> Estimate:
    """Tokens per second of full rounds over tokens per second of plain decoding [1].

    Parameters
    ----------
    records : iterable of RoundRecord
        As in `measured_tau`.
    plain : iterable of RoundRecord
        Plain rows, of the same requests where possible: what they share then cancels.
    level, replicates, seed
        Of the interval, and of the bootstrap over requests.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        As in `measured_tau`; drafting rows in `plain`; fewer than two plain requests; rounds of no seconds.

    Notes
    -----
    A ratio of ratios of sums (renewal-reward), never a mean over requests or rounds of ratios.

    Examples
    --------
    >>> rows = [RoundRecord(request=str(r), round=i, proposer="ngram", verifier="greedy", gamma=4, drafted=4,
    ...                     accepted=1, committed=2, verify_seconds=0.05) for r in range(3) for i in range(9)]
    >>> plain = [RoundRecord(request=str(r), round=i, proposer="none", verifier="greedy", gamma=0, drafted=0,
    ...                      accepted=0, committed=1, verify_seconds=0.04) for r in range(3) for i in range(9)]
    >>> round(measured_speedup(rows, plain).value, 6)
    1.6
    """
    drafting, beside = list(records), list(plain)
    if any(row.proposer != PLAIN for row in beside):
        raise InputError(f"plain must hold rows of proposer {PLAIN!r} only, got drafting rows")
    _drafting(drafting)
    rows = columns([*drafting, *beside])
    counts = [rows.requests(where) for where in (rows.full, rows.plain)]
    if counts[1] < 2:
        raise InputError(f"plain must hold at least two requests, since an interval needs two, got {counts[1]}")
    weights = bootstrap_weights(rows, replicates=replicates, seed=seed)
    speeds = []
    for where in (rows.full, rows.plain):
        seconds = rows.sums(rows.total, where)
        if seconds.sum() <= 0:
            raise InputError("seconds of rounds must be above 0, got 0 in all")
        speeds.append(ratio(rows.sums(rows.committed, where), seconds, weights))
    (fast, fasts), (slow, slows) = speeds
    return from_replicates(fast / slow, np.asarray(fasts / slows), n=min(counts), level=checked_level(level))


def _drafting(records: Iterable[RoundRecord]) -> tuple[Rows, int]:
    """Rows of one proposer and one gamma."""
    rows = columns(records)
    if rows.plain.any():
        raise InputError(f"records must be of one proposer that drafts, got plain rows (proposer {PLAIN!r}) too")
    gammas = np.unique(rows.asked[rows.full]).tolist()
    if len(gammas) != 1:
        raise InputError(f"gamma must be one in all texts, got {gammas or 'no full round'}")
    found = rows.requests(rows.full)
    if found < 2:
        raise InputError(f"records must hold at least two requests, since an interval needs two, got {found}")
    return rows, int(gammas[0])
