"""How often two laws draw the same token without talking: the Gumbel coupling, its bounds, and independent draws.

In a race with shared exponential noise E, law q picks the token of least E/q and law p that of least E/p. With
r_i = q_i / p_i and C(r) = sum_i max(q_i, p_i r), everything about the two picks follows from

- P(both pick x) = q_x / C(r_x) = 1 / sum_i max(p_i / p_x, q_i / q_x),
- P(q picks x, p picks v) = q_x p_v (F(r_x) - F(r_v))+ for v other than x, with F(r) the integral of C^-2 from 0 to r.

References
----------
.. [1] Daliri, Musco, Suresh, "Coupling without communication and drafter-invariant speculative decoding",
   arXiv 2408.07978.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws


def gumbel_match(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Probability that both laws pick the same token under shared Gumbel noise.

    Parameters
    ----------
    p, q : array, shape (..., V)
        Two laws; leading axes broadcast [1].

    Returns
    -------
    array, shape (...)
        sum_x 1 / sum_i max(p_i / p_x, q_i / q_x) over tokens that both allow [1].

    Notes
    -----
    Exact [1], in the time of a sort. Between `minhash_match` and `distributions.overlap`.

    Examples
    --------
    >>> float(gumbel_match([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).round(4))  # 41/65; 7/13 <= it <= 7/10
    0.6308
    """
    return np.asarray(shared_mass(*laws(p, q)).sum(axis=-1))


def minhash_match(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """The match of weighted MinHash, sum min(p, q) / sum max(p, q) = (1 - TV) / (1 + TV) [1].

    Examples
    --------
    >>> float(minhash_match([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).round(4))
    0.5385
    """
    p, q = laws(p, q)
    return np.asarray(np.minimum(p, q).sum(axis=-1) / np.maximum(p, q).sum(axis=-1))


def independent_match(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """The match of two independent draws, sum p q: what exact comparison of sampled drafts accepts [1].

    Examples
    --------
    >>> float(independent_match([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).round(4))
    0.29
    """
    p, q = laws(p, q)
    return np.asarray((p * q).sum(axis=-1))


def shared_mass(p: FloatArray, q: FloatArray) -> FloatArray:
    """P(both pick x) for every token, shape (..., V) [1]."""
    p, q = np.broadcast_arrays(p, q)
    order, p, q, below, above = _sorted(p, q)
    shared = (p > 0) & (q > 0)
    with np.errstate(over="ignore", divide="ignore"):  # a token of 1e-310 is matched with probability 0
        odds = np.divide(below, p, where=shared, out=np.full(p.shape, np.inf, dtype=np.float64))
        odds += np.divide(above, q, where=shared, out=np.zeros(p.shape))
        return _unsorted(1 / odds, order)


def pick_given_draft(p: FloatArray, q: FloatArray, token: IntArray) -> FloatArray:
    """Weights of p's pick given that q picked `token` and p picked another, shape (M, V); they sum to P(another)."""
    order, p_sorted, q_sorted, below, above = _sorted(p, q)
    at, finite = _ratios(p_sorted, q_sorted)
    with np.errstate(over="ignore"):  # past a token of 1e-310 C is so large that nothing is left to integrate
        heights = at * below + above  # C(r), at the tokens that p allows
        steps = np.diff(at, axis=-1, prepend=0.0)
        start = np.concatenate((q.sum(axis=-1, keepdims=True, dtype=np.float64), heights[..., :-1]), axis=-1)
        pieces = np.divide(steps, start * heights, out=np.zeros_like(steps), where=finite)  # C is linear between tokens
    integral = np.cumsum(pieces, axis=-1)
    last = np.take_along_axis(heights, finite.sum(axis=-1, keepdims=True) - 1, axis=-1)
    integral = np.where(finite, integral, integral[..., -1:] + 1 / last)  # C grows by p's mass, 1, past the last
    scores = _unsorted(integral, order)
    drafted = np.take_along_axis(scores, token[:, None], axis=-1)
    return np.asarray(p * np.maximum(drafted - scores, 0))


def _sorted(p: FloatArray, q: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Tokens by rising q/p: their order, p and q in it, mass of p up to each, mass of q after each."""
    ratios, finite = _ratios(p, q)
    order = np.argsort(np.where(finite, ratios, np.inf), axis=-1)
    p, q = (np.take_along_axis(law, order, axis=-1) for law in (p, q))
    after = np.cumsum(q[..., ::-1], axis=-1, dtype=np.float64)[..., ::-1]
    above = np.concatenate((after[..., 1:], np.zeros_like(after[..., :1])), axis=-1)
    return order, p, q, np.cumsum(p, axis=-1, dtype=np.float64), above


def _ratios(p: FloatArray, q: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The quotients q/p, 0 where there is none, and whether there is one."""
    with np.errstate(over="ignore"):
        ratios = np.divide(q, p, where=p > 0, out=np.full(p.shape, np.inf, dtype=np.float64))
    finite = np.isfinite(ratios)
    ratios[~finite] = 0
    return ratios, finite


def _unsorted(values: FloatArray, order: IntArray) -> FloatArray:
    back: FloatArray = np.empty_like(values)
    np.put_along_axis(back, order, values, axis=-1)
    return back
