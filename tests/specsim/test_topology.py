"""Trees: their shape, their builders against goldens and brute force, and how many of their drafts stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import topology
from specsim.errors import InfeasibleError, InputError
from specsim.topology import ROOT, DraftTree, Topology
from specsim.topology.ranking import most_probable
from tests.reference import exact, exact_trees, golden_spine, golden_trees

PARENTS = st.lists(st.integers(0, 10**6), max_size=12).map(
    lambda draws: tuple(draw % (node + 1) - 1 for node, draw in enumerate(draws))
)
VECTORS = st.lists(st.floats(0.01, 1), min_size=1, max_size=4).map(lambda raw: np.array(raw) / max(1, sum(raw)))


def drafter(q: exact.Table) -> topology.DraftRows:
    """One drafter pass over an exact table."""
    return lambda paths: [[float(x) for x in q(tuple(path))] for path in paths]


def random_rows(seed: int, vocabulary: int) -> topology.DraftRows:
    """A drafter whose laws depend on the whole path."""
    return drafter(exact.random_table(seed, vocabulary))


def is_closed(tree: DraftTree) -> bool:
    """No node is worth more than its parent, and siblings propose different tokens."""
    values = [*tree.values, 1.0]
    falls = all(tree.values[node] <= values[parent] for node, parent in enumerate(tree.topology.parents))
    siblings = [[tree.choices[v] for v in tree.topology.children(u)] for u in range(ROOT, tree.topology.nodes)]
    return falls and all(len(set(tokens)) == len(tokens) for tokens in siblings)


# --- the shape -----------------------------------------------------------------------------------------------------


@given(PARENTS)
def test_paths_depths_ranks_masks_and_children_agree(parents: tuple[int, ...]) -> None:
    tree = Topology(parents=parents)
    for node, path in enumerate(tree.paths):
        assert list(path) == exact_trees.path(parents, node)
        assert np.flatnonzero(tree.attention_mask[node]).tolist() == sorted(path)
        assert tree.children(node) == tuple(exact_trees.children(parents, node))
    assert tree.depths == tuple(map(len, tree.paths))
    assert tree.positions.tolist() == list(tree.depths)
    assert tree.depth == max(tree.depths, default=0)
    assert Topology.from_rank_paths(tree.rank_paths) == tree
    table = [[child for child in row if child != ROOT] for row in tree.child_table.tolist()]
    assert table == [list(tree.children(node)) for node in range(ROOT, tree.nodes)]


def test_a_chain_is_a_chain() -> None:
    tree = topology.chain(3)
    assert tree.paths == ((0,), (0, 1), (0, 1, 2))
    assert (tree.attention_mask == np.tri(3, dtype=bool)).all()
    assert topology.chain(0) == Topology(parents=())


def test_complete_trees() -> None:
    assert Topology.branching(2, 2).parents == exact_trees.branching(2, 2) == (-1, -1, 0, 0, 1, 1)
    assert Topology.branching().parents == ()
    assert Topology.from_child_counts([2, 0, 1]).parents == (-1, -1, 1)


def test_topologies_are_values() -> None:
    assert {Topology(parents=(-1, 0)), Topology(parents=(-1, 0))} == {topology.chain(2)}
    with pytest.raises(ValueError, match="read-only"):
        topology.chain(2).child_table[0] = 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Topology(parents=(0,)), r"parents\[0\] must be in -1\.\.-1, got 0"),
        (lambda: Topology(parents=(-1, 1)), r"parents\[1\] must be in -1\.\.0, got 1"),
        (lambda: Topology(parents=(-2,)), r"parents\[0\] must be in"),
        (lambda: Topology(parents=(-1.0,)), r"parents\[0\] must be a whole number"),  # type: ignore[arg-type]
        (lambda: Topology.from_rank_paths([[0], [0]]), r"paths\[1\] must be new"),
        (lambda: Topology.from_rank_paths([[0, 0]]), r"paths\[0\] must be new and follow its parent"),
        (lambda: Topology.from_rank_paths([[1]]), r"paths\[0\] must be new and follow"),
        (lambda: Topology.from_rank_paths([[]]), r"paths\[0\] must be new"),
        (lambda: Topology.from_child_counts([0, 1]), "counts must be of the root and 0 nodes"),
        (lambda: Topology.branching(0), r"counts\[0\] must be at least 1"),
        (lambda: topology.chain(2).children(2), r"node must be in -1\.\.1"),
        (lambda: DraftTree(topology=topology.chain(2), choices=(1,), values=(0.5, 0.2), draft_passes=1), "one a node"),
        (lambda: DraftTree(topology=topology.chain(1), choices=(1,), values=(1.5,), draft_passes=1), r"in \[0, 1\]"),
    ],
)
def test_what_is_no_tree_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# --- Sequoia -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_trees.rows("sequoia_optimal_tree"), ids=lambda row: row["id"])
def test_sequoia_golden(row: dict) -> None:
    vector, nodes = golden_spine.numbers(row["case"]["acceptance"]), row["case"]["nodes"]
    best = float(Fraction(row["expected"]["E_tokens"]))
    tree = topology.sequoia(vector, nodes=nodes)
    assert topology.positional_length(tree, acceptance=vector).E_tokens == pytest.approx(best, rel=row["rtol"])
    greedy, values = topology.best_first([vector] * max(1, nodes), nodes=nodes)
    assert list(map(list, greedy.rank_paths)) == row["expected"]["rank_paths"]
    assert 1 + sum(values) == pytest.approx(best, rel=row["rtol"])
    chain = topology.positional_length(topology.chain(nodes), acceptance=vector).E_tokens
    assert chain == pytest.approx(float(Fraction(row["expected"]["chain_E_tokens"])), rel=row["rtol"])


@pytest.mark.parametrize("row", golden_trees.rows("sequoia_optimal_tree_depth_limited"), ids=lambda row: row["id"])
def test_sequoia_with_a_depth_limit_golden(row: dict) -> None:
    vector, case = golden_spine.numbers(row["case"]["acceptance"]), row["case"]
    size = {"nodes": case["nodes"], "max_depth": case["max_depth"]}
    if row["expected"]["E_tokens"] is None:
        with pytest.raises(InfeasibleError, match="at most 4 do, so allow more of either"):
            topology.sequoia(vector, **size)
        return
    tree = topology.sequoia(vector, **size)
    assert (tree.nodes, tree.depth <= case["max_depth"]) == (case["nodes"], True)
    expected = float(Fraction(row["expected"]["E_tokens"]))
    assert topology.positional_length(tree, acceptance=vector).E_tokens == pytest.approx(expected, rel=row["rtol"])


@pytest.mark.parametrize("vector", [(6, 2, 1), (5, 5), (2, 3, 1), (1, 6, 3), (9,)], ids=str)
def test_sequoia_is_the_best_of_all_trees(vector: tuple[int, ...]) -> None:
    """Also where acceptance rises with rank, since children are filled from rank 0 on."""
    chances = tuple(Fraction(x, 10) for x in vector)
    for nodes, depth in product(range(6), range(1, 5)):
        trees = exact_trees.shapes(nodes, depth, len(vector))
        best = max((exact_trees.tree_tokens(tree, chances) for tree in trees), default=None)
        assert exact_trees.most_tokens(chances, nodes=nodes, depth=depth) == best
        if best is None:
            with pytest.raises(InfeasibleError):
                topology.sequoia([float(x) for x in chances], nodes=nodes, max_depth=depth)
            continue
        for limit in (depth, None) if depth >= nodes else (depth,):
            tree = topology.sequoia([float(x) for x in chances], nodes=nodes, max_depth=limit)
            assert exact_trees.tree_tokens(tree.rank_paths, chances) == pytest.approx(float(best))
            assert frozenset(tree.rank_paths) in trees


@given(VECTORS, st.integers(0, 20))
def test_greedy_is_optimal_where_acceptance_falls_with_rank(vector: np.ndarray, nodes: int) -> None:
    falling = np.sort(vector)[::-1]
    best = topology.positional_length(topology.sequoia(falling, nodes=nodes), acceptance=falling).E_tokens
    greedy, values = topology.best_first([falling] * max(1, nodes), nodes=nodes)
    assert greedy.nodes == nodes
    assert 1 + sum(values) == pytest.approx(best)


@given(VECTORS, st.integers(1, 12), st.integers(1, 4))
def test_more_nodes_and_more_depth_never_hurt(vector: np.ndarray, nodes: int, depth: int) -> None:
    tokens = topology.optimal_tokens(vector, nodes=nodes, max_depth=depth)
    assert tokens[0, 0] == 1
    assert (np.diff(np.maximum(tokens, -1), axis=0) >= -1e-12).all()  # minus infinity where no tree fits
    finite = tokens[-1][np.isfinite(tokens[-1])]
    assert (finite <= depth + 1 + 1e-12).all()
    if (np.diff(vector) <= 0).all():
        assert (np.diff(finite) >= -1e-12).all()
    for size in np.flatnonzero(np.isfinite(tokens[-1])):
        tree = topology.sequoia(vector, nodes=int(size), max_depth=depth)
        length = topology.positional_length(tree, acceptance=vector)
        assert length.E_tokens == pytest.approx(tokens[-1, size])


def test_a_large_budget_is_practical() -> None:
    vector = 0.5 * 0.7 ** np.arange(16) * 0.6
    tree = topology.sequoia(vector, nodes=512)
    greedy, values = topology.best_first([vector] * 512, nodes=512)
    assert topology.positional_length(tree, acceptance=vector).E_accepted == pytest.approx(sum(values))
    assert tree.nodes == greedy.nodes == 512


# --- dynamic trees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_trees.rows("eagle2_dynamic_tree"), ids=lambda row: row["id"])
def test_eagle2_golden(row: dict) -> None:
    p, q = golden_spine.tables(row["case"])
    tree = topology.eagle2(drafter(q), **{name: row["case"][name] for name in ("nodes", "top_k", "depth")})
    texts = [tuple(tree.choices[v] for v in path) for path in tree.topology.paths]
    assert list(map(list, texts)) == row["expected"]["paths"]
    np.testing.assert_allclose(tree.values, golden_spine.numbers(row["expected"]["values"]), rtol=row["rtol"])
    assert tree.draft_passes == row["expected"]["draft_passes"]
    chances = [float(p(text[:-1])[text[-1]]) for text in texts]
    exactly, hoped = topology.target_length(tree.topology, chances=chances), topology.surrogate_length(tree)
    assert exactly.is_exact
    assert not hoped.is_exact
    assert exactly.E_accepted == pytest.approx(float(Fraction(row["expected"]["E_accepted"])), rel=row["rtol"])
    surrogate = float(Fraction(row["expected"]["surrogate_E_accepted"]))
    assert hoped.E_accepted == pytest.approx(surrogate, rel=row["rtol"])


@pytest.mark.parametrize("seed", range(8))
def test_eagle2_is_the_definition(seed: int) -> None:
    q = exact.random_table(seed, 4)
    for top, depth, nodes in ((1, 3, 3), (2, 3, 5), (3, 2, 8), (4, 3, 30)):
        tree = topology.eagle2(drafter(q), nodes=nodes, top_k=top, depth=depth)
        chosen = exact_trees.expand_and_rerank(q, nodes=nodes, top=top, depth=depth)
        np.testing.assert_allclose(tree.values, [float(value) for _, value in chosen])
        assert is_closed(tree)
        assert tree.draft_passes == depth


def test_a_layer_of_eagle2_is_one_pass() -> None:
    asked: list[int] = []

    def rows(paths: Sequence[tuple[int, ...]]) -> np.ndarray:
        asked.append(len(paths))
        return np.full((len(paths), 5), 0.2)

    topology.eagle2(rows, nodes=10, top_k=3, depth=4)
    assert asked == [1, 3, 3, 3]


@pytest.mark.parametrize("seed", range(5))
def test_opt_tree_is_the_best_tree_of_its_depth(seed: int) -> None:
    """Brute force: the N most probable strings of up to `depth` tokens."""
    q, nodes = exact.random_table(seed, 3), 6
    for depth in (1, 2, 3):
        tree = topology.opt_tree(drafter(q), nodes=nodes, min_gain=0, max_depth=depth)
        strings = [text for length in range(1, depth + 1) for text in product(range(3), repeat=length)]
        best = sorted((exact_trees.path_probability(q, text) for text in strings), reverse=True)[:nodes]
        np.testing.assert_allclose(tree.values, [float(value) for value in best])
        assert tree.draft_passes == depth
        assert is_closed(tree)


def test_opt_tree_stops_when_a_layer_gains_too_little() -> None:
    rows = random_rows(3, 3)
    sums = [
        topology.surrogate_length(topology.opt_tree(rows, nodes=8, min_gain=0, max_depth=depth)).E_accepted
        for depth in range(1, 8)
    ]
    gains = np.diff([0, *sums])
    assert (gains >= 0).all()
    for least in (0.01, 0.1, 0.3):
        tree = topology.opt_tree(rows, nodes=8, min_gain=least, max_depth=7)
        assert tree.draft_passes == next((d for d, gain in enumerate(gains, 1) if gain <= least), 7)


@pytest.mark.parametrize("seed", range(5))
def test_ddtree_is_the_best_of_all_strings(seed: int) -> None:
    marginals = np.random.default_rng(seed).dirichlet(np.ones(4), size=3)
    tree = topology.ddtree(marginals, nodes=10)
    values = [
        np.prod([marginals[d, x] for d, x in enumerate(text)])
        for length in (1, 2, 3)
        for text in product(range(4), repeat=length)
    ]
    np.testing.assert_allclose(tree.values, np.sort(values)[::-1][:10])
    assert is_closed(tree)
    assert tree.draft_passes == 1
    for node, path in enumerate(tree.topology.paths):
        value = np.prod([marginals[d, tree.choices[v]] for d, v in enumerate(path)])
        assert tree.values[node] == pytest.approx(value)


def test_ddtree_of_a_certain_drafter_is_a_chain() -> None:
    tree = topology.ddtree(np.eye(5)[[3, 1, 4]], nodes=60)
    assert tree.topology == topology.chain(3)
    assert tree.choices == (3, 1, 4)


def test_medusa_is_greedy_on_the_product_of_head_accuracies() -> None:
    accuracies = np.array([[0.6, 0.15, 0.05], [0.4, 0.2, 0.1]])
    tree = topology.medusa(accuracies, nodes=5)
    assert tree.topology.rank_paths == ((0,), (0, 0), (1,), (0, 1), (0, 2))
    assert tree.choices == (0, 0, 1, 1, 2)
    np.testing.assert_allclose(tree.values, [0.6, 0.24, 0.15, 0.12, 0.06])
    assert tree.draft_passes == 0
    assert topology.medusa(accuracies, nodes=63).topology.nodes == 12


def test_eagle1_is_the_published_tree() -> None:
    tree = topology.eagle1()
    assert [tree.depths.count(depth) for depth in range(1, 6)] == [4, 8, 8, 3, 2]
    assert tree.rank_paths[-5:] == ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 0, 0), (0, 0, 0, 0, 1))
    assert [len(tree.children(node)) for node in range(4)] == [3, 2, 2, 1]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_most_probable_breaks_ties_by_id(count: int) -> None:
    laws = np.random.default_rng(0).integers(0, 4, (50, 5)) / 10
    expected = np.argsort(-laws, axis=-1, kind="stable")[:, :count]
    np.testing.assert_array_equal(most_probable(laws, count=count), expected)
    np.testing.assert_array_equal(most_probable(laws.reshape(5, 10, 5), count=count), expected.reshape(5, 10, count))


# --- length --------------------------------------------------------------------------------------------------------


@given(PARENTS, st.integers(0, 10**6))
def test_lengths_are_sums_over_paths_and_at_most_the_depth(parents: tuple[int, ...], seed: int) -> None:
    tree = Topology(parents=parents)
    widest = tree.child_table.shape[1]
    vector = np.random.default_rng(seed).dirichlet(np.ones(widest + 1))[:-1] if widest else np.array([0.5])
    length = topology.positional_length(tree, acceptance=vector)
    exactly = exact_trees.tree_tokens(tree.rank_paths, tuple(map(Fraction, vector.tolist())))
    assert length.E_tokens == pytest.approx(float(exactly))
    assert 1 <= length.E_tokens <= tree.depth + 1
    reached = topology.standing(tree, topology.positional_chances(tree, acceptance=vector))
    pmf = topology.standing_pmf(tree, reached)
    assert pmf.min() >= -1e-12
    assert pmf.sum() == pytest.approx(1)
    assert pmf @ np.arange(tree.depth + 1) == pytest.approx(length.E_accepted)


def test_certain_drafts_stand_if_the_target_draws_them() -> None:
    """Against enumeration of top-k rejection on a table that depends on the whole path."""
    p, q = exact.random_table(1, 3), exact.random_table(2, 3)
    shape = Topology.branching(2, 2)
    (tokens, _), *_ = exact_trees.drafted(q, shape.parents, (), exact_trees.likeliest)
    rule = exact_trees.stepwise(exact_trees.top_k)
    pmf = exact_trees.accepted_pmf(p, q, shape.parents, rule, draws=exact_trees.likeliest)
    chances = [float(p(tuple(tokens[v] for v in path[:-1]))[tokens[path[-1]]]) for path in shape.paths]
    found = topology.standing_pmf(shape, topology.standing(shape, chances))
    np.testing.assert_allclose(found, [float(x) for x in pmf])
    assert topology.target_length(shape, chances=chances).E_accepted == pytest.approx(float(pmf[1] + 2 * pmf[2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: topology.sequoia([0.6, 0.5], nodes=2), "sum to at most 1, got a sum of 1.1"),
        (lambda: topology.sequoia([], nodes=2), "one rank at least"),
        (lambda: topology.sequoia([np.nan], nodes=2), r"acceptance\[0\] must be finite"),
        (lambda: topology.sequoia([-0.1], nodes=2), r"acceptance\[0\] must be in \[0, 1\]"),
        (lambda: topology.sequoia([0.5], nodes=-1), "nodes must be at least 0"),
        (lambda: topology.sequoia([0.5], nodes=1, max_depth=-1), "max_depth must be at least 0"),
        (lambda: topology.positional_length(Topology.branching(2), acceptance=[0.5]), "must know 2 ranks"),
        (lambda: topology.standing(topology.chain(2), [0.5]), r"chances must have shape \(\.\.\., 2\)"),
        (lambda: topology.best_first(np.ones((0, 2)), nodes=1), "a depth and a rank"),
        (lambda: topology.medusa([0.5, 0.2], nodes=1), "must have 2 axes"),
        (lambda: topology.ddtree([0.5, 0.5], nodes=1), r"marginals must have shape \(D, V\)"),
        (lambda: topology.ddtree([[0.5, 0.6]], nodes=1), r"marginals\[0\] must sum to 1"),
        (lambda: topology.eagle2(lambda paths: [[0.5, 0.6]], nodes=1, top_k=1, depth=1), "must sum to 1"),
        (lambda: topology.eagle2(lambda paths: [[0.5, 0.5]], nodes=1, top_k=2, depth=2), r"shape \(2, V\)"),
        (lambda: topology.eagle2(random_rows(0, 2), nodes=1, top_k=0, depth=1), "top_k must be at least 1"),
        (lambda: topology.opt_tree(random_rows(0, 2), nodes=1, min_gain=-1, max_depth=1), "min_gain must be at least"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# --- size ----------------------------------------------------------------------------------------------------------


@given(VECTORS, st.floats(0, 0.5), st.floats(0, 0.3), st.integers(0, 8), st.integers(0, 4))
def test_the_best_size_is_the_best_of_all_sizes(
    vector: np.ndarray, draft: float, slope: float, nodes: int, depth: int
) -> None:
    def verify_seconds(tokens: int) -> float:
        return 1 + slope * tokens

    found = topology.best_size(
        vector, draft_seconds=draft, verify_seconds=verify_seconds, max_nodes=nodes, max_depth=depth
    )
    tokens = topology.optimal_tokens(vector, nodes=nodes, max_depth=depth)
    rates = [tokens[d, n] / (d * draft + verify_seconds(n + 1)) for d in range(depth + 1) for n in range(nodes + 1)]
    assert found.tokens_per_second == pytest.approx(max(rates))
    length = topology.positional_length(found.topology, acceptance=vector)
    assert length.E_tokens == pytest.approx(found.E_tokens)


def test_trees_grow_where_verifying_is_free_and_vanish_where_it_is_dear() -> None:
    sizes = [
        topology.best_size(
            [0.6, 0.2, 0.1], draft_seconds=0.02, verify_seconds=lambda n, s=slope: 1 + s * n, max_nodes=32, max_depth=8
        ).topology.nodes
        for slope in (0.0, 0.01, 0.1, 10.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (32, 0)


def test_a_pass_that_takes_no_time_is_refused() -> None:
    with pytest.raises(InputError, match=r"verify_seconds\(1\) must be above 0"):
        topology.best_size([0.5], draft_seconds=0, verify_seconds=lambda n: 0.0, max_nodes=1, max_depth=1)
