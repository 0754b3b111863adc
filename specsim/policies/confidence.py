"""Confidence stopping: draft on while drafts look likely to stand, without throwing away one that was sampled.

References
----------
.. [1] Huang, Guo, Wang, "SpecDec++", arXiv 2405.19715.
.. [2] Agrawal, Jeon, Lee, "AdaEDL", arXiv 2410.18351.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import entropy


def length_before(confidences: ArrayLike, *, threshold: float) -> IntArray:
    """Stop before the first draft that does not look likely; it is not drafted at all.

    Parameters
    ----------
    confidences : array, shape (..., G)
        Confidence k from the text before draft k and its law q_k: a prediction of the chance to stand,
        `entropy_confidence`, the largest probability of q_k. Never from draft k itself: then `length_keeping` is right
        and this is not. For a bound on the chance of any rejection [1], give running products [1].
    threshold : float
        Least confidence to draft on with [1].

    Returns
    -------
    array of int, shape (...)
        Drafts, 0..G [1].

    Examples
    --------
    >>> length_before([[0.9, 0.8, 0.2, 0.9], [0.1, 0.9, 0.9, 0.9]], threshold=0.5)
    array([2, 0])
    """
    likely = checks.probabilities("confidences", confidences) >= checks.probability("threshold", threshold)
    return _leading(likely)


def length_keeping(confidences: ArrayLike, *, threshold: float) -> IntArray:
    """Stop after the first draft that does not look likely, which is kept and judged like the others.

    Parameters
    ----------
    confidences : array, shape (..., G)
        Confidence k from draft k too, such as q_k(x_k) [1].
    threshold : float
        Least confidence to draft on with [1].

    Returns
    -------
    array of int, shape (...)
        Drafts that are judged, 1..G, or 0 where G is 0 [1].

    Notes
    -----
    Judging one draft fewer, as if the unlikely one had never been sampled, biases the text.

    Examples
    --------
    >>> length_keeping([[0.9, 0.8, 0.2, 0.9], [0.1, 0.9, 0.9, 0.9]], threshold=0.5)
    array([3, 1])
    """
    kept = length_before(confidences, threshold=threshold) + 1
    return np.asarray(np.minimum(kept, np.shape(confidences)[-1]))


def worthwhile_length(survival: ArrayLike, *, marginal_seconds: ArrayLike, tokens_per_second: float) -> IntArray:
    """Stop before the first draft that saves less time than it takes.

    Parameters
    ----------
    survival : array, shape (..., G)
        Running products of confidences that do not look at the draft they speak of: P(draft k stands) [1].
    marginal_seconds : array, shape (..., G), or float
        What drafting and judging one more token costs [s].
    tokens_per_second : float
        The rate theta at which tokens come anyway, so that one is worth 1 / theta [1/s].

    Returns
    -------
    array of int, shape (...)
        Drafts, 0..G [1].

    Notes
    -----
    Optimal stopping where survival is known, since it falls with depth: draft k is worth it while survival_k / theta
    exceeds its cost.

    Examples
    --------
    >>> worthwhile_length([0.9, 0.7, 0.4, 0.1], marginal_seconds=0.005, tokens_per_second=100)
    array(2)
    """
    gain = checks.probabilities("survival", survival) / checks.positive("tokens_per_second", tokens_per_second)
    return _leading(gain > checks.array("marginal_seconds", marginal_seconds))


def entropy_confidence(q: ArrayLike, *, scale: float = 0.2) -> FloatArray:
    """A guess at the chance to stand from how certain the drafter is: 1 - sqrt(scale H(q)), at least 0 [2].

    Parameters
    ----------
    q : array, shape (..., V)
        Draft laws [1].
    scale : float
        How much of the target's surprise the drafter's entropy stands for; 0.2 is the paper's [1].

    Returns
    -------
    array, shape (...)
        [1].

    Notes
    -----
    A heuristic: the entropy of q says nothing about p, and the bound of the paper rests on the scale.

    Examples
    --------
    >>> entropy_confidence([[1.0, 0.0], [0.5, 0.5]]).round(3)
    array([1.   , 0.628])
    """
    return np.asarray(np.maximum(0, 1 - np.sqrt(checks.non_negative("scale", scale) * entropy(q))))


def _leading(going: ArrayLike) -> IntArray:
    return np.asarray(np.logical_and.accumulate(going, axis=-1).sum(axis=-1))
