"""Laws as rows of probabilities, and how two of them compare."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.special import entr, rel_entr

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError


def laws(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Two checked laws over one vocabulary."""
    p, q = checks.distribution("p", p), checks.distribution("q", q)
    if p.shape[-1] != q.shape[-1]:
        raise InputError(f"p and q must have one vocabulary, got {p.shape[-1]} and {q.shape[-1]} tokens")
    return p, q


def one_hot(tokens: ArrayLike, *, vocabulary: int, dtype: DTypeLike = np.float64) -> FloatArray:
    """Laws that put everything on one token each.

    Examples
    --------
    >>> one_hot(np.array([2, 0]), vocabulary=3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    rows: FloatArray = np.zeros((*np.shape(tokens), vocabulary), dtype=dtype)
    np.put_along_axis(rows, np.asarray(tokens)[..., None], 1, axis=-1)
    return rows


def overlap(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """The mass that two laws share, sum_x min(p(x), q(x)): the acceptance probability of a draft drawn from q.

    Parameters
    ----------
    p, q : array, shape (..., V)
        Target and draft laws; leading axes broadcast [1].

    Returns
    -------
    array, shape (...)
        1 - total variation [1].

    Notes
    -----
    Exact; Leviathan et al. (arXiv 2211.17192), theorem 3.5 with lemma 3.3.

    Examples
    --------
    >>> float(overlap([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    0.7
    """
    p, q = laws(p, q)
    return np.asarray(np.minimum(p, q).sum(axis=-1))


def total_variation(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Half of sum_x abs(p(x) - q(x)) [1].

    Examples
    --------
    >>> float(total_variation([1.0, 0.0], [0.0, 1.0]))
    1.0
    """
    p, q = laws(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def argmax_overlap(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """The acceptance probability of a draft that is q's first argmax, judged as one-hot: p at that token [1].

    Examples
    --------
    >>> float(argmax_overlap([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    0.2
    """
    p, q = np.broadcast_arrays(*laws(p, q))
    return np.asarray(np.take_along_axis(p, q.argmax(axis=-1)[..., None], axis=-1)[..., 0])


def entropy(p: ArrayLike) -> FloatArray:
    """Shannon entropy of each row [nat].

    Examples
    --------
    >>> float(entropy([0.5, 0.5])) == float(np.log(2))
    True
    """
    return np.asarray(entr(checks.distribution("p", p)).sum(axis=-1))


def kl_divergence(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """KL(p || q) = sum_x p(x) log(p(x) / q(x)) of each pair of rows; infinite where q forbids what p allows [nat].

    Examples
    --------
    >>> float(kl_divergence([0.5, 0.5], [0.5, 0.5])), float(kl_divergence([0.5, 0.5], [1.0, 0.0]))
    (0.0, inf)
    """
    p, q = laws(p, q)
    return np.asarray(rel_entr(p, q).sum(axis=-1))
