"""sympy's derivations, the papers' closed forms and `tau`: three ways to each number."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy as sp

from specsim import symbolic, tau
from specsim.acceptance import Acceptance
from specsim.symbolic import alpha, c, c_hat, gamma
from tests.reference import exact

GRID = [(Fraction(k, 20), drafted) for k in (1, 6, 10, 14, 19) for drafted in (1, 2, 5, 12)]
# As printed in Leviathan et al., arXiv 2211.17192: (1), theorem 3.8, theorem 3.11.
PRINTED = {
    "expected_tokens": (1 - alpha ** (gamma + 1)) / (1 - alpha),
    "speedup_walltime": (1 - alpha ** (gamma + 1)) / ((1 - alpha) * (gamma * c + 1)),
    "operations_factor": (1 - alpha) * (gamma * c_hat + gamma + 1) / (1 - alpha ** (gamma + 1)),
}


def same(one: sp.Expr, other: sp.Expr) -> bool:
    return sp.simplify(sp.expand(sp.powsimp(one - other))) == 0


@pytest.mark.parametrize("name", PRINTED)
def test_the_derivation_is_what_the_paper_prints(name: str) -> None:
    assert same(getattr(symbolic, name)(), PRINTED[name])


def test_a_slip_by_one_in_the_exponent_is_caught() -> None:
    assert not same(symbolic.expected_tokens(), (1 - alpha**gamma) / (1 - alpha))


def test_the_variance_agrees_with_the_tail_sums() -> None:
    """E[accepted^2] = sum (2k - 1) alpha^k, summed by sympy for given gammas."""
    for drafted in (1, 2, 3, 6):
        square = sum((2 * k - 1) * alpha**k for k in range(1, drafted + 1))
        first = sum(alpha**k for k in range(1, drafted + 1))
        assert same(symbolic.variance_tokens().subs(gamma, drafted), square - first**2)


def test_the_law_sums_to_one_and_its_limit_is_full_acceptance() -> None:
    k = sp.Symbol("k", integer=True)
    assert symbolic.mean(sp.Integer(1), k) == 1
    assert sp.limit(symbolic.expected_tokens().subs(gamma, 5), alpha, 1) == 6
    assert sp.limit(symbolic.variance_tokens().subs(gamma, 5), alpha, 1) == 0


@pytest.mark.parametrize(("rate", "drafted"), GRID, ids=str)
def test_exact_enumeration_agrees_in_fractions(rate: Fraction, drafted: int) -> None:
    pmf = exact.survival_pmf(exact.running_products([rate] * drafted))
    accepted, variance = exact.moments(pmf)
    at = {alpha: sp.Rational(rate), gamma: drafted}
    assert sp.simplify(symbolic.expected_tokens().subs(at)) == sp.Rational(1 + accepted)
    assert sp.simplify(symbolic.variance_tokens().subs(at)) == sp.Rational(variance)


@pytest.mark.parametrize(("rate", "drafted"), GRID, ids=str)
def test_tau_agrees(rate: Fraction, drafted: int) -> None:
    at = {alpha: sp.Rational(rate), gamma: drafted, c: sp.Rational(1, 10), c_hat: sp.Rational(1, 20)}
    acceptance, value = Acceptance.constant(float(rate)), float(rate)
    numeric = {
        "expected_tokens": tau.expected_tokens(acceptance, gamma=drafted),
        "variance_tokens": tau.variance_tokens(acceptance, gamma=drafted),
        "speedup_walltime": tau.speedup_walltime(value, gamma=drafted, c=0.1),
        "operations_factor": tau.operations_factor(value, gamma=drafted, c_hat=0.05),
    }
    for name, number in numeric.items():
        assert number == pytest.approx(float(getattr(symbolic, name)().subs(at)), rel=1e-12), name
