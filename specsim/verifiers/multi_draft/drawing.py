"""How candidates are drawn: with replacement, without, or the most probable ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.topology.ranking import most_probable
from specsim.verifiers.multi_draft.candidates import candidate_count
from specsim.verifiers.multi_draft.protocol import NONE


def with_replacement(q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
    """Independent draws, shape (..., K).

    Examples
    --------
    >>> with_replacement([0.0, 1.0], candidates=2, rng=np.random.default_rng(0))
    array([1, 1])
    """
    laws = checks.distribution("q", q)
    count = candidate_count(candidates)
    return np.stack([sample(laws, rng.random(laws.shape[:-1])) for _ in range(count)], axis=-1)


def without_replacement(q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
    """One draw after the other from what is left of the law, shape (..., K); -1 where nothing is left.

    Notes
    -----
    Exact: the first K of exponential clocks with rates q, which is the same as the K largest of log q plus Gumbel
    noise.

    Examples
    --------
    >>> without_replacement([0.0, 1.0], candidates=2, rng=np.random.default_rng(0))
    array([ 1, -1])
    """
    laws = checks.distribution("q", q)
    count = min(candidate_count(candidates), laws.shape[-1])
    rates = laws / np.maximum(rng.standard_exponential(laws.shape, dtype=np.float64), np.finfo(np.float64).tiny)
    return _filled(rates, most_probable(rates, count=count), candidates=candidates)


def most_likely(q: ArrayLike, *, candidates: int) -> IntArray:
    """The K most probable tokens, best first, shape (..., K); -1 where the law has no more.

    Examples
    --------
    >>> most_likely([0.2, 0.0, 0.8], candidates=3)
    array([ 2,  0, -1])
    """
    laws = checks.distribution("q", q)
    count = min(candidate_count(candidates), laws.shape[-1])
    return _filled(laws, most_probable(laws, count=count), candidates=candidates)


def _filled(weights: FloatArray, tokens: IntArray, *, candidates: int) -> IntArray:
    present = np.where(np.take_along_axis(weights, tokens, axis=-1) > 0, tokens, NONE)
    lacking = [(0, 0)] * (present.ndim - 1) + [(0, candidates - present.shape[-1])]
    return np.pad(present, lacking, constant_values=NONE)
