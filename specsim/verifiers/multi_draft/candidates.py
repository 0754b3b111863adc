"""Candidates for one token as arrays: checked once, leading axes flattened into one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import laws
from specsim.errors import InputError
from specsim.verifiers.chain import normalised
from specsim.verifiers.multi_draft.protocol import NONE


class Candidates(NamedTuple):
    """The candidates of N sequences."""

    p: FloatArray
    """(N, V)"""
    tokens: IntArray
    """(N, K)"""
    q: FloatArray | None
    """(N, V)"""
    counts: IntArray
    """(N,): how many each sequence has."""
    lead: tuple[int, ...]


def flat_candidates(p: ArrayLike, candidates: ArrayLike, *, q: ArrayLike | None) -> Candidates:
    """Check laws, shapes and ids; leading axes of p and q broadcast against those of the candidates.

    The law of a sequence without candidates is not read.

    Raises
    ------
    InputError
        Shapes that do not fit, rows that are no laws, ids outside the vocabulary, a candidate after a missing one.
    """
    target, tokens = checks.distribution("p", p), np.asarray(candidates)
    if tokens.ndim == 0 or (tokens.size and not np.issubdtype(tokens.dtype, np.integer)):
        raise InputError(f"candidates must hold token ids, shape (..., K), got {tokens.dtype} of shape {tokens.shape}")
    *lead, count = tokens.shape
    vocabulary = target.shape[-1]
    ids = tokens.reshape(int(np.prod(lead)), count).astype(np.intp)
    check_ids("candidates", ids, vocabulary=vocabulary)
    missing = ids == NONE
    if (missing[:, :-1] & ~missing[:, 1:]).any():
        row = np.flatnonzero((missing[:, :-1] & ~missing[:, 1:]).any(axis=1))[0]
        raise InputError(f"candidates[{row}] must have none after a missing one, got {ids[row].tolist()}")
    counts = count - missing.sum(axis=1)
    drawn_from = None if q is None else spread("q", np.asarray(q), lead=tuple(lead), tail=(vocabulary,))
    if drawn_from is not None and counts.any():
        checks.distribution("q", drawn_from[counts > 0])
    return Candidates(spread("p", target, lead=tuple(lead), tail=(vocabulary,)), ids, drawn_from, counts, tuple(lead))


def check_ids(name: str, ids: IntArray, *, vocabulary: int) -> None:
    """Tokens, or -1 for none."""
    bad = (ids < NONE) | (ids >= vocabulary)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(f"{name}[{row}, {column}] must be -1 or in 0..{vocabulary - 1}, got {ids[row, column]}")


def spread(name: str, rows: FloatArray, *, lead: tuple[int, ...], tail: tuple[int, ...]) -> FloatArray:
    """Rows broadcast to the leading axes, and these flattened into one."""
    try:
        return np.broadcast_to(rows, (*lead, *tail)).reshape(int(np.prod(lead)), *tail)
    except ValueError:
        raise InputError(f"{name} must have shape {(*lead, *tail)}, got {rows.shape}") from None


class Pairs(NamedTuple):
    """N pairs of laws for an exact answer, in double precision and summing to 1 but for its rounding."""

    p: FloatArray
    """(N, V)"""
    q: FloatArray
    """(N, V)"""
    lead: tuple[int, ...]


def law_pairs(p: ArrayLike, q: ArrayLike) -> Pairs:
    """Two checked laws, broadcast against each other and flattened."""
    target, draft = np.broadcast_arrays(*(law.astype(np.float64) for law in laws(p, q)))
    *lead, vocabulary = target.shape
    return Pairs(normalised(target.reshape(-1, vocabulary)), normalised(draft.reshape(-1, vocabulary)), tuple(lead))


def candidate_count(candidates: int) -> int:
    """A checked number of candidates."""
    return checks.integer("candidates", candidates, low=1)
