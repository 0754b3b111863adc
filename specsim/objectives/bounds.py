"""What a divergence between target and draft guarantees of acceptance.

All bounds hold for KL(p || q) and for KL(q || p) alike, and only downwards: one token that the target allows and the
draft does not makes KL(p || q) infinite while alpha may be anything below 1. A small divergence suffices, and is not
needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError


def pinsker_bound(kl: ArrayLike) -> FloatArray:
    """Pinsker: alpha is at least 1 - sqrt(KL / 2), which says nothing where KL is 2 or more.

    Parameters
    ----------
    kl : array, shape (...)
        Kullback-Leibler divergence in either direction, infinity allowed [nat].

    Returns
    -------
    array, shape (...)
        At least 0 [1].

    Examples
    --------
    >>> pinsker_bound([0.0, 0.5, 8.0])
    array([1. , 0.5, 0. ])
    """
    return np.asarray(np.maximum(1 - np.sqrt(_divergence(kl) / 2), 0))


def bretagnolle_huber_bound(kl: ArrayLike) -> FloatArray:
    """Bretagnolle and Huber: alpha is at least 1 - sqrt(1 - exp(-KL)), above 0 for every finite KL.

    Parameters
    ----------
    kl : array, shape (...)
        Kullback-Leibler divergence in either direction, infinity allowed [nat].

    Returns
    -------
    array, shape (...)
        [1].

    Examples
    --------
    >>> float(bretagnolle_huber_bound(np.log(4 / 3)).round(12)), float(bretagnolle_huber_bound(100.0)) > 0
    (0.5, True)
    """
    kl = _divergence(kl)
    return np.asarray(np.exp(-kl) / (1 + np.sqrt(-np.expm1(-kl))))  # the same, without cancelling


def exponential_bound(kl: ArrayLike) -> FloatArray:
    """Bretagnolle and Huber's, weakened to a simple form: alpha is at least exp(-KL) / 2 [1].

    Examples
    --------
    >>> float(exponential_bound(0.0))
    0.5
    """
    return np.asarray(np.exp(-_divergence(kl)) / 2)


def alpha_bound(kl: ArrayLike) -> FloatArray:
    """The best of the bounds: Pinsker's up to a KL of about 1.6, then Bretagnolle and Huber's [1].

    Examples
    --------
    >>> alpha_bound([0.5, 4.0]).round(4)
    array([0.5   , 0.0092])
    """
    return np.asarray(np.maximum(pinsker_bound(kl), bretagnolle_huber_bound(kl)))


def mean_alpha_bound(kl: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """What a mean divergence over contexts guarantees of the mean alpha.

    Parameters
    ----------
    kl : array, shape (N,)
        Divergence in each context [nat].
    weights : array, shape (N,), or None
        How often each context occurs, relatively; None is equally often.

    Returns
    -------
    float
        `alpha_bound` at the mean divergence [1].

    Notes
    -----
    Each bound is 1 less a concave function of KL, so their maximum is convex, and by Jensen's inequality its mean is at
    least its value at the mean.

    Examples
    --------
    >>> mean_alpha_bound([0.0, 1.0])
    0.5
    """
    each = np.atleast_1d(_divergence(kl))
    shares = np.ones(each.shape) if weights is None else checks.array("weights", weights)
    if shares.shape != each.shape or (shares < 0).any() or shares.sum() <= 0:
        raise InputError(f"weights must be at least 0, one for each of {each.shape} divergences, with a positive sum")
    present = shares > 0  # nothing times infinity is nothing here
    return float(alpha_bound(np.average(each[present], weights=shares[present])))


def _divergence(kl: ArrayLike) -> FloatArray:
    values = np.asarray(kl, dtype=np.float64)
    if not (values >= 0).all():
        raise InputError(f"kl must be at least 0, got {values[~(values >= 0)].reshape(-1)[0]}")
    return values
