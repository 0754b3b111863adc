"""The best acceptance that any rule can reach with K candidates: the optimal transport value, by one sort."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray
from specsim.verifiers.multi_draft.candidates import candidate_count, law_pairs
from specsim.verifiers.multi_draft.covered import covered_without_replacement
from specsim.verifiers.multi_draft.sorted_rows import running_sum


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

    Notes
    -----
    Hu et al. (arXiv 2502.18779): the dual of the transport problem is a choice of H, and the best H is a prefix of the
    tokens sorted by p / q. With replacement that is provable at once: for a given q(H) the smallest p(H) is a
    fractional knapsack, convex and piecewise linear in q(H); less q(H)^K it is concave between its corners, so the
    minimum is at a corner. Without replacement no proof is given here: prefixes were compared with all sets of small
    vocabularies, and no set did better.

    Time is that of the sort, but for more than two candidates without replacement, which take a quadrature of about
    a hundred passes over the vocabulary (see `covered_without_replacement`).

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> [float(optimum(p, q, candidates=2, replacement=kind).round(4)) for kind in (True, False)]
    [0.86, 0.9857]
    """
    target, draft, lead = law_pairs(p, q)
    order = by_ratio(target, draft)
    ordered = np.take_along_axis(draft, order, axis=-1)
    mass = running_sum(np.take_along_axis(target, order, axis=-1))
    if replacement:
        covered = running_sum(ordered) ** candidate_count(candidates)
    else:
        covered = covered_without_replacement(ordered, candidates=candidate_count(candidates))
    return np.asarray(np.clip(1 + (mass - covered).min(axis=-1), 0, 1)).reshape(lead)


def by_ratio(p: FloatArray, q: FloatArray) -> np.ndarray:
    """Tokens in the order of rising p / q, those that q forbids last."""
    return np.argsort(np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0), axis=-1)
