"""How many drafts a rule accepts, estimated from drafted chains without throwing a coin (Rao-Blackwell)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.errors import InputError
from specsim.verifiers.protocol import Verifier


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceptedEstimate:
    """An estimate of E_accepted, the bonus not counted.

    Parameters
    ----------
    value, standard_error : float
        [1].
    survival : tuple of float
        Estimates of P(accepted >= k), k = 1..G [1].
    chains : int
        Drafted chains that it rests on [1].
    """

    value: float
    standard_error: float
    survival: tuple[float, ...]
    chains: int


def expected_accepted(rule: Verifier, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None) -> AcceptedEstimate:
    """Estimate E_accepted from chains that were drawn from q.

    Parameters
    ----------
    rule : Verifier
        Whose accepted length is asked for.
    p : array, shape (..., G + 1, V)
        Target laws along each chain [1].
    draft : array of int, shape (..., G)
        The chains, two at least.
    q : array, shape (..., G, V), or None
        The laws that they were drawn from; None for drafts that are no draw.

    Returns
    -------
    AcceptedEstimate
        Unbiased: the mean over chains of `Verifier.survival`, summed over depths, which is E_q of sum_k prod_i<=k
        min(1, p_i / q_i) for `Rejection`, and E_q of sum_k p_k for `Block`.

    Raises
    ------
    InputError
        Fewer than two chains, or arrays that do not fit.
    """
    survival = rule.survival(p, draft, q=q)
    survival = survival.reshape(math.prod(survival.shape[:-1]), survival.shape[-1])
    if len(survival) < 2:
        raise InputError(f"draft must hold two chains at least for a standard error, got {len(survival)}")
    each = survival.sum(axis=1)
    return AcceptedEstimate(
        value=float(each.mean()),
        standard_error=float(each.std(ddof=1) / np.sqrt(len(each))),
        survival=tuple(survival.mean(axis=0).tolist()),
        chains=len(each),
    )


def estimate_for_rows(
    rule: Verifier, p: ArrayLike, q: ArrayLike, *, chains: int = 10_000, seed: int = 0
) -> AcceptedEstimate:
    """Estimate E_accepted where no law depends on the drafts, at any vocabulary.

    Parameters
    ----------
    rule : Verifier
        One that reads no more of a row than the drafted token's probability is fast: `Rejection`, `Block`.
    p, q : arrays, shape (G + 1, V) and (G, V)
        Laws at each depth [1].
    chains : int
        Chains to draw [1].
    seed : int
        Decides them.

    Examples
    --------
    >>> from specsim.verifiers import Block
    >>> p, q = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    >>> estimate = estimate_for_rows(Block(), [p, p, p], [q, q])
    >>> abs(estimate.value - 11 / 9) < 5 * estimate.standard_error
    True
    """
    rows = checks.array("q", q, ndim=2)
    draft = draw_chains(rows, chains=checks.integer("chains", chains, low=2), seed=seed)
    return expected_accepted(rule, p, draft, q=rows)


def draw_chains(q: FloatArray, *, chains: int, seed: int) -> IntArray:
    """Chains of independent draws from rows (G, V), shape (chains, G)."""
    uniforms = np.random.default_rng(seed).random((chains, len(q)))
    drawn = [sample(row, uniforms[:, depth]) for depth, row in enumerate(q)]
    return np.stack(drawn, axis=1) if drawn else np.zeros((chains, 0), dtype=np.intp)
