"""The best acceptance that any rule can reach with K candidates: the optimal transport value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray
from specsim.distributions import laws
from specsim.errors import InputError
from specsim.verifiers.chain import normalised
from specsim.verifiers.multi_draft.candidates import candidate_count
from specsim.verifiers.multi_draft.covered import covered_without_replacement
from specsim.verifiers.multi_draft.race import MOST, Race, Two
from specsim.verifiers.multi_draft.search import least_gap, odds
from specsim.verifiers.multi_draft.sorted_rows import running_sum

LARGE = 4096
"""Tokens from which on searching is faster than sorting [1]."""
LEAST = 1e-290
"""Draft probabilities above 0 but below this overflow p / q [1]."""


def optimum(p: ArrayLike, q: ArrayLike, *, candidates: int, replacement: bool = True) -> FloatArray:
    """The largest probability with which one of K candidates can stand while the token follows p.

    Parameters
    ----------
    p, q : array, shape (..., V)
        Target and draft laws; leading axes broadcast [1].
    candidates : int
        K [1].
    replacement : bool
        Whether candidates are drawn independently, or without replacement.

    Returns
    -------
    array, shape (...)
        1 + min over sets H of tokens of p(H) - P(all candidates lie in H) [1].

    Raises
    ------
    InputError
        Rows that are no laws; a draft probability above 0 but below 1e-290.

    Notes
    -----
    Hu et al. (arXiv 2502.18779): the dual of the transport problem is a choice of H, and the best H is a prefix of the
    tokens sorted by p / q, since Q(H) = P(all candidates lie in H) is q-convex: for x and y outside H,
    (Q(H + x) - Q(H)) / q(x) is at most (Q(H + x + y) - Q(H + x)) / q(y). With replacement Q(H) is q(H)^K. Without,
    give each token a clock of rate q; the first K to ring are drawn, and let T be the time of the (K - 1)th in H. The
    former is the integral over the time t of x of exp(-q(x) t) P(fewer than K in H rang by t, none outside but x by
    max(t, T)). The latter is at least its part where x has not rung by t: the same integral, but that y need not be
    silent beyond t, and that x after t may count towards K - 1. Neither makes it smaller.

    From `LARGE` tokens on, all but a few tokens are spared the sort (`search`), which takes less time than to sort
    them. More than `MOST` candidates without replacement are the exception: they take a quadrature of about a hundred
    passes over the vocabulary (see `covered_without_replacement`).

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> [float(optimum(p, q, candidates=2, replacement=kind).round(4)) for kind in (True, False)]
    [0.86, 0.9857]
    """
    count = candidate_count(candidates)
    target, draft = np.broadcast_arrays(*laws(p, q))
    *lead, vocabulary = target.shape
    target, draft = target.reshape(-1, vocabulary), draft.reshape(-1, vocabulary)
    tiny = (draft > 0) & (draft < LEAST)
    if tiny.any():
        raise InputError(f"q must hold probabilities of 0 or at least {LEAST:g}, got {draft[tiny][0]:g}")
    if vocabulary < LARGE or (not replacement and count > MOST):
        least = _by_sorting(_law(target), _law(draft), candidates=count, replacement=replacement)
    else:
        pairs = ((_law(a), _law(b)) for a, b in zip(target, draft, strict=True))
        least = np.array([_by_search(*pair, candidates=count, replacement=replacement) for pair in pairs])
    return np.asarray(np.clip(1 + least, 0, 1)).reshape(lead)


def _by_sorting(p: FloatArray, q: FloatArray, *, candidates: int, replacement: bool) -> FloatArray:
    order = by_ratio(p, q)
    ordered = np.take_along_axis(q, order, axis=-1)
    mass = running_sum(np.take_along_axis(p, order, axis=-1))
    if replacement:
        covered = running_sum(ordered) ** candidates
    else:
        covered = covered_without_replacement(ordered, candidates=candidates)
    return np.asarray((mass - covered).min(axis=-1))


def _by_search(p: FloatArray, q: FloatArray, *, candidates: int, replacement: bool) -> float:
    if replacement or candidates == 1:
        return least_gap(p, q, lambda tokens: [q[tokens]], lambda sums, _: sums[0] ** candidates)
    if np.count_nonzero(q) <= candidates:  # all of them are drawn
        return float(p[q > 0].sum() - 1)
    if candidates == 2:
        two = Two.of(q)
        return least_gap(p, q, two.columns, two.covered)
    race = Race.of(p, q, candidates=candidates)
    return least_gap(p, q, race.columns, race.covered)


def by_ratio(p: FloatArray, q: FloatArray) -> np.ndarray:
    """Tokens in the order of rising p / q, those that q forbids last."""
    return np.argsort(odds(p, q), axis=-1)


def _law(row: FloatArray) -> FloatArray:
    """In double precision, summing to 1 but for its rounding."""
    return normalised(row.astype(np.float64, copy=False))
