"""Between the five quantities that are all called acceptance rate, each with its own name.

`alpha` is what the two laws share, averaged over contexts. `conditional` is alpha_k, acceptance of draft k where those
before it stood. `survival` is s_k, their running product. `draft_utilisation` is accepted over drafted tokens.
`E_tokens` is tokens per round with the bonus or correction token, `E_accepted` without. Conditional and survival say
the same; utilisation, E_tokens and E_accepted say the same at one gamma, and less. `alpha` says something about the
rest only where contexts do not differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import overlap
from specsim.errors import InputError


def analytic_alpha(p: ArrayLike, q: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Mean over contexts of sum_x min(p(x), q(x)): acceptance of a draft drawn from q wherever it is made [1].

    Parameters
    ----------
    p, q : array, shape (N, V)
        Target and draft laws in N contexts [1].
    weights : array, shape (N,), optional
        How often each context occurs; equal if left out.

    Notes
    -----
    Exact for the first draft of a round if contexts are those at which rounds begin. Contexts of a corpus are not
    those that deeper drafts are judged in, so this is no `conditional`.

    Examples
    --------
    >>> round(analytic_alpha([[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.2, 0.8]]), 3)
    0.6
    """
    shared = overlap(p, q)
    if weights is None:
        return float(shared.mean())
    share = checks.array("weights", weights)
    if share.shape != shared.shape or (share < 0).any() or share.sum() == 0:
        raise InputError(f"weights must be {shared.shape} numbers of at least 0 with a positive sum")
    return float(shared @ share / share.sum())


def survival_from_conditional(conditional: ArrayLike) -> FloatArray:
    """s_k = alpha_1 ... alpha_k, shape (G,) [1].

    Examples
    --------
    >>> survival_from_conditional([0.8, 0.5])
    array([0.8, 0.4])
    """
    return np.asarray(np.cumprod(checks.probabilities("conditional", conditional, ndim=1)))


def conditional_from_survival(survival: ArrayLike) -> FloatArray:
    """alpha_k = s_k / s_(k-1), shape (G,); 0 beyond a depth that no round reaches [1].

    Examples
    --------
    >>> conditional_from_survival([0.8, 0.4, 0.0, 0.0])
    array([0.8, 0.5, 0. , 0. ])
    """
    deep = _survival(survival)
    reached = np.concatenate(([1.0], deep))[:-1]
    return np.divide(deep, reached, out=np.zeros_like(deep), where=reached > 0)


def tokens_from_survival(survival: ArrayLike) -> float:
    """E_tokens = 1 + sum of s_k [1].

    Examples
    --------
    >>> round(tokens_from_survival([0.7, 0.49, 0.343, 0.2401]), 4)
    2.7731
    """
    return 1 + float(_survival(survival).sum())


def tokens_from_utilisation(draft_utilisation: float, *, gamma: int) -> float:
    """E_tokens = 1 + gamma * accepted over drafted, where every round drafts gamma tokens [1].

    Examples
    --------
    >>> round(tokens_from_utilisation(0.355, gamma=3), 3)
    2.065
    """
    drafted = checks.integer("gamma", gamma, low=1)
    return 1 + drafted * checks.probability("draft_utilisation", draft_utilisation)


def utilisation_from_tokens(E_tokens: float, *, gamma: int) -> float:
    """Accepted over drafted = (E_tokens - 1) / gamma, where every round drafts gamma tokens [1].

    Examples
    --------
    >>> round(utilisation_from_tokens(2.7731, gamma=4), 4)
    0.4433
    """
    return (_tokens(E_tokens, gamma=gamma) - 1) / gamma


def constant_alpha_from_tokens(E_tokens: float, *, gamma: int) -> float:
    """The constant alpha that gives E_tokens at gamma: one number for comparison, exact only where alpha is constant.

    Notes
    -----
    Solves (1 - alpha^(gamma+1)) / (1 - alpha) = E_tokens, (1) of Leviathan et al. (arXiv 2211.17192). It is not
    `draft_utilisation`, which put into the same formula gives too small an E_tokens at any gamma above 1.

    Examples
    --------
    >>> round(constant_alpha_from_tokens(2.7731, gamma=4), 6)
    0.7
    """
    accepted = _tokens(E_tokens, gamma=gamma) - 1
    depth = np.arange(1, gamma + 1)
    return float(optimize.brentq(lambda alpha: float((alpha**depth).sum()) - accepted, 0.0, 1.0, xtol=1e-15))


def _tokens(E_tokens: float, *, gamma: int) -> float:
    return checks.number("E_tokens", E_tokens, low=1, high=1 + checks.integer("gamma", gamma, low=1))


def _survival(survival: ArrayLike) -> FloatArray:
    deep = checks.probabilities("survival", survival, ndim=1)
    rising = np.flatnonzero(np.diff(deep) > 0)
    if rising.size:
        raise InputError(f"survival[{rising[0] + 1}] must not be above the one before, got {deep[rising[0] + 1]:g}")
    return deep
