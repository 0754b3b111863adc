"""The randomised PIT of `Observed` tokens in three orders, and its test within strata."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.anderson_darling import MIN_VALUES, anderson_darling
from specsim.stats.observed import Observed
from specsim.stats.pit import ORDERS, position, ratio_keys
from specsim.stats.result import TestResult
from specsim.stats.uniformity import unit_values


def pit_values(observed: Observed, *, order: str, rng: np.random.Generator) -> FloatArray:
    """U = F(x-) + v p(x) of each token's cell, cells taken in the chosen order.

    Parameters
    ----------
    observed : Observed
        N tokens over K cells; "ratio" needs `q`.
    order : str
        "token_id" (finds faults of inverse-CDF coupling), "p_descending" (wrong row, context, temperature, bonus) or
        "ratio", that of q to p (faults of acceptance and residual). Ties go by token id.
    rng : numpy.random.Generator
        Source of v.

    Returns
    -------
    array (N,)
        Uniform and independent if every token follows its law [1].

    Raises
    ------
    InputError
        An unknown order, "ratio" without `q`.

    Notes
    -----
    Exact, also for merged cells and top-k lists: a cell is one outcome.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> observed = observe([2], log_p=np.log([[0.2, 0.5, 0.3]]))
    >>> u = pit_values(observed, order="p_descending", rng=np.random.default_rng(0))
    >>> bool(0.5 <= u[0] < 0.8)
    True

    """
    checks.one_of("order", order, ORDERS)
    below, mass = position(observed.p, _keys(observed, order), observed.cell)
    values: FloatArray = np.minimum(below + rng.random(len(observed)) * mass, 1.0)
    return values


def strata(
    u: ArrayLike, labels: ArrayLike, *, test: Callable[[FloatArray], TestResult] = anderson_darling
) -> dict[Hashable, TestResult]:
    """A test of uniformity within each stratum: position in the block, tokens since a rejection, cold or warm cache.

    Parameters
    ----------
    u : array (N,)
        PIT values [1].
    labels : array (N,)
        The stratum of each, known before the token was drawn: its position in the round, say, but not whether it was
        accepted.
    test : callable
        On the values of one stratum.

    Returns
    -------
    dict
        A result for each label with at least eight values, in ascending order.

    Raises
    ------
    InputError
        Values outside [0, 1], or labels of another shape.

    Examples
    --------
    >>> list(strata((np.arange(40) + 0.5) / 40, np.arange(40) % 2))
    [0, 1]

    """
    values, names = unit_values("u", u), np.asarray(labels)
    if names.shape != values.shape:
        raise InputError(f"labels must have the shape of u {values.shape}, got {names.shape}")
    found, index, counts = np.unique(names, return_inverse=True, return_counts=True)
    return {found[i].item(): test(values[index == i]) for i in range(found.size) if counts[i] >= MIN_VALUES}


def _keys(observed: Observed, order: str) -> FloatArray:
    if order == "token_id":
        return np.broadcast_to(np.arange(observed.p.shape[1], dtype=np.float64), observed.p.shape)
    if order == "p_descending":
        return -observed.p
    if observed.q is None:
        raise InputError("observed must hold q for order 'ratio'")
    return ratio_keys(observed.p, observed.q)
