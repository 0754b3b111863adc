"""The randomised probability integral transform of tokens under the law that each was meant to follow.

For a token x with law p in any fixed order, u = P(before x) + v p(x) with v uniform is uniform on (0, 1), and the u
of a whole text are independent, whatever the vocabulary and however the laws differ from token to token
(Rosenblatt 1952). So any number of prompts with one sample each make one test.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

ORDERS = ("token_id", "p_descending", "ratio")
_BLOCK_CELLS = 1 << 20  # 8 MiB of float64 at a time


def randomized_pit(cdf_below: ArrayLike, mass: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """U = F(x-) + v p(x) with v uniform on [0, 1).

    Parameters
    ----------
    cdf_below : array (N,)
        Probability of the tokens that come before the observed one [1].
    mass : array (N,)
        Probability of the observed one [1].
    rng : numpy.random.Generator
        Source of v.

    Returns
    -------
    array (N,)
        Uniform and independent if every token follows its law [1].

    Raises
    ------
    InputError
        Probabilities outside [0, 1], or two shapes.

    Notes
    -----
    Exact. The order must be fixed before the token is drawn: by the history, the laws, the draft's laws, but by
    nothing that the token had a part in.

    Examples
    --------
    >>> u = randomized_pit([0.5], [0.25], np.random.default_rng(0))
    >>> bool(0.5 <= u[0] < 0.75)
    True

    """
    below = checks.probabilities("cdf_below", np.minimum(checks.array("cdf_below", cdf_below, ndim=1), 1.0))
    masses = checks.probabilities("mass", mass, ndim=1)
    if below.shape != masses.shape:
        raise InputError(f"mass must have the shape of cdf_below {below.shape}, got {masses.shape}")
    values: FloatArray = np.minimum(below + rng.random(below.shape) * masses, 1.0)
    return values


def order_position(
    rows: ArrayLike, ids: ArrayLike, *, order: str = "token_id", draft_rows: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Where each observed token stands under its law, tokens taken in the chosen order.

    Parameters
    ----------
    rows : array (N, V)
        Law of each token given its history [1].
    ids : array (N,)
        The tokens observed.
    order : str
        "token_id" (finds faults of inverse-CDF coupling), "p_descending" (wrong row, context, temperature, bonus) or
        "ratio", that of `draft_rows` to `rows` (faults of acceptance and residual). Ties go by token id.
    draft_rows : array (N, V), optional
        The draft's laws given the same histories; "ratio" needs them [1].

    Returns
    -------
    cdf_below : array (N,)
        Probability of the tokens before the observed one [1].
    mass : array (N,)
        Probability of the observed one [1].

    Raises
    ------
    InputError
        Rows that are no laws, tokens outside the vocabulary, an unknown order, "ratio" without `draft_rows`.

    Examples
    --------
    >>> below, mass = order_position([[0.2, 0.5, 0.3]], [2], order="p_descending")
    >>> float(below[0]), float(mass[0])
    (0.5, 0.3)

    """
    checks.one_of("order", order, ORDERS)
    laws, tokens = _checked(rows, ids)
    drafts = None
    if order == "ratio":
        if draft_rows is None:
            raise InputError("draft_rows must be given for order 'ratio'")
        drafts = checks.distribution("draft_rows", draft_rows)
        if drafts.shape != laws.shape:
            raise InputError(f"draft_rows must have the shape of rows {laws.shape}, got {drafts.shape}")
    below, mass = np.empty(tokens.size), np.empty(tokens.size)
    for part in _blocks(laws):
        p = laws[part].astype(np.float64)
        p /= p.sum(axis=-1, keepdims=True)
        key = _keys(p, None if drafts is None else drafts[part], order=order)
        below[part], mass[part] = position(p, key, tokens[part])
    return below, mass


def position(p: FloatArray, key: FloatArray, tokens: IntArray) -> tuple[FloatArray, FloatArray]:
    """Probability of what comes before each token by ascending `key` (ties by index), and its own; (N,) each [1].

    Examples
    --------
    >>> below, mass = position(np.array([[0.2, 0.5, 0.3]]), np.array([[1.0, 0.0, 0.0]]), np.array([0]))
    >>> float(below[0]), float(mass[0])
    (0.8, 0.2)

    """
    own = np.take_along_axis(key, tokens[:, None], axis=1)
    before = (key < own) | ((key == own) & (np.arange(p.shape[1]) < tokens[:, None]))
    return np.where(before, p, 0.0).sum(axis=1), np.take_along_axis(p, tokens[:, None], axis=1)[:, 0]


def ratio_keys(p: FloatArray, q: FloatArray) -> FloatArray:
    """Q / p, infinite where p is 0 [1]."""
    with np.errstate(over="ignore"):  # where p is subnormal
        ratios: FloatArray = np.divide(q, p, out=np.full(p.shape, np.inf), where=p > 0)
    return ratios


def _checked(rows: ArrayLike, ids: ArrayLike) -> tuple[FloatArray, IntArray]:
    laws = checks.distribution("rows", rows)
    tokens = np.asarray(ids)
    if laws.ndim != 2 or tokens.shape != laws.shape[:1] or not np.issubdtype(tokens.dtype, np.integer):
        raise InputError(f"ids must be whole numbers, one per row of rows {laws.shape}, got shape {tokens.shape}")
    bad = np.flatnonzero((tokens < 0) | (tokens >= laws.shape[1]))
    if bad.size:
        raise InputError(f"ids[{bad[0]}] must be in 0..{laws.shape[1] - 1}, got {tokens[bad[0]]}")
    return laws, tokens


def _blocks(laws: FloatArray) -> Iterator[slice]:
    step = max(1, _BLOCK_CELLS // laws.shape[1])
    return (slice(start, start + step) for start in range(0, laws.shape[0], step))


def _keys(p: FloatArray, q: FloatArray | None, *, order: str) -> FloatArray:
    if q is not None:
        return ratio_keys(p, q)
    if order == "p_descending":
        return -p
    return np.broadcast_to(np.arange(p.shape[1], dtype=np.float64), p.shape)
