"""Directions in which a decoder's law may be bent: a score g for every cell, fixed before the token is drawn.

Under the null the sum of g(x) - E_p g has mean 0 for each of them. A fault moves some more than others, and the one
that it moves most says what it looks like.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.stats.observed import Observed

_LOG_FLOOR = -8.0
"""log p counts down to this far below its maximum: bets are scaled by the range of g, a long tail would blunt them."""
_QUARTER = 0.25

Scores = Callable[[Observed], FloatArray]


def _log_p(observed: Observed) -> FloatArray:
    relative = observed.p / observed.p.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.maximum(relative, np.exp(_LOG_FLOOR))))


def _argmax(law: FloatArray) -> FloatArray:
    first: FloatArray = (np.arange(law.shape[1]) == law.argmax(axis=1)[:, None]).astype(np.float64)
    return first


def _middle(observed: Observed) -> FloatArray:
    """P(before the cell) + half of its own, by token id."""
    return np.asarray(observed.p.cumsum(axis=1) - observed.p / 2)


def _needs(name: str, observed: Observed) -> FloatArray:
    value = getattr(observed, name)
    if value is None:
        raise InputError(f"observed must hold {name} for this direction")
    return np.asarray(value)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0)


def _previous(observed: Observed) -> FloatArray:
    before = _needs("previous", observed)
    return _share(before, before + observed.p)


def _q(observed: Observed) -> FloatArray:
    return _needs("q", observed)


DIRECTIONS: dict[str, Scores] = {
    "q": lambda observed: _share(_q(observed), _q(observed) + observed.p),
    "sign": lambda observed: (_q(observed) > observed.p).astype(np.float64),
    "residual": lambda observed: _share(np.maximum(observed.p - _q(observed), 0.0), observed.p),
    "overlap": lambda observed: np.minimum(observed.p, _q(observed)),
    "log_p": _log_p,
    "argmax_p": lambda observed: _argmax(observed.p),
    "argmax_q": lambda observed: _argmax(_q(observed)),
    "previous": _previous,
    "seen": lambda observed: _needs("seen", observed),
    "low_id": lambda observed: (_middle(observed) < _QUARTER).astype(np.float64),
    "high_id": lambda observed: (_middle(observed) > 1 - _QUARTER).astype(np.float64),
}
"""Scores by name; "q" is q / (p + q), "sign" that of q - p, "residual" (p - q)+ / p, "overlap" min(p, q), "log_p"
temperature, "previous" r / (p + r) with r the law of the position before. Shares weigh rows alike, whether flat or
peaked; for residuals drawn from p there is no better score."""

_NEEDS = {"q": ("q", "sign", "residual", "overlap", "argmax_q"), "previous": ("previous",), "seen": ("seen",)}

CAUSES: dict[tuple[str, int], str] = {
    ("q", 1): "output looks like q: drafts are accepted too often, or the bonus is drawn from q",
    ("q", -1): "output avoids what q likes: drafts are rejected too often",
    ("sign", 1): "tokens with q above p come too often: the acceptance rule is too lenient",
    ("sign", -1): "tokens with q above p come too rarely: rejections too often, or a residual with the wrong sign",
    ("residual", 1): "residual tokens come too often: too many rejections",
    ("residual", -1): "residual tokens come too rarely: the residual is not (p - q)+",
    ("overlap", 1): "tokens that p and q share come too often: the residual contains p itself",
    ("overlap", -1): "tokens that p and q share come too rarely: accepted drafts get lost",
    ("log_p", 1): "temperature below what was asked: likely tokens come too often",
    ("log_p", -1): "temperature above what was asked: unlikely tokens come too often",
    ("argmax_p", 1): "the target's argmax comes too often: greedy rounds, or truncation",
    ("argmax_p", -1): "the target's argmax comes too rarely",
    ("argmax_q", 1): "the draft's argmax comes too often: a greedy draft is judged as a sampled one",
    ("argmax_q", -1): "the draft's argmax comes too rarely",
    ("previous", 1): "row off by one: tokens follow the law of the position before",
    ("previous", -1): "row off by one: tokens avoid the law of the position before",
    ("seen", 1): "penalty state: tokens of the text so far come too often",
    ("seen", -1): "penalty state: tokens of the text so far come too rarely",
    ("low_id", 1): "inverse-CDF coupling: low token ids come too often",
    ("low_id", -1): "inverse-CDF coupling: low token ids come too rarely",
    ("high_id", 1): "inverse-CDF coupling: high token ids come too often",
    ("high_id", -1): "inverse-CDF coupling: high token ids come too rarely",
}
"""What it looks like when a direction's score is high (1) or low (-1)."""


def scores(observed: Observed, direction: str) -> FloatArray:
    """The score g of every cell, shape (N, K) [1].

    Raises
    ------
    InputError
        An unknown direction, or one whose laws `observed` does not hold.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> scores(observe([0], log_p=np.log([[0.2, 0.5, 0.3]])), "argmax_p").tolist()
    [[0.0, 1.0, 0.0]]

    """
    checks.one_of("direction", direction, DIRECTIONS)
    return DIRECTIONS[direction](observed)


def available(observed: Observed) -> tuple[str, ...]:
    """Names of the directions that `observed` has the laws for.

    Examples
    --------
    >>> from specsim.stats import observe
    >>> available(observe([0], log_p=np.log([[0.2, 0.5, 0.3]])))
    ('log_p', 'argmax_p', 'low_id', 'high_id')

    """
    missing = {name for need, names in _NEEDS.items() if getattr(observed, need) is None for name in names}
    return tuple(name for name in DIRECTIONS if name not in missing)


def ranges(g: FloatArray, direction: str) -> FloatArray:
    """A range that holds all scores of each row, shape (N, 1): their own, but one for all rows of log p [1].

    A temperature moves log p by the same factor in every row, so bets on it must not weigh rows by their range.

    Examples
    --------
    >>> ranges(np.array([[0.25, 0.5]]), "q").tolist(), ranges(np.array([[-3.0, 0.0]]), "log_p").tolist()
    ([[0.25]], [[8.0]])

    """
    if direction == "log_p":
        return np.full((len(g), 1), -_LOG_FLOOR)
    width: FloatArray = g.max(axis=1, keepdims=True) - g.min(axis=1, keepdims=True)
    return width


def centred(g: FloatArray, p: FloatArray) -> FloatArray:
    """G - E_p g for every cell, shape (N, K) [1].

    Examples
    --------
    >>> centred(np.array([[0.0, 1.0]]), np.array([[0.75, 0.25]])).tolist()
    [[-0.25, 0.75]]

    """
    difference: FloatArray = g - np.einsum("nk,nk->n", p, g)[:, None]
    return difference
