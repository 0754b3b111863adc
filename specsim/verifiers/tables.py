"""Exact laws of the accepted length from prefix tables, by summing over drafted prefixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

MOST_PATHS = 2**22

Mass = Callable[[FloatArray, FloatArray], FloatArray]


def chain_pmf(p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, mass: Mass) -> FloatArray:
    """Law of the accepted length of a rule that judges drafts one by one and stops at the first rejection.

    Parameters
    ----------
    p_tables, q_tables
        Prefix tables of G + 1 and G laws; see `Verifier.accepted_pmf`.
    mass : callable
        From p (..., V) and q (..., V): the probability that a token is drafted and accepted, (..., V) [1].

    Returns
    -------
    array, shape (G + 1,)
        P(accepted = 0..G) [1].

    Notes
    -----
    Exact: P(accepted >= k) is the sum over x_1..x_k of the product of masses. Only as many drafted tokens are kept
    apart as a later table reads, so laws that look back n tokens cost V^(n + 1) a depth, not V^G.
    """
    targets, drafts = _tables(p_tables, q_tables)
    reach: FloatArray = np.ones(())
    survival = [1.0]
    for depth, (p, q) in enumerate(zip(targets, drafts, strict=False)):
        reach = reach[..., None] * mass(*np.broadcast_arrays(p, q))
        survival.append(min(survival[-1], float(reach.sum())))  # rounding must not make a probability negative
        reach = np.asarray(reach.sum(axis=tuple(range(reach.ndim - _read(targets, drafts, after=depth + 1)))))
    return _ends(survival)


def path_pmf(p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, cap: float) -> FloatArray:
    """Law of the accepted length of a rule whose chance depends on the whole path through its likelihood ratio.

    Parameters
    ----------
    p_tables, q_tables
        Prefix tables of G + 1 and G laws; see `Verifier.accepted_pmf`.
    cap : float
        The score s_0 = 1, s_k = min(cap, s_(k-1) p / q) of a path is cut at this.

    Returns
    -------
    array, shape (G + 1,)
        The law with P(accepted >= k) = sum over paths of q(path) min(1, s_k) [1].

    Raises
    ------
    InputError
        More than 2^22 different paths to tell apart; `estimate.expected_accepted` needs none of them.

    Notes
    -----
    Exact. Paths of equal score whose later laws agree are kept as one, so that laws that ignore the drafts cost as
    many states as there are different ratios. Scores that agree to 2^-44 of themselves count as equal.
    """
    targets, drafts = _tables(p_tables, q_tables)
    kept: IntArray = np.zeros((1, 0), dtype=np.intp)
    mass: FloatArray = np.ones(1)
    score: FloatArray = np.ones(1)
    survival = [1.0]
    for depth, tables in enumerate(zip(targets, drafts, strict=False)):
        if mass.size * tables[0].shape[-1] > MOST_PATHS:
            raise InputError(
                f"p_tables must leave at most {MOST_PATHS} paths to tell apart, got more at depth {depth + 1}"
            )
        p, q = (table[tuple(kept.T[kept.shape[1] + 1 - table.ndim :])] for table in tables)
        p, q, share = np.broadcast_arrays(p, q, mass[:, None])
        path, token = np.nonzero((q > 0) & (share > 0))
        mass = share[path, token] * q[path, token]
        score = _grown(score[path], p[path, token], q[path, token], cap=cap)
        survival.append(min(survival[-1], float(mass @ np.minimum(1, score))))
        kept = np.column_stack((kept[path], token))
        kept = kept[:, kept.shape[1] - _read(targets, drafts, after=depth + 1) :]
        kept, mass, score = _merged(kept, mass, score)
    return _ends(survival)


def _ends(survival: list[float]) -> FloatArray:
    """P(accepted = 0..G) from P(accepted >= 0..G)."""
    reached = np.array([*survival, 0.0])
    return np.asarray(reached[:-1] - reached[1:])  # and not -diff, which says -0.0


def prefix_tables(
    p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The tables, checked and with every axis: table k has shape (V,) * (k + 1)."""
    sides = _tables(p_tables, q_tables)
    full = [[np.broadcast_to(table, (table.shape[-1],) * (k + 1)) for k, table in enumerate(side)] for side in sides]
    return full[0], full[1]


def _grown(score: FloatArray, p: FloatArray, q: FloatArray, *, cap: float) -> FloatArray:
    with np.errstate(over="ignore"):  # by a draft of 1e-310; never infinity, which a score of 0 makes NaN
        return np.asarray(np.minimum(cap, score * np.minimum(p / q, np.finfo(np.float64).max)))


def _merged(kept: IntArray, mass: FloatArray, score: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    _, equal = np.unique((score.view(np.int64) + 128) >> 8, return_inverse=True)
    for column in kept.T:
        _, equal = np.unique(equal * (kept.max() + 1) + column, return_inverse=True)
    _, first, equal = np.unique(equal, return_index=True, return_inverse=True)
    return kept[first], np.asarray(np.bincount(equal, weights=mass)), score[first]


def _read(targets: list[FloatArray], drafts: list[FloatArray], *, after: int) -> int:
    """How many of the tokens up to depth `after` any later table reads."""
    later = [table.ndim - 1 - gap for side in (targets, drafts) for gap, table in enumerate(side[after:])]
    return max(0, *later, 0)


def _tables(p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> tuple[list[FloatArray], list[FloatArray]]:
    if len(p_tables) != len(q_tables) + 1:
        raise InputError(f"p_tables must hold one table more than q_tables, got {len(p_tables)} and {len(q_tables)}")
    targets = [_table("p_tables", depth, table) for depth, table in enumerate(p_tables)]
    drafts = [_table("q_tables", depth, table) for depth, table in enumerate(q_tables)]
    sizes = {size for table in (*targets, *drafts) for size in table.shape}
    if len(sizes) != 1:
        raise InputError(f"p_tables and q_tables must have one vocabulary on every axis, got sizes {sorted(sizes)}")
    return targets, drafts


def _table(name: str, depth: int, table: ArrayLike) -> FloatArray:
    law = checks.distribution(f"{name}[{depth}]", table)
    if law.ndim > depth + 1:
        raise InputError(f"{name}[{depth}] must have at most {depth + 1} axes, got shape {law.shape}")
    return law
