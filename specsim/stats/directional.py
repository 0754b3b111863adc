"""Directional scores: is the sum of g(x) - E_p g what chance allows, and if not, what does the fault look like?"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from specsim.errors import InputError
from specsim.stats.directions import CAUSES, available, centred, scores
from specsim.stats.observed import Observed
from specsim.stats.power import score_tv
from specsim.stats.result import TestResult
from specsim.stats.saddlepoint import upper_tail


def directional_score(observed: Observed, *, direction: str) -> TestResult:
    """Sum over all tokens of g(x) - E_p g in one direction, against its exact cumulant function.

    Parameters
    ----------
    observed : Observed
        N tokens over K cells, with the laws that the direction needs.
    direction : str
        One of :data:`~specsim.stats.directions.DIRECTIONS`.

    Returns
    -------
    TestResult
        The statistic is the sum over its exact standard deviation (0 where nothing is random); its sign is in
        `details`, the cause that it points to in `detail`. `smallest_tv` is of faults that tilt the law in this
        direction, p'(x) = p(x) (1 + e (g(x) - E_p g)); it grows with sight of others.

    Raises
    ------
    InputError
        No tokens, an unknown direction, or one whose laws are missing.

    Notes
    -----
    Two-sided; the p-value is twice :func:`~specsim.stats.saddlepoint.upper_tail`: conservative by the lattice
    correction, so that a sum with few effective tokens gives no false alarm. The laws of later tokens depend on
    earlier ones, so the sum is a martingale whose conditional cumulants are known, and the formula takes their sum
    for fixed. The betting process of :mod:`specsim.stats.betting` needs no such step.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> sure = observe([0] * 40, log_p=np.log(np.full((40, 2), 0.5)))
    >>> result = directional_score(sure, direction="argmax_p")
    >>> round(result.statistic, 2), f"{result.pvalue:.1g}", f"{2 * 0.5**40:.1g}"
    (6.32, '2e-12', '2e-12')

    """
    if len(observed) == 0:
        raise InputError("observed must hold at least one token, got none")
    gaps = centred(scores(observed, direction), observed.p)
    total = float(np.take_along_axis(gaps, observed.cell[:, None], axis=1).sum())
    variance = float(np.einsum("nk,nk,nk->", observed.p, gaps, gaps))
    sign = 1 if total >= 0 else -1
    tail = upper_tail(abs(total), values=sign * gaps, masses=observed.p)
    spread = float(np.einsum("nk,nk->", observed.p, np.abs(gaps)))
    statistic = total / math.sqrt(variance) if variance > 0 else (math.copysign(math.inf, total) if tail == 0 else 0.0)
    return TestResult(
        test=f"directional_score.{direction}",
        statistic=statistic,
        pvalue=min(1.0, 2 * tail),
        n=len(observed),
        detail=CAUSES[direction, sign],
        smallest_tv=score_tv(spread=spread, variance=variance, n=len(observed)),
        details={"direction": direction, "sign": float(sign), "total": total, "variance": variance},
    )


def directional_scores(observed: Observed) -> dict[str, TestResult]:
    """Every direction that `observed` has the laws for, by name.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> list(directional_scores(observe([0], log_p=np.log([[0.2, 0.5, 0.3]]))))
    ['log_p', 'argmax_p', 'low_id', 'high_id']

    """
    return {direction: directional_score(observed, direction=direction) for direction in available(observed)}


def likeliest_cause(results: Mapping[str, TestResult]) -> TestResult:
    """The result of the winning direction, the one with the largest absolute statistic; `detail` names its cause.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> sure = observe([0] * 40, log_p=np.log(np.full((40, 2), 0.5)))
    >>> likeliest_cause(directional_scores(sure)).detail
    "the target's argmax comes too often: greedy rounds, or truncation"

    """
    if not results:
        raise InputError("results must hold at least one direction, got none")
    return max(results.values(), key=lambda result: abs(result.statistic))
