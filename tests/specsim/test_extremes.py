"""Laws at the edge of what a double holds, against the exact twins: nothing overflows, nothing is lost to subtraction.

A warning is an error here, as in all tests, so an overflow shows even where its result is harmless.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specsim import topology
from specsim.verifiers import MULTI_DRAFT, TREE_VERIFIERS, VERIFIERS
from specsim.verifiers.chain import LEAST_RESIDUAL_MASS
from specsim.verifiers.coupling import gumbel_match
from tests.reference import exact, exact_rules, exact_trees

WEIGHTS = st.sampled_from([0.0, 5e-324, 1e-310, 1e-300, 1e-150, 1e-20, 1e-17, 1e-12, 1e-9, 0.5, 1.0, 2.0])
CHAINS: dict[str, exact.Rule] = {
    "rejection": exact.rejection,
    "gumbel": exact_rules.gumbel,
    "block": exact_rules.block,
}
RECURSIVE: dict[str, tuple[exact_trees.Judge, exact_trees.Draws]] = {
    "recursive_with_replacement": (exact_trees.recursive_with_replacement, exact_trees.independent),
    "recursive_without_replacement": (exact_trees.recursive_without_replacement, exact_trees.distinct),
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two laws of one vocabulary, often with nearly all of the mass on one token."""
    size = draw(st.integers(2, 3))
    weights = st.lists(WEIGHTS, min_size=size, max_size=size).filter(lambda row: max(row) >= 0.5)
    p, q = (np.array(draw(weights)) for _ in range(2))
    return p / p.sum(), q / q.sum()


def fractions(law: np.ndarray) -> exact.Law:
    return exact.normalised([Fraction(float(x)) for x in law])


@settings(deadline=None, max_examples=50)
@given(pairs())
@pytest.mark.parametrize("name", CHAINS)
def test_accepted_lengths_of_chains(name: str, laws: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = laws
    found = VERIFIERS[name].accepted_pmf([p] * 3, [q] * 2)
    expected = exact.accepted_pmf(exact.iid(fractions(p)), exact.iid(fractions(q)), CHAINS[name], gamma=2)
    np.testing.assert_allclose(found, [float(x) for x in expected], atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(pairs())
@example((np.array([0.0, 1.0, 5e-311]), np.array([2e-17, 2e-150, 1.0])))
@example((np.array([1e-300, 1.0, 1e-310]), np.array([1.0, 2e-9, 2e-17])))
@pytest.mark.parametrize("name", VERIFIERS)
def test_whatever_is_drafted_the_outcome_is_a_law_that_forbids_what_the_target_does(
    name: str, laws: tuple[np.ndarray, np.ndarray]
) -> None:
    p, q = laws
    drafts = np.indices((p.size, p.size)).reshape(2, -1).T
    found = VERIFIERS[name].outcomes([p] * 3, drafts, q=[q] * 2)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=(1, 2)), 1, atol=1e-9)
    assert (found[..., p == 0] == 0).all()
    got = VERIFIERS[name].verify([p] * 3, drafts, q=[q] * 2, rng=np.random.default_rng(0))
    assert (p[got.token] > 0).all()


@settings(deadline=None, max_examples=50)
@given(pairs())
def test_the_gumbel_match(laws: tuple[np.ndarray, np.ndarray]) -> None:
    expected = float(exact_rules.gumbel_match(*map(fractions, laws)))
    assert float(gumbel_match(*laws)) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(pairs(), st.integers(1, 3))
@pytest.mark.parametrize("name", RECURSIVE)
def test_recursive_rejection_of_candidates(name: str, laws: tuple[np.ndarray, np.ndarray], count: int) -> None:
    """Two ways in the package, by places and by places and tokens, and the twin's."""
    expected = np.zeros(count)
    for (place, _), share in exact_trees.step_law(*map(fractions, laws), *RECURSIVE[name], count=count).items():
        if place is not None:
            expected[place] += float(share)
    within = count * LEAST_RESIDUAL_MASS + 1e-9  # a residual of less is taken for rounding
    rule = MULTI_DRAFT[name]
    np.testing.assert_allclose(rule.acceptance_vector(*laws, candidates=count), expected, atol=within)
    np.testing.assert_allclose(rule.accepted_law(*laws, candidates=count).sum(axis=-1), expected, atol=within)


@pytest.mark.parametrize("least", [1e-3, 1e-8, 1e-15, 1e-20, 1e-300, 1e-310, 1e-320])
def test_a_drafter_that_is_all_but_certain_and_wrong(least: float) -> None:
    """After its token falls the others are drawn by what little mass they have: 4/5 of (1/3 + 3/8)."""
    p, q = np.array([0.2, 0.5, 0.3]), np.array([1 - 3 * least, least, 2 * least])
    vector = MULTI_DRAFT["recursive_without_replacement"].acceptance_vector(p, q, candidates=3)
    np.testing.assert_allclose(vector, [1 / 5, 17 / 30, 7 / 30], atol=4 * least + 1e-12)


def test_no_probability_is_minus_zero() -> None:
    """It would be printed as -0.0."""
    p, chain = [1.0, 0.0], topology.chain(2)
    laws = [rule.accepted_pmf([p] * 3, [p] * 2) for rule in VERIFIERS.values()]
    laws += [rule.accepted_pmf(chain, [p] * 3, [p] * 2) for rule in TREE_VERIFIERS.values()]
    laws.append(topology.standing_pmf(chain, np.ones(2)))
    assert not any(np.signbit(law).any() for law in laws)
