"""Acceptance of trees against the exact recursion, every tree by hand, and a chain as the limit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.acceptance import Acceptance, TreeAcceptance
from specsim.catalog import rank_vector
from specsim.errors import InputError
from specsim.topology import acceptance_vector, optimal_tokens

raw_ranks = st.lists(st.floats(0.001, 1), min_size=1, max_size=4).map(lambda parts: np.array(parts) / sum(parts))


def tokens(law, gamma):
    return 1 + float(law.survival(gamma).sum())


@given(
    parts=raw_ranks,
    share=st.floats(0.05, 1),
    nodes=st.integers(1, 30),
    gamma=st.integers(1, 8),
    is_sorted=st.booleans(),
)
@settings(max_examples=200)
def test_tokens_are_those_of_the_exact_recursion(parts, share, nodes, gamma, is_sorted):
    ranks = share * (np.sort(parts)[::-1] if is_sorted else parts)
    reachable = optimal_tokens(acceptance_vector(ranks), nodes=nodes, max_depth=gamma)[-1]
    best = reachable[np.isfinite(reachable)].max()
    assert tokens(Acceptance.tree(ranks, nodes=nodes), gamma) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("ranks", [(0.5, 0.3, 0.1), (0.2, 0.6)])
@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_no_tree_of_so_many_nodes_is_better(ranks, nodes):
    """All sets of rank paths that are trees, with the first children first."""
    paths = [path for depth in (1, 2, 3) for path in itertools.product(range(len(ranks)), repeat=depth)]
    worth = {path: float(np.prod([ranks[rank] for rank in path])) for path in paths}

    def is_tree(chosen):
        needs = [(*path[:-1], path[-1] - 1) if path[-1] else path[:-1] for path in chosen]
        return all(need == () or need in chosen for need in needs)

    by_hand = max(
        sum(worth[path] for path in tree) for tree in itertools.combinations(paths, nodes) if is_tree(set(tree))
    )
    assert tokens(Acceptance.tree(ranks, nodes=nodes), 3) == pytest.approx(1 + by_hand, rel=1e-12)


@given(alpha=st.floats(0, 1), gamma=st.integers(1, 12), more=st.integers(0, 5))
def test_one_rank_is_a_chain(alpha, gamma, more):
    law = Acceptance.tree([alpha], nodes=gamma + more)
    assert law.survival(gamma) == pytest.approx(Acceptance.constant(alpha).survival(gamma), rel=1e-12)


@given(alpha=st.floats(0.01, 0.99), nodes=st.integers(1, 60), gamma=st.integers(1, 16))
def test_a_larger_or_deeper_tree_is_no_worse_and_a_law_stays_one(alpha, nodes, gamma):
    law = Acceptance.tree(rank_vector(alpha), nodes=nodes)
    chances, survival = law.conditional(gamma), law.survival(gamma)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(survival) <= 0).all()
    assert tokens(law, gamma) <= tokens(Acceptance.tree(rank_vector(alpha), nodes=nodes + 1), gamma) * (1 + 1e-12)
    assert tokens(law, gamma) <= tokens(law, gamma + 1) * (1 + 1e-12)
    assert tokens(law, gamma) >= tokens(Acceptance.constant(alpha), min(gamma, nodes)) * (1 - 1e-12)


def test_certain_and_hopeless_drafts():
    assert Acceptance.tree(rank_vector(1.0), nodes=4).survival(6).tolist() == [1, 1, 1, 1, 0, 0]
    assert Acceptance.tree(rank_vector(0.0), nodes=4).survival(2).tolist() == [0, 0]
    assert Acceptance.tree([0.5], nodes=2).survival(0).shape == (0,)


def test_it_says_what_it_is_and_refuses():
    assert Acceptance.tree([0.6, 0.2], nodes=5, source="here") == TreeAcceptance(
        ranks=(0.6, 0.2), nodes=5, source="here"
    )
    assert Acceptance.tree([0.6, 0.2], nodes=5).name == "tree of 5 nodes, first rank 0.6"
    for bad, message in (
        ({"ranks": [0.8, 0.4], "nodes": 3}, "sum to at most 1, got a sum of 1.2"),
        ({"ranks": [], "nodes": 3}, "one rank at least"),
        ({"ranks": [0.5], "nodes": 0}, "nodes must be at least 1, got 0"),
        ({"ranks": [1.5], "nodes": 1}, r"acceptance\[0\] must be in \[0, 1\], got 1.5"),
    ):
        with pytest.raises(InputError, match=message):
            Acceptance.tree(bad["ranks"], nodes=bad["nodes"])
    with pytest.raises(InputError, match="gamma must be at least 0, got -1"):
        Acceptance.tree([0.5], nodes=2).survival(-1)
