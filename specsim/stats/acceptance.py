"""Do the rounds end where the theory says? Accepted lengths against their exact law, acceptances against their chances.

A verifier may be lossless and still accept too little: texts do not show it, lengths do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.chi_square import judged, pearson
from specsim.stats.chi_square_tail import guarded
from specsim.stats.power import LEVEL, POWER, score_tv, smallest_total_variation
from specsim.stats.result import TestResult
from specsim.stats.saddlepoint import upper_tail


def accepted_lengths(lengths: ArrayLike, law: ArrayLike, *, min_expected: float = 5.0) -> TestResult:
    """Chi-square of the drafts accepted per round.

    Parameters
    ----------
    lengths : array (N,)
        Drafts accepted in each round, 0..gamma [1].
    law : array (gamma + 1,) or (N, gamma + 1)
        Their probabilities: the same for all rounds, or each round's own given its history [1].
    min_expected : float
        Lengths that expect fewer are merged, the longest first [1].

    Returns
    -------
    TestResult
        `smallest_tv` is between laws of lengths, averaged over rounds.

    Raises
    ------
    InputError
        Lengths outside 0..gamma, a law that does not sum to 1, so few rounds that one cell is left.

    Notes
    -----
    With one law: Pearson's statistic. With each round's own: the difference of counts d = O - E against its covariance
    C, the sum of diag(p) - p p', as d' C^+ d; Pearson's statistic would be too small.

    Examples
    --------
    >>> accepted_lengths([0] * 50 + [1] * 50, [0.5, 0.5]).statistic
    0.0

    """
    laws = checks.distribution("law", law).astype(np.float64)
    cells = laws.shape[-1]
    counts = _counts(lengths, cells)
    n = int(counts.sum())
    if laws.ndim == 1:
        return judged("accepted_lengths", [pearson(counts, laws, min_expected=min_expected)])
    if laws.shape != (n, cells):
        raise InputError(f"law must be one row, or one per round ({n}), got shape {laws.shape}")
    impossible = np.flatnonzero(laws[np.arange(n), np.asarray(lengths)] == 0)
    if impossible.size:
        detail = f"round {impossible[0]} has a length of probability 0"
        return TestResult(test="accepted_lengths", statistic=float("inf"), pvalue=0.0, n=n, detail=detail)
    observed, merged = _merge(counts, laws, min_expected)
    statistic = _quadratic_form(observed, merged)
    degrees = observed.size - 1
    return TestResult(
        test="accepted_lengths",
        statistic=statistic,
        pvalue=guarded(float(stats.chi2.sf(statistic, degrees)), least=float(merged.sum(axis=0).min())),
        n=n,
        detail=f"{observed.size} of {cells} cells",
        smallest_tv=smallest_total_variation(n=n, cells=degrees + 1, level=LEVEL, power=POWER),
        details={"cells": float(observed.size), "degrees": float(degrees)},
    )


def accepted_drafts(accepted: ArrayLike, probabilities: ArrayLike) -> TestResult:
    """Whether as many drafts were accepted as their own probabilities say: sum of min(p, q) for rejection sampling.

    Parameters
    ----------
    accepted : array of bool (N,)
        Of every draft that was judged.
    probabilities : array (N,)
        Of its acceptance, given what came before it [1].

    Returns
    -------
    TestResult
        The statistic is the excess over its standard deviation. `smallest_tv` is the mean change of the probability
        that is caught, where it goes as the variance of each.

    Raises
    ------
    InputError
        No drafts, another shape, probabilities outside [0, 1].

    Notes
    -----
    The count follows the Poisson-binomial law; twice its tail by :func:`~specsim.stats.saddlepoint.upper_tail`.

    Examples
    --------
    >>> f"{accepted_drafts([True] * 20, [0.5] * 20).pvalue:.1g}"
    '2e-06'

    """
    chances = checks.probabilities("probabilities", probabilities, ndim=1).astype(np.float64)
    hits = np.asarray(accepted)
    if hits.dtype != np.bool_ or hits.shape != chances.shape or hits.size == 0:
        raise InputError(f"accepted must be bool of shape {chances.shape} and not empty, got {hits.dtype} {hits.shape}")
    excess, variance = float((hits - chances).sum()), float((chances * (1 - chances)).sum())
    values, masses = np.stack([-chances, 1 - chances], axis=1), np.stack([1 - chances, chances], axis=1)
    sign = 1 if excess >= 0 else -1
    tail = upper_tail(abs(excess), values=sign * values, masses=masses)
    return TestResult(
        test="accepted_drafts",
        statistic=excess / np.sqrt(variance) if variance > 0 else float(np.sign(excess)) * np.inf if excess else 0.0,
        pvalue=min(1.0, 2 * tail),
        n=hits.size,
        detail=f"{int(hits.sum())} accepted, {chances.sum():.1f} expected",
        smallest_tv=score_tv(spread=2 * variance, variance=variance, n=hits.size),
    )


def _counts(lengths: ArrayLike, cells: int) -> FloatArray:
    values = checks.integers("lengths", lengths)
    if values.ndim != 1 or values.size == 0:
        raise InputError(f"lengths must be one axis of at least one round, got shape {values.shape}")
    if (values >= cells).any():
        place = int(np.argmax(values >= cells))
        raise InputError(f"lengths[{place}] must be in 0..{cells - 1}, got {values[place]}")
    return np.bincount(values, minlength=cells).astype(np.float64)


def _merge(counts: FloatArray, laws: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Counts and laws with neighbouring lengths merged from the longest down until each cell expects enough."""
    expected = laws.sum(axis=0)
    starts, room = [], 0.0
    for length in range(expected.size - 1, -1, -1):
        room += expected[length]
        if room >= least:
            starts.append(length)
            room = 0.0
    if len(starts) < 2:
        raise InputError(f"lengths must leave two cells that expect {least:g} each, got {int(counts.sum())} rounds")
    starts[-1] = 0
    edges = starts[::-1]
    return np.add.reduceat(counts, edges), np.add.reduceat(laws, edges, axis=1)


def _quadratic_form(observed: FloatArray, laws: FloatArray) -> float:
    gap = (observed - laws.sum(axis=0))[1:]  # the last cell follows from the others
    inner = laws[:, 1:]
    covariance = np.diag(inner.sum(axis=0)) - inner.T @ inner
    return float(gap @ np.linalg.solve(covariance, gap))
