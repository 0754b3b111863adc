"""The laws of one token: from logits to probabilities, how two laws overlap, and drawing from them.

Shapes: V is the vocabulary, always the last axis; `(...)` are any leading axes, which broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import entr

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError

LOWEST_TEMPERATURE = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How logits become the law that a token is drawn from: temperature, then top-k, then top-p.

    Speculation is lossless with respect to this law, so target logits go through it before they are verified, and
    the draft law handed to a verifier is the one that the draft was drawn from.

    Parameters
    ----------
    temperature : float
        0 is the greedy rule; otherwise at least 1e-6 (a near-zero temperature is never read as greedy) [1].
    top_k : int or None
        Keep tokens whose logit is at least the k-th largest; ties with it are all kept.
    top_p : float or None
        Keep the fewest most probable tokens whose mass reaches `top_p`; of tokens tied at the cut the lower ids stay.

    Raises
    ------
    InputError
        A value outside its range.

    Notes
    -----
    The order and the number of tokens kept are those of the logits warpers of Hugging Face transformers, which leave
    the choice among tokens tied at the top-p cut to their sort.

    Examples
    --------
    >>> Sampling(temperature=1.0, top_k=2).probabilities([1.0, 1.0, 0.0])
    array([0.5, 0.5, 0. ])
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if checks.non_negative("temperature", self.temperature) != 0:
            _temperature(self.temperature)
        if self.top_k is not None:
            checks.integer("top_k", self.top_k, low=1)
        if self.top_p is not None:
            checks.number("top_p", self.top_p, low=0.0, high=1.0, open_low=True)

    @property
    def is_greedy(self) -> bool:
        """Whether every law is a one-hot at the first largest logit."""
        return self.temperature == 0

    def probabilities(self, logits: ArrayLike) -> FloatArray:
        """The law of the next token for each row of logits.

        Parameters
        ----------
        logits : array, shape (..., V)
            Minus infinity bans a token. float32 gives float32, everything else float64.

        Returns
        -------
        array, shape (..., V)
            Rows that sum to 1 [1].

        Raises
        ------
        InputError
            A row that holds NaN or plus infinity, or that bans every token; the row is named.
        """
        rows = _logits(logits)
        if self.is_greedy:
            return one_hot(rows.argmax(axis=-1), vocabulary=rows.shape[-1], dtype=rows.dtype)
        if self.top_k is not None and self.top_k < rows.shape[-1]:
            rows = _top_k(rows, self.top_k)
        laws = _softmax(rows, self.temperature)
        return laws if self.top_p is None or self.top_p == 1 else _top_p(laws, self.top_p)


def softmax(logits: ArrayLike, *, temperature: float = 1.0) -> FloatArray:
    """exp(logits / temperature), normalised over the last axis [1].

    Examples
    --------
    >>> softmax([0.0, 0.0]), softmax([1.0, 0.0], temperature=1e-3)
    (array([0.5, 0.5]), array([1., 0.]))
    """
    return _softmax(_logits(logits), _temperature(temperature))


def one_hot(tokens: ArrayLike, *, vocabulary: int, dtype: DTypeLike = np.float64) -> FloatArray:
    """Laws that put everything on one token each.

    Examples
    --------
    >>> one_hot(np.array([2, 0]), vocabulary=3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    rows: FloatArray = np.zeros((*np.shape(tokens), vocabulary), dtype=dtype)
    np.put_along_axis(rows, np.asarray(tokens)[..., None], 1, axis=-1)
    return rows


def overlap(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """The mass that two laws share, sum_x min(p(x), q(x)): the acceptance probability of a draft drawn from q.

    Parameters
    ----------
    p, q : array, shape (..., V)
        Target and draft laws; leading axes broadcast [1].

    Returns
    -------
    array, shape (...)
        1 - total variation [1].

    Notes
    -----
    Exact; Leviathan et al. (arXiv 2211.17192), theorem 3.5 with lemma 3.3.

    Examples
    --------
    >>> float(overlap([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    0.7
    """
    p, q = laws(p, q)
    return np.asarray(np.minimum(p, q).sum(axis=-1))


def total_variation(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Half of sum_x abs(p(x) - q(x)) [1].

    Examples
    --------
    >>> float(total_variation([1.0, 0.0], [0.0, 1.0]))
    1.0
    """
    p, q = laws(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def argmax_overlap(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """The acceptance probability of a draft that is q's first argmax, judged as one-hot: p at that token [1].

    Examples
    --------
    >>> float(argmax_overlap([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    0.2
    """
    p, q = np.broadcast_arrays(*laws(p, q))
    return np.asarray(np.take_along_axis(p, q.argmax(axis=-1)[..., None], axis=-1)[..., 0])


def entropy(p: ArrayLike) -> FloatArray:
    """Shannon entropy of each row [nat].

    Examples
    --------
    >>> float(entropy([0.5, 0.5])) == float(np.log(2))
    True
    """
    return np.asarray(entr(checks.distribution("p", p)).sum(axis=-1))


def sample(rows: ArrayLike, uniforms: ArrayLike) -> IntArray:
    """Token ids by inverse CDF, one for each uniform.

    Parameters
    ----------
    rows : array, shape (..., V)
        Non-negative weights; they need not sum to 1.
    uniforms : array, shape (...)
        Numbers in [0, 1]; leading axes broadcast against those of `rows`.

    Returns
    -------
    array of int, shape (...)
        Never an id of weight 0, not even where a uniform is 0 or 1.

    Raises
    ------
    InputError
        A row with a negative, NaN or infinite weight or with no weight at all; a uniform outside [0, 1].

    Examples
    --------
    >>> sample([0.0, 0.5, 0.5, 0.0], [0.0, 0.49, 0.5, 1.0]).tolist()
    [1, 1, 2, 2]
    """
    weights = np.asarray(rows)
    if weights.ndim == 0 or weights.shape[-1] == 0:
        raise InputError(f"rows must have a vocabulary axis, got shape {weights.shape}")
    steps = np.cumsum(weights, axis=-1, dtype=np.float64)
    totals = steps[..., -1]
    usable = (weights.min(axis=-1) >= 0) & (totals > 0) & np.isfinite(totals)
    if not usable.all():
        raise InputError(f"rows{_first(~usable)} must hold finite weights of at least 0 with a positive sum")
    # Below the total by one float at least, so that the id found is one at which the CDF rises.
    targets = np.minimum(checks.probabilities("uniforms", uniforms) * totals, np.nextafter(totals, 0))
    if steps.ndim == 1:
        return np.asarray(np.searchsorted(steps, targets, side="right"))
    return np.asarray((steps > targets[..., None]).argmax(axis=-1))


def laws(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Two checked laws over one vocabulary."""
    p, q = checks.distribution("p", p), checks.distribution("q", q)
    if p.shape[-1] != q.shape[-1]:
        raise InputError(f"p and q must have one vocabulary, got {p.shape[-1]} and {q.shape[-1]} tokens")
    return p, q


def _temperature(value: float) -> float:
    return checks.number("temperature", value, low=LOWEST_TEMPERATURE)


def _logits(logits: ArrayLike) -> FloatArray:
    rows = np.asarray(logits)
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    if rows.ndim == 0 or rows.shape[-1] == 0:
        raise InputError(f"logits must have a vocabulary axis, got shape {rows.shape}")
    peaks = rows.max(axis=-1)  # NaN if any is NaN
    if not np.isfinite(peaks).all():
        place = _first(~np.isfinite(peaks))
        raise InputError(f"logits{place} must be numbers below infinity that leave one token, got a row of NaN or inf")
    return rows


def _softmax(rows: FloatArray, temperature: float) -> FloatArray:
    with np.errstate(over="ignore"):  # the lowest float is a common ban; it may become -inf here
        weights: FloatArray = (rows - rows.max(axis=-1, keepdims=True)) / rows.dtype.type(temperature)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def _top_k(rows: FloatArray, k: int) -> FloatArray:
    cut = np.partition(rows, -k, axis=-1)[..., -k, None]
    return np.where(rows < cut, rows.dtype.type(-np.inf), rows)


def _top_p(law: FloatArray, mass: float) -> FloatArray:
    ascending = np.sort(law, axis=-1)
    slack = 4 * np.finfo(law.dtype).eps  # a mass that reaches top_p but for rounding has reached it
    tail = (np.cumsum(ascending, axis=-1, dtype=np.float64) <= 1 - mass + slack).sum(axis=-1, keepdims=True)
    tail = np.minimum(tail, law.shape[-1] - 1)
    cut = np.take_along_axis(ascending, tail, axis=-1)
    above, tied = law > cut, law == cut
    room = law.shape[-1] - tail - above.sum(axis=-1, keepdims=True)
    kept = np.where(above | (tied & (np.cumsum(tied, axis=-1) <= room)), law, 0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _first(bad: NDArray[np.bool_] | np.bool_) -> str:
    place = np.argwhere(bad)[0]
    return f"[{', '.join(str(index) for index in place)}]" if place.size else ""
