"""One round as arrays: shapes and ids checked once, leading axes flattened into one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.verifiers.lazy_rows import LazyRows
from specsim.verifiers.protocol import Verification


class Round(NamedTuple):
    """One round of N sequences, checked: the leading axes are flattened into one."""

    p: FloatArray | LazyRows
    draft: IntArray
    q: FloatArray | None
    drafted: IntArray
    lead: tuple[int, ...]

    def outcome(self, accepted: IntArray, token: IntArray) -> Verification:
        """The answer in the caller's leading axes."""
        return Verification(accepted=accepted.reshape(self.lead), token=token.reshape(self.lead))

    def shaped(self, values: FloatArray) -> FloatArray:
        """Values of shape (N, ...) in the caller's leading axes."""
        return values.reshape(*self.lead, *values.shape[1:])

    def spread(self, name: str, values: IntArray) -> IntArray:
        """One value a sequence, from values that broadcast against the leading axes."""
        try:
            return np.broadcast_to(values, self.lead).reshape(self.drafted.size)
        except ValueError:
            raise InputError(f"{name} must have shape {self.lead}, got {values.shape}") from None

    def drawn(self, sequence: IntArray, depth: IntArray | int) -> tuple[FloatArray, FloatArray | float]:
        """Checked target and draft probability of the drafted token; the latter is 1 for drafts without a law."""
        token = self.draft[sequence, depth]
        drafted = 1.0 if self.q is None else _chances("q", self.q, sequence, depth, token)
        return _chances("p", self.p, sequence, depth, token), drafted

    def target_rows(self, sequence: IntArray, depth: IntArray | int) -> FloatArray:
        """Checked rows of p, shape (len(sequence), V); a copy unless rows are lazy."""
        return _law_rows("p", self.p, sequence, depth)

    def draft_rows(self, sequence: IntArray, depth: IntArray | int) -> FloatArray | None:
        """Checked rows of q, as a copy, or None."""
        return None if self.q is None else _law_rows("q", self.q, sequence, depth)


def flat_round(
    p: ArrayLike | LazyRows,
    draft: ArrayLike,
    *,
    q: ArrayLike | None,
    drafted: ArrayLike | None,
    lazily: bool = False,
) -> Round:
    """Check the shapes and ids of a round, and flatten its leading axes; laws are not summed again here.

    Leading axes of `p` and `q` broadcast against those of `draft`. Drafts past `drafted` are replaced by 0. With
    `lazily` the rows of one sequence may stay lazy.

    Raises
    ------
    InputError
        Shapes that do not fit, ids outside the vocabulary, `drafted` outside 0..G.
    """
    tokens = np.asarray(draft)
    target = p if lazily and isinstance(p, LazyRows) and tokens.ndim == 1 else _floats("p", p)
    if tokens.ndim == 0 or (tokens.size and not np.issubdtype(tokens.dtype, np.integer)):
        raise InputError(f"draft must hold token ids, shape (..., G), got {tokens.dtype} of shape {tokens.shape}")
    *lead, gamma = tokens.shape
    if target.ndim < 2 or target.shape[-2] != gamma + 1 or target.shape[-1] == 0:
        raise InputError(f"p must have shape (..., {gamma + 1}, V) for {gamma} drafts, got {target.shape}")
    vocabulary = target.shape[-1]
    limit = _drafted(drafted, gamma=gamma, lead=tuple(lead))
    ids = np.where(np.arange(gamma) < limit[:, None], tokens.reshape(limit.size, gamma), 0).astype(np.intp)
    if ids.size and not 0 <= ids.min() <= ids.max() < vocabulary:
        row, column = np.argwhere((ids < 0) | (ids >= vocabulary))[0]
        raise InputError(f"draft[{row}, {column}] must be in 0..{vocabulary - 1}, got {ids[row, column]}")
    return Round(
        p=target
        if isinstance(target, LazyRows)
        else _flat("p", target, lead=tuple(lead), tail=(gamma + 1, vocabulary)),
        draft=ids,
        q=None if q is None else _flat("q", _floats("q", q), lead=tuple(lead), tail=(gamma, vocabulary)),
        drafted=limit,
        lead=tuple(lead),
    )


def checked_round(p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None) -> Round:
    """`flat_round` for exact answers: every row must be a law."""
    laws = checks.distribution("p", p)
    return flat_round(laws, draft, q=None if q is None else checks.distribution("q", q), drafted=drafted)


def _chances(
    name: str, laws: FloatArray | LazyRows, sequence: IntArray, depth: IntArray | int, token: IntArray
) -> FloatArray:
    chances = laws[sequence, depth, token]
    usable = (chances >= 0) & (chances <= 1 + _slack(chances))
    if not usable.all():
        first = int(np.flatnonzero(~usable)[0])
        place = f"{name}[{_place(sequence, depth, first)}, {token[first]}]"
        raise InputError(f"{place} must be in [0, 1], got {chances[first]:g}")
    return np.asarray(chances)


def _slack(laws: FloatArray) -> float:
    return 1e-6 if laws.dtype == np.float64 else 1e-3


def _place(sequence: IntArray, depth: IntArray | int, index: int) -> str:
    return f"{sequence[index]}, {np.broadcast_to(depth, sequence.shape)[index]}"


def _law_rows(name: str, laws: FloatArray | LazyRows, sequence: IntArray, depth: IntArray | int) -> FloatArray:
    rows = laws[sequence, depth]
    totals = rows.sum(axis=-1, dtype=np.promote_types(rows.dtype, np.float32))
    usable = (rows.min(axis=-1) >= 0) & (np.abs(totals - 1) <= _slack(rows))
    if not usable.all():
        first = int(np.flatnonzero(~usable)[0])
        place = f"{name}[{_place(sequence, depth, first)}]"
        raise InputError(f"{place} must hold numbers of at least 0 that sum to 1, got a sum of {totals[first]:.6g}")
    return np.asarray(rows)


def _floats(name: str, values: ArrayLike | LazyRows) -> FloatArray:
    rows = np.asarray(values)
    if not np.issubdtype(rows.dtype, np.number) or np.iscomplexobj(rows):
        raise InputError(f"{name} must be an array of numbers, got {rows.dtype}")
    return rows if np.issubdtype(rows.dtype, np.floating) else rows.astype(np.float64)


def _flat(name: str, rows: FloatArray, *, lead: tuple[int, ...], tail: tuple[int, int]) -> FloatArray:
    try:
        spread = np.broadcast_to(rows, (*lead, *tail))
    except ValueError:
        raise InputError(f"{name} must have shape {(*lead, *tail)}, got {rows.shape}") from None
    return spread if len(lead) == 1 else spread.reshape(int(np.prod(lead)), *tail)


def _drafted(drafted: ArrayLike | None, *, gamma: int, lead: tuple[int, ...]) -> IntArray:
    if drafted is None:
        return np.full(int(np.prod(lead)), gamma, dtype=np.intp)
    counts = np.asarray(drafted)
    if counts.shape != lead or not np.issubdtype(counts.dtype, np.integer):
        raise InputError(f"drafted must hold whole numbers, shape {lead}, got {counts.dtype} of shape {counts.shape}")
    if counts.size and not 0 <= counts.min() <= counts.max() <= gamma:
        raise InputError(f"drafted must be in 0..{gamma}, got {counts.min()}..{counts.max()}")
    return counts.reshape(-1).astype(np.intp)
