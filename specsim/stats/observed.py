"""Observed tokens with the laws that they were meant to follow, checked once and cut down to some hundred cells.

Every test on `Observed` is exact for the cells: merging tokens by what is known before the token is drawn keeps the
null true, whatever is merged. What is lost is sight of faults that move mass inside one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.stats.rows import MERGED, BoolArray, Cells, full_cells, head_cells, law_rows, token_ids, top_cells


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """N observed tokens, each with its law over K cells in ascending order of token id.

    Made by :func:`observe` or :func:`observe_top`, which check; not checked again here.

    Parameters
    ----------
    p : array (N, K)
        Probability of each cell under the target's law, float64, rows sum to 1 [1].
    cell : array (N,)
        The cell that was observed.
    mass : array (N,)
        Probability of the observed token itself; 0 if it was impossible [1].
    q : array (N, K), optional
        The same of the draft's law [1].
    previous : array (N, K), optional
        Target's law at the position before, on these cells [1].
    seen : array (N, K), optional
        Whether the token of the cell stands in the text already: 0 or 1 [1].
    """

    p: FloatArray
    cell: IntArray
    mass: FloatArray
    q: FloatArray | None = None
    previous: FloatArray | None = None
    seen: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, rows: ArrayLike | slice) -> Observed:
        """The tokens at `rows`: indices, a boolean per token, or a slice."""
        picked = rows if isinstance(rows, slice) else np.asarray(rows)
        return replace(self, **{name: value[picked] for name, value in _arrays(self).items()})


def observe(
    tokens: ArrayLike,
    *,
    log_p: ArrayLike,
    log_q: ArrayLike | None = None,
    log_previous: ArrayLike | None = None,
    seen: ArrayLike | None = None,
    cells: int = 256,
) -> Observed:
    """Observed tokens from whole rows of log-probabilities.

    Parameters
    ----------
    tokens : array (N,)
        The tokens observed.
    log_p, log_q : array (N, V)
        Natural logarithms of the target's and the draft's laws before each token, -inf where impossible [1].
    log_previous : array (N, V), optional
        The target's at the position before: what a decoder that is off by one row would use [1].
    seen : array of bool (N, V), optional
        Whether a token stands in the text already.
    cells : int
        Tokens that keep a cell of their own, the likeliest under either law; the others are merged into some blocks
        of ids. Vocabularies up to this size are not merged [1].

    Returns
    -------
    Observed

    Raises
    ------
    InputError
        Rows that hold NaN or do not sum to 1, other shapes, tokens outside the vocabulary.

    Notes
    -----
    Exact: the cells depend on the laws alone. float32 rows stay float32 until cells are cut; sums are in float64.

    Examples
    --------
    >>> observed = observe([2], log_p=np.log([[0.2, 0.5, 0.3]]))
    >>> observed.p.round(3).tolist(), observed.cell.tolist(), observed.mass.round(3).tolist()
    ([[0.2, 0.5, 0.3]], [2], [0.3])

    """
    target = law_rows("log_p", log_p)
    draft = None if log_q is None else law_rows("log_q", log_q, shape=target.shape)
    before = None if log_previous is None else law_rows("log_previous", log_previous, shape=target.shape)
    known = None if seen is None else _flags(seen, target.shape)
    ids = token_ids(tokens, target.shape)
    head = checks.integer("cells", cells, low=2)
    cut = full_cells if target.shape[1] <= head else head_cells
    return _observed(cut(ids, log_p=target, log_q=draft, head=head), before=before, seen=known)


def observe_top(
    tokens: ArrayLike,
    *,
    ids: ArrayLike,
    log_p: ArrayLike,
    log_q: ArrayLike | None = None,
) -> Observed:
    """Observed tokens from the log-probabilities of k listed tokens per row; all others are one cell.

    Parameters
    ----------
    tokens : array (N,)
        The tokens observed.
    ids : array (N, k)
        The listed tokens, all different in a row.
    log_p, log_q : array (N, k)
        Natural logarithms of their probabilities under the target's and the draft's law [1].

    Returns
    -------
    Observed
        With k + 1 cells: the listed ones by token id, then the rest.

    Raises
    ------
    InputError
        Rows that hold NaN or sum to more than 1, a token listed twice, other shapes.

    Notes
    -----
    Exact if the list is fixed before the token is drawn: the k likeliest, say, but not "the k likeliest and the one
    that was drawn". The `mass` of a token that is not listed is that of the rest, at least 1e-12: rounding leaves no
    way to call it impossible.

    Examples
    --------
    >>> observed = observe_top([7], ids=[[4, 1]], log_p=np.log([[0.5, 0.2]]))
    >>> observed.p.round(3).tolist(), observed.cell.tolist(), observed.mass.round(3).tolist()
    ([[0.2, 0.5, 0.3]], [2], [0.3])

    """
    return _observed(top_cells(tokens, ids=ids, log_p=log_p, log_q=log_q), before=None, seen=None)


def join(parts: Sequence[Observed]) -> Observed:
    """One `Observed` of several with the same fields, in the order given; narrower ones get impossible cells.

    Examples
    --------
    >>> one = observe([0], log_p=np.log([[0.5, 0.5]]))
    >>> len(join([one, one]))
    2

    """
    if not parts:
        raise InputError("parts must hold at least one Observed, got none")
    names = _arrays(parts[0]).keys()
    if any(_arrays(part).keys() != names for part in parts):
        raise InputError("parts must all have the same fields")
    wide = max(part.p.shape[1] for part in parts)
    joined = {name: np.concatenate([_widened(getattr(part, name), wide) for part in parts]) for name in names}
    return Observed(**joined)


def _observed(cut: Cells, *, before: FloatArray | None, seen: BoolArray | None) -> Observed:
    previous = None if before is None else np.exp(_at(before, cut.ids, -np.inf), dtype=np.float64)
    if previous is not None and not np.isfinite(previous).all():
        raise InputError(f"log_previous[{np.argwhere(~np.isfinite(previous))[0][0]}] must hold log-probabilities")
    return Observed(
        p=cut.p,
        cell=cut.cell,
        mass=cut.mass,
        q=cut.q,
        previous=previous,
        seen=None if seen is None else _at(seen, cut.ids, False).astype(np.float64),
    )


def _at(rows: FloatArray | BoolArray, ids: IntArray, merged: float) -> FloatArray:
    """Entries of `rows` at the cells' tokens; merged cells get one value, which any bet may give them."""
    picked: FloatArray = np.where(ids == MERGED, merged, np.take_along_axis(rows, np.maximum(ids, 0), axis=1))
    return picked


def _flags(seen: ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    flags = np.asarray(seen)
    if flags.dtype != np.bool_ or flags.shape != shape:
        raise InputError(f"seen must be bool of shape {shape}, got {flags.dtype} {flags.shape}")
    return flags


def _arrays(observed: Observed) -> dict[str, Any]:
    pairs = ((entry.name, getattr(observed, entry.name)) for entry in fields(observed))
    return {name: value for name, value in pairs if value is not None}


def _widened(values: FloatArray | IntArray, columns: int) -> Any:
    return values if values.ndim == 1 else np.pad(values, ((0, 0), (0, columns - values.shape[1])))
