"""The tail of a sum of independent discrete variables, from its exact cumulant function."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from specsim.checks import FloatArray

_STEPS = 60
_LARGEST = 500.0
"""No exponent beyond this: exp stays finite, and the bound only becomes looser."""


def upper_tail(total: float, *, values: FloatArray, masses: FloatArray) -> float:
    """P(S >= total) for S the sum of N independent variables.

    Parameters
    ----------
    total : float
        The sum observed [1].
    values : array (N, K)
        What each variable may be, each with mean 0 [1].
    masses : array (N, K)
        The probabilities of that, rows sum to 1 [1].

    Returns
    -------
    float
        Approximation of the probability, at most Chernoff's bound; 1 where `total` is at or below the mean [1].

    Notes
    -----
    Lugannani and Rice's saddlepoint formula in its form for lattices [1]_, the lattice as wide as the widest range of
    a variable: right for indicators, and too large, never too small, by at most that correction for anything finer.
    So a sum in which few variables count gives no false alarm. Chernoff's bound exp(K(t) - t s), which is exact in
    finite samples at any t, caps it.

    References
    ----------
    .. [1] Daniels, "Tail probability approximations", International Statistical Review 55 (1987), section 5.

    Examples
    --------
    >>> coins = np.tile([-0.5, 0.5], (20, 1))
    >>> p = upper_tail(10.0, values=coins, masses=np.full((20, 2), 0.5))
    >>> f"{p:.2g}", f"{0.5**20:.2g}"
    ('9.5e-07', '9.5e-07')

    """
    spread = np.where(masses > 0, values, 0.0)
    width = float((spread.max(axis=1) - spread.min(axis=1)).max(initial=0.0))
    if width == 0 or total <= 0:
        return 1.0 if total <= 0 else 0.0
    t, log_mgf, slope, curvature = _saddlepoint(total, spread, masses, limit=_LARGEST / width)
    deviance = max(0.0, t * total - log_mgf)
    chernoff = math.exp(-deviance)
    sd = math.sqrt(curvature)
    if sd == 0 or not _reached(slope, total, sd):  # at the largest sum there is, where the bound is exact
        return chernoff
    return min(chernoff, _lattice_tail(t, deviance, sd, width))


def _lattice_tail(t: float, deviance: float, sd: float, width: float) -> float:
    w = math.sqrt(2 * deviance)
    density = math.exp(-deviance) / math.sqrt(2 * math.pi)
    if t * sd < 1e-4:  # the difference of reciprocals tends to half the lattice, give or take the skewness
        return 0.5 + density * width / (2 * sd)
    v = -math.expm1(-t * width) / width * sd
    return float(ndtr(-w)) + density * (1 / v - 1 / w)


def _saddlepoint(
    total: float, values: FloatArray, masses: FloatArray, *, limit: float
) -> tuple[float, float, float, float]:
    """The t > 0 at which K'(t) = total, or `limit`, with K, K' and K'' there; Newton's steps inside a bracket."""
    low, high = 0.0, limit
    t = min(total / max(float((masses * values**2).sum()), 1e-300), limit)
    for _ in range(_STEPS):
        log_mgf, slope, curvature = _cumulants(t, values, masses)
        if _reached(slope, total, math.sqrt(curvature)) or (t == limit and slope < total):
            break
        low, high = (t, high) if slope < total else (low, t)
        step = t + (total - slope) / curvature if curvature > 0 else math.inf
        t = step if low < step < high else (limit if slope < total and high == limit else (low + high) / 2)
    return t, log_mgf, slope, curvature


def _reached(slope: float, total: float, sd: float) -> bool:
    return abs(slope - total) <= max(1e-4 * min(sd, total), 1e-9 * sd)  # the tail is off by about 1e-4 of itself


def _cumulants(t: float, values: FloatArray, masses: FloatArray) -> tuple[float, float, float]:
    """K(t) and its first two derivatives, summed over the variables."""
    tilted = np.exp(t * values)
    tilted *= masses
    norm = tilted.sum(axis=1)
    tilted *= values
    first = tilted.sum(axis=1) / norm
    second = np.einsum("nk,nk->n", tilted, values) / norm
    return float(np.log(norm).sum()), float(first.sum()), max(0.0, float((second - first**2).sum()))
