"""The closed forms of Leviathan et al., derived with sympy from the law of the accepted length.

Only the law is written down: with a constant alpha, k drafts stand and the next falls with probability
(1 - alpha) alpha^k, and all gamma stand with probability alpha^gamma. Everything else is summed from it. `tau` computes
the same numbers without sympy and is tested against these expressions.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

alpha = sp.Symbol("alpha", positive=True)
gamma = sp.Symbol("gamma", integer=True, positive=True)
c = sp.Symbol("c", nonnegative=True)
c_hat = sp.Symbol("c_hat", nonnegative=True)
_k = sp.Symbol("k", integer=True, nonnegative=True)


def mean(value: sp.Expr, accepted: sp.Symbol) -> sp.Expr:
    """The mean of an expression in the accepted length, over its law; alpha is below 1.

    Examples
    --------
    >>> k = sp.Symbol("k", integer=True)
    >>> mean(sp.Integer(1), k)  # the law sums to 1
    1
    """
    fallen = sp.summation(value * (1 - alpha) * alpha**accepted, (accepted, 0, gamma - 1))
    return sp.simplify(_below_one(fallen) + value.subs(accepted, gamma) * alpha**gamma)


@cache
def expected_tokens() -> sp.Expr:
    """E_tokens, the bonus included: (1) of [1].

    Examples
    --------
    >>> expected_tokens().subs({alpha: sp.Rational(7, 10), gamma: 4})
    27731/10000
    """
    return sp.factor(mean(_k + 1, _k))


@cache
def variance_tokens() -> sp.Expr:
    """Variance of the tokens of a round.

    Examples
    --------
    >>> variance_tokens().subs({alpha: sp.Rational(1, 2), gamma: 1})
    1/4
    """
    return sp.simplify(mean((_k + 1) ** 2, _k) - mean(_k + 1, _k) ** 2)


@cache
def speedup_walltime() -> sp.Expr:
    """E_tokens over the round's time in target steps, gamma drafter steps of c and one target step: theorem 3.8 of [1].

    Examples
    --------
    >>> speedup_walltime().subs({alpha: sp.Rational(7, 10), gamma: 4, c: sp.Rational(1, 10)})
    27731/14000
    """
    return expected_tokens() / (gamma * c + 1)


@cache
def operations_factor() -> sp.Expr:
    """The round's operations, gamma drafted at c_hat and gamma + 1 scored, over E_tokens: theorem 3.11 of [1].

    Examples
    --------
    >>> operations_factor().subs({alpha: sp.Rational(4, 5), gamma: 2, c_hat: 0})
    75/61
    """
    return (gamma * c_hat + gamma + 1) / expected_tokens()


def _below_one(sums: sp.Expr) -> sp.Expr:
    return sums.replace(lambda part: isinstance(part, sp.Piecewise), lambda part: part.args[-1].expr)
