"""Verification of whole trees: lossless by enumeration, the package against the twin, samplers against exact laws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import topology
from specsim.errors import InputError
from specsim.stats.chi_square import goodness_of_fit
from specsim.topology import ROOT, Topology
from specsim.verifiers import MULTI_DRAFT, TREE_VERIFIERS, VERIFIERS, Stepwise, Traversal, traversal
from specsim.verifiers.multi_draft import RecursiveWithoutReplacement, drawing
from specsim.verifiers.tree import TreeVerification
from tests.reference import exact, exact_trees, golden_trees
from tests.reference.golden_spine import numbers, prefix_arrays, tables

LEVEL = 1e-7  # false-alarm rate of each random test here
ROUNDS = 100_000
TREES = [(2,), (1, 1), (2, 1), (2, 2), (1, 2), (3, 1)]
RAGGED = (-1, -1, 0, 0, 1, 2)  # two children; two and one below; one below the first of these
P_A, Q_A = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
WITHOUT, TRAVERSAL = Stepwise(RecursiveWithoutReplacement()), Traversal()
RULES: dict[str, tuple[exact_trees.TreeRule, exact_trees.Draws]] = {
    "recursive_with_replacement": (
        exact_trees.stepwise(exact_trees.recursive_with_replacement),
        exact_trees.independent,
    ),
    "recursive_without_replacement": (
        exact_trees.stepwise(exact_trees.recursive_without_replacement),
        exact_trees.distinct,
    ),
    "k_seq": (exact_trees.stepwise(exact_trees.k_seq), exact_trees.independent),
    "top_k": (exact_trees.stepwise(exact_trees.top_k), exact_trees.likeliest),
    "traversal": (exact_trees.traversal, exact_trees.distinct),
}
EXACT = RULES | {"k_seq": (exact_trees.stepwise(exact_trees.coarse_k_seq), exact_trees.independent)}


def coins(value: float) -> Any:
    """A generator whose uniforms are all the same."""
    return SimpleNamespace(random=lambda shape: np.full(shape, value))


def pair(vocabulary: int, *, seed: int = 1, zeros: bool = False) -> tuple[exact.Table, exact.Table]:
    p, q = (exact.random_table(seed + side, vocabulary, zeros=zeros) for side in (0, 1000))
    return p, q


def arrays(p: exact.Table, q: exact.Table, *, depth: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return prefix_arrays(p, depths=depth + 1), prefix_arrays(q, depths=depth)


# --- exact: what is emitted is the target's law --------------------------------------------------------------------


@pytest.mark.parametrize("counts", TREES, ids=str)
@pytest.mark.parametrize("name", RULES)
def test_lossless_across_a_round_boundary(name: str, counts: tuple[int, ...]) -> None:
    """The first depth + 1 tokens, which rounds that accept less than everything take two rounds for."""
    rule, draws = EXACT[name]
    p, q = pair(3)
    length = len(counts) + 1
    text = exact_trees.text_law(p, q, exact_trees.branching(*counts), rule, length=length, draws=draws)
    assert text == exact.target_law(p, length=length)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("parents", [(-1, -1, 0), (-1, 0, 0, -1), (-1, 0, 1)], ids=str)
def test_lossless_one_token_further_and_with_forbidden_tokens(name: str, parents: tuple[int, ...]) -> None:
    rule, draws = EXACT[name]
    p, q = pair(2, seed=5, zeros=True)
    text = exact_trees.text_law(p, q, parents, rule, length=4, draws=draws)
    assert text == exact.target_law(p, length=4)


@pytest.mark.parametrize(
    ("fault", "draws"),
    [
        (exact_trees.traversal_with_stale_chance, exact_trees.distinct),
        (exact_trees.stepwise(exact_trees.second_against_p), exact_trees.independent),
        (exact_trees.stepwise(exact_trees.q_not_renormalised), exact_trees.distinct),
        (exact_trees.traversal, exact_trees.likeliest),
    ],
    ids=["stale chance", "second against p", "q not renormalised", "no draw, judged as one"],
)
def test_a_faulty_tree_rule_changes_the_law(fault: exact_trees.TreeRule, draws: exact_trees.Draws) -> None:
    p, q = pair(4, seed=3)
    text = exact_trees.text_law(p, q, (-1, -1, -1, 0), fault, length=2, draws=draws)
    assert exact.total_variation(text, exact.target_law(p, length=2)) > Fraction(1, 1000)


# --- the package against the twin ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_trees.rows("tree_verification"), ids=lambda row: row["id"])
def test_tree_verification_golden(row: dict) -> None:
    shape = Topology.branching(*row["case"]["branching"])
    given_tables = arrays(*tables(row["case"]), depth=shape.depth)
    for rule in (WITHOUT, TRAVERSAL):
        pmf = rule.accepted_pmf(shape, *given_tables)
        np.testing.assert_allclose(pmf, numbers(row["expected"][rule.name]), rtol=row["rtol"], atol=row["rtol"])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_accepted_pmf_is_the_enumerated_one(name: str, zeros: bool) -> None:
    rule, draws = RULES[name]
    for parents in ((), (-1,), (-1, -1, 0), (-1, 0, 0, 1), RAGGED):
        p, q = pair(3, seed=7, zeros=zeros)
        shape = Topology(parents=parents)
        pmf = exact_trees.accepted_pmf(p, q, parents, rule, draws=draws)
        found = TREE_VERIFIERS[name].accepted_pmf(shape, *arrays(p, q, depth=shape.depth))
        np.testing.assert_allclose(found, [float(x) for x in pmf], atol=1e-11)


def drawn_trees(
    name: str, p: exact.Table, q: exact.Table, parents: tuple[int, ...]
) -> list[tuple[exact.Text, np.ndarray, np.ndarray, Fraction]]:
    """Every drafted tree with the rows of its nodes; rows of missing nodes are garbage."""
    trees = []
    for tokens, chance in exact_trees.drafted(q, parents, (), RULES[name][1]):
        texts = [tuple(tokens[v] for v in exact_trees.path(parents, node)) for node in range(ROOT, len(parents))]
        sides = [
            [[float(x) for x in table(text)] if -1 not in text else [np.nan] * 3 for text in texts] for table in (p, q)
        ]
        trees.append((tokens, np.array(sides[0]), np.array(sides[1]), chance))
    return trees


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_the_node_that_stands_given_the_drafts(name: str, zeros: bool) -> None:
    p, q = pair(3, seed=11, zeros=zeros)
    shape = Topology(parents=(-1, -1, 0, 1))
    for tokens, p_rows, q_rows, _ in drawn_trees(name, p, q, shape.parents):
        law = np.zeros(shape.nodes + 1)
        for (node, _), share in RULES[name][0](p, q, shape.parents, tokens, ()).items():
            law[node + 1] += float(share)
        found = TREE_VERIFIERS[name].node_law(shape, p_rows, tokens, q=q_rows)
        np.testing.assert_allclose(found, law, atol=1e-9)


@pytest.mark.parametrize("name", RULES)
def test_node_laws_of_drawn_trees_average_to_the_accepted_length(name: str) -> None:
    """What a coin-free Monte Carlo estimate rests on, here with every tree instead of a sample."""
    p, q = pair(3, seed=13)
    shape, pmf = Topology(parents=(-1, -1, 0)), np.zeros(3)
    trees = drawn_trees(name, p, q, shape.parents)
    tokens, p_rows, q_rows = (np.array([tree[i] for tree in trees]) for i in range(3))
    laws = TREE_VERIFIERS[name].node_law(shape, p_rows, tokens, q=q_rows)
    np.add.at(pmf, [0, *shape.depths], np.array([float(tree[3]) for tree in trees]) @ laws)
    np.testing.assert_allclose(pmf, TREE_VERIFIERS[name].accepted_pmf(shape, *arrays(p, q, depth=2)), atol=1e-12)


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_traversal_of_a_chain_is_block_verification(gamma: int) -> None:
    p, q = pair(3, seed=17, zeros=True)
    given_tables = arrays(p, q, depth=gamma)
    chain = topology.chain(gamma)
    block = VERIFIERS["block"].accepted_pmf(*given_tables)
    np.testing.assert_allclose(TRAVERSAL.accepted_pmf(chain, *given_tables), block, atol=1e-12)
    rng = np.random.default_rng(gamma)
    p_rows, q_rows = rng.dirichlet(np.ones(5), size=(2, 40, gamma + 1))
    draft = rng.integers(5, size=(40, gamma))
    given_draft = VERIFIERS["block"].outcomes(p_rows, draft, q=q_rows[:, :-1]).sum(axis=-1)
    np.testing.assert_allclose(TRAVERSAL.node_law(chain, p_rows, draft, q=q_rows), given_draft, atol=1e-12)


@pytest.mark.parametrize("name", ["recursive_with_replacement", "recursive_without_replacement", "k_seq"])
def test_a_chain_is_judged_as_a_chain(name: str) -> None:
    p, q = pair(3, seed=19)
    given_tables = arrays(p, q, depth=3)
    found = TREE_VERIFIERS[name].accepted_pmf(topology.chain(3), *given_tables)
    np.testing.assert_allclose(found, VERIFIERS["rejection"].accepted_pmf(*given_tables), atol=1e-12)


@given(st.integers(2, 4), st.integers(0, 10**6), st.sampled_from([(-1, -1, 0), (-1, 0, 0), (-1, -1, 0, 1)]))
@settings(max_examples=40)
def test_inequalities_between_rules(vocabulary: int, seed: int, parents: tuple[int, ...]) -> None:
    """Judging whole paths accepts no less than judging step by step, and nothing more than the depth."""
    rng = np.random.default_rng(seed)
    sides = [[rng.dirichlet(np.ones(vocabulary), size=(vocabulary,) * k) for k in range(3)] for _ in range(2)]
    shape = Topology(parents=parents)
    pmf = {
        name: rule.accepted_pmf(shape, sides[0][: shape.depth + 1], sides[1][: shape.depth])
        for name, rule in TREE_VERIFIERS.items()
    }
    length = {name: float(law @ np.arange(shape.depth + 1)) for name, law in pmf.items()}
    assert all(law.sum() == pytest.approx(1) for law in pmf.values())
    assert all(law.min() > -1e-12 for law in pmf.values())
    assert all(0 <= value <= shape.depth for value in length.values())
    assert length["traversal"] >= length["recursive_without_replacement"] - 1e-9
    first = {name: 1 - law[0] for name, law in pmf.items()}
    assert first["recursive_with_replacement"] <= first["optimal"] + 1e-9
    assert first["k_seq"] <= first["optimal"] + 1e-9


@given(st.integers(0, 10**6), st.permutations(range(3)))
@settings(max_examples=25)
def test_relabelling_the_vocabulary_changes_nothing(seed: int, labels: list[int]) -> None:
    rng = np.random.default_rng(seed)
    sides = [[rng.dirichlet(np.ones(3), size=(3,) * k) for k in range(depths)] for depths in (3, 2)]
    renamed = [[table[np.ix_(*[labels] * table.ndim)] for table in side] for side in sides]
    shape = Topology(parents=(-1, -1, 0))
    for rule in TREE_VERIFIERS.values():
        np.testing.assert_allclose(rule.accepted_pmf(shape, *renamed), rule.accepted_pmf(shape, *sides), atol=1e-9)


def test_context_free_trees_stand_as_the_acceptance_vector_says() -> None:
    p, q = np.random.default_rng(3).dirichlet(np.ones(5), size=2)
    shape = Topology(parents=RAGGED)
    for name, rule in MULTI_DRAFT.items():
        if name == "top_k":  # which of its tokens stands does not depend on rank alone, but here on rank alone
            vector = np.append(rule.acceptance_vector(p, q, candidates=2), 0.0)
        pmf = TREE_VERIFIERS[name].accepted_pmf(shape, [p] * 4, [q] * 3)
        by_count = {k: rule.acceptance_vector(p, q, candidates=k) for k in (1, 2)}
        chances = [
            by_count[len(shape.children(parent))][path[-1]]
            for parent, path in zip(shape.parents, shape.rank_paths, strict=True)
        ]
        reached = topology.standing(shape, chances)
        np.testing.assert_allclose(pmf, topology.standing_pmf(shape, reached), atol=1e-12)
        if name == "top_k":
            length = topology.positional_length(shape, acceptance=vector).E_accepted
            assert length == pytest.approx(reached.sum())


# --- the samplers --------------------------------------------------------------------------------------------------

Draw = Callable[..., np.ndarray]
Verify = Callable[..., TreeVerification]


def sampled(
    name: str,
    p: exact.Table,
    q: exact.Table,
    shape: Topology,
    *,
    draw: Draw | None = None,
    verify: Verify | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of what ROUNDS rounds commit, and the exact probabilities, over the same texts."""
    rng, size = np.random.default_rng(23), len(p(()))
    p_tables, q_tables = arrays(p, q, depth=shape.depth)
    tokens = np.zeros((ROUNDS, shape.nodes), dtype=int)
    rows = [np.zeros((ROUNDS, shape.nodes + 1, size)) for _ in range(2)]
    for node in range(ROOT, shape.nodes):
        path = [] if node == ROOT else list(shape.paths[node])
        here = tuple(tokens[:, path].T)
        for side, given_tables in zip(rows, (p_tables, q_tables), strict=True):
            if len(path) < len(given_tables):
                side[:, node + 1] = given_tables[len(path)][here] if path else given_tables[0]
        if children := shape.children(node):
            drawer = draw or (MULTI_DRAFT[name].draw if name in MULTI_DRAFT else drawing.without_replacement)
            tokens[:, list(children)] = drawer(rows[1][:, node + 1], candidates=len(children), rng=rng)
    got = (verify or TREE_VERIFIERS[name].verify)(shape, rows[0], tokens, q=rows[1], rng=rng)
    keys = np.ones(ROUNDS, dtype=int)  # tokens as digits behind a 1, so that texts of two lengths differ
    for node, path in enumerate(shape.paths):
        for v in path:
            keys = np.where(got.node == node, keys * size + tokens[:, v], keys)
    keys = keys * size + got.token
    law = np.zeros(2 * size ** (shape.depth + 1))
    rule, draws = RULES[name]
    for text, share in exact_trees.round_law(p, q, shape.parents, rule, draws=draws).items():
        law[int("1" + "".join(map(str, text)), size)] = float(share)
    return np.bincount(keys, minlength=law.size), law


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("zeros", [False, True], ids=["full support", "forbidden tokens"])
def test_the_sampler_follows_the_exact_law(name: str, zeros: bool) -> None:
    """Null: what a round commits follows the enumerated law; n = 100000; false-alarm rate 1e-7 each."""
    p, q = pair(3, seed=2 if zeros else 29, zeros=zeros)
    counts, law = sampled(name, p, q, Topology(parents=(-1, -1, 0, 0, 1)))
    assert goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)


def test_the_optimal_rule_on_a_tree_is_lossless() -> None:
    """Null: the first token follows p, and the second given the first; n = 100000; false-alarm rate 1e-7 each."""
    p, q = pair(3, seed=31)
    shape, rng = Topology(parents=(-1, -1, 0, 1)), np.random.default_rng(37)
    p_tables, q_tables = arrays(p, q, depth=2)
    draw = MULTI_DRAFT["optimal"].draw
    first = draw(np.broadcast_to(q_tables[0], (ROUNDS, 3)), candidates=2, rng=rng)
    tokens = np.column_stack([first, *(draw(q_tables[1][x], candidates=1, rng=rng) for x in first.T)])
    zero = np.zeros((ROUNDS, 3))
    texts = [(), (0,), (1,), (0, 2), (1, 3)]
    p_rows = np.stack([np.broadcast_to(p_tables[len(t)][tuple(tokens[:, t].T)], (ROUNDS, 3)) for t in texts], axis=1)
    q_rows = np.stack(
        [np.broadcast_to(q_tables[0], (ROUNDS, 3)), *(q_tables[1][x] for x in first.T), zero, zero], axis=1
    )
    got = TREE_VERIFIERS["optimal"].verify(shape, p_rows, tokens, q=q_rows, rng=rng)
    paths = [shape.paths[node] if node >= 0 else () for node in range(-1, 4)]
    committed = [
        [*tokens[i, list(paths[node + 1])], x] for i, (node, x) in enumerate(zip(got.node, got.token, strict=True))
    ]
    begin = np.bincount([text[0] for text in committed], minlength=3)
    assert goodness_of_fit(begin, p_tables[0], min_expected=20).passed(LEVEL)
    for x in range(3):
        second = np.bincount([text[1] for text in committed if len(text) > 1 and text[0] == x], minlength=3)
        assert goodness_of_fit(second, p_tables[1][x], min_expected=20).passed(LEVEL)
    pmf = np.bincount(got.accepted, minlength=3)
    assert goodness_of_fit(pmf, TREE_VERIFIERS["optimal"].accepted_pmf(shape, p_tables, q_tables)).passed(LEVEL)


def stale(self: Any, tokens: np.ndarray) -> None:
    chance = self.chance.copy()
    REJECT(self, tokens)
    self.chance = chance


REJECT = traversal._Frame.reject


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("traversal", {"draw": drawing.with_replacement}),
        ("traversal", {"verify": WITHOUT.verify}),
        ("recursive_without_replacement", {"verify": TRAVERSAL.verify}),
        ("recursive_without_replacement", {"draw": drawing.with_replacement}),
        ("recursive_with_replacement", {"draw": drawing.without_replacement}),
        (
            "traversal",
            {"verify": lambda t, p, x, *, q, rng: TRAVERSAL.verify(t, np.roll(p, 1, axis=1), x, q=q, rng=rng)},
        ),
        ("top_k", {"verify": lambda t, p, x, *, q, rng: TRAVERSAL.verify(t, p, x, q=q, rng=rng)}),
        ("traversal", {}),
    ],
    ids=["drawn with", "top-down", "bottom-up", "drawn with 2", "drawn without", "rows off by one", "soft q", "stale"],
)
def test_a_faulty_sampler_is_caught(name: str, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: each changes the law of what a round commits enough for 100000 rounds."""
    if not fault:
        monkeypatch.setattr(traversal._Frame, "reject", stale)
    p, q = pair(3, seed=29)
    with np.errstate(invalid="ignore", divide="ignore"):
        counts, law = sampled(name, p, q, Topology(parents=(-1, -1, 0, 0, 1)), **fault)
    assert not goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)


# --- edges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREE_VERIFIERS)
def test_nothing_drafted_is_plain_decoding(name: str) -> None:
    none = Topology(parents=())
    got = TREE_VERIFIERS[name].verify(none, [[0.2, 0.8]], np.zeros(0, int), q=None, rng=coins(0.5))
    assert (int(got.node), int(got.accepted), int(got.token)) == (-1, 0, 1)
    batch = TREE_VERIFIERS[name].verify(
        none, np.full((2, 3, 1, 2), 0.5), np.zeros((2, 3, 0), int), q=np.full((2, 3, 1, 2), np.nan), rng=coins(0.1)
    )
    assert batch.token.shape == (2, 3)
    assert not batch.token.any()
    np.testing.assert_array_equal(TREE_VERIFIERS[name].accepted_pmf(none, [[0.2, 0.8]], []), [1])


@pytest.mark.parametrize("name", TREE_VERIFIERS)
def test_a_vocabulary_of_one_accepts_the_first_path(name: str) -> None:
    shape = topology.chain(3)
    got = TREE_VERIFIERS[name].verify(
        shape, np.ones((4, 1)), [0, 0, 0], q=np.ones((4, 1)), rng=np.random.default_rng(0)
    )
    assert (int(got.node), int(got.accepted), int(got.token)) == (2, 3, 0)


@pytest.mark.parametrize("name", ["recursive_with_replacement", "recursive_without_replacement", "traversal"])
def test_equal_laws_accept_a_whole_path(name: str) -> None:
    shape = Topology(parents=(-1, -1, 0, 2))
    rows = np.random.default_rng(1).dirichlet(np.ones(20), size=5).astype(np.float32)
    got = TREE_VERIFIERS[name].verify(shape, rows, [3, 5, 1, 4], q=rows, rng=coins(0.999999))
    assert (int(got.node), int(got.accepted)) == (3, 3)


@pytest.mark.parametrize("name", TREE_VERIFIERS)
def test_disjoint_supports_accept_nothing(name: str) -> None:
    shape = Topology(parents=(-1, -1, 0))
    p, q = np.tile([0.5, 0.5, 0, 0], (4, 1)), np.tile([0, 0, 0.5, 0.5], (4, 1))
    for u, token in ((0.0, 0), (0.6, 1)):
        got = TREE_VERIFIERS[name].verify(shape, p, [2, 3, 2], q=q, rng=coins(u))
        assert (int(got.node), int(got.token)) == (-1, token)
    np.testing.assert_allclose(TREE_VERIFIERS[name].accepted_pmf(shape, [p[0]] * 3, [q[0]] * 2), [1, 0, 0])


@pytest.mark.parametrize("name", TREE_VERIFIERS)
def test_drafts_that_are_no_draw_stand_if_the_target_draws_them(name: str) -> None:
    """All rules come to the same: the law of the node is the target's path probability less its children's."""
    shape = Topology(parents=(-1, -1, 0, 0))
    rows, tokens = np.random.default_rng(2).dirichlet(np.ones(4), size=5), [2, 0, 1, 3]
    expected = topology.standing(shape, [rows[0, 2], rows[0, 0], rows[1, 1], rows[1, 3]])
    law = [1 - expected[0] - expected[1], expected[0] - expected[2] - expected[3], *expected[1:]]
    if name != "optimal":
        np.testing.assert_allclose(TREE_VERIFIERS[name].node_law(shape, rows, tokens, q=None), law)
    many = np.broadcast_to(rows, (ROUNDS, 5, 4))
    got = TREE_VERIFIERS[name].verify(
        shape, many, np.broadcast_to(tokens, (ROUNDS, 4)), q=None, rng=np.random.default_rng(3)
    )
    counts = np.bincount(got.node + 1, minlength=5)
    assert goodness_of_fit(counts, law, min_expected=20).passed(LEVEL)  # n = 100000, false-alarm rate 1e-7


@pytest.mark.parametrize("name", TREE_VERIFIERS)
def test_missing_nodes_are_as_if_they_were_not_in_the_tree(name: str) -> None:
    """Garbage in their rows, and in the draft rows of leaves, is not read."""
    rows = np.random.default_rng(4).dirichlet(np.ones(3), size=(2, 5))
    p, q = rows
    small, large = Topology(parents=(-1, 0)), Topology(parents=(-1, -1, 0, 0))
    p_large, q_large = p.copy(), np.full((5, 3), np.nan)
    p_large[[2, 4]] = np.nan
    p_large[[1, 3]], q_large[[0, 1]] = p[[1, 2]], q[[0, 1]]
    for u in np.linspace(0, 0.99, 12):
        one = TREE_VERIFIERS[name].verify(small, p[:3], [1, 2], q=q[:3], rng=coins(u))
        other = TREE_VERIFIERS[name].verify(large, p_large, [1, -1, 2, -1], q=q_large, rng=coins(u))
        assert (int(one.accepted), int(one.token)) == (int(other.accepted), int(other.token))


@pytest.mark.parametrize("name", TREE_VERIFIERS)
def test_a_current_vocabulary_is_practical(name: str) -> None:
    """152,064 tokens and seven nodes, two sequences at once, in float32."""
    rng = np.random.default_rng(5)
    shape = Topology(parents=(-1, -1, 0, 0, 1, 2, 2))
    logits = rng.normal(0, 3, (2, 8, 152_064)).astype(np.float32)
    p, q = (np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True) for x in (logits, logits * np.float32(0.9)))
    tokens = np.zeros((2, 7), dtype=int)
    for node in range(ROOT, 7):
        if children := shape.children(node):
            tokens[:, list(children)] = drawing.without_replacement(q[:, node + 1], candidates=len(children), rng=rng)
    got = TREE_VERIFIERS[name].verify(shape, p, tokens, q=q, rng=rng)
    assert got.accepted.shape == (2,)
    assert ((got.accepted >= 0) & (got.accepted <= 3)).all()
    assert (got.accepted == np.append(shape.depths, 0)[got.node]).all()


ROWS = np.full((3, 2), 0.5)


@pytest.mark.parametrize("rule", [WITHOUT, TRAVERSAL], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens": [0]}, r"tokens must hold ids, shape \(\.\.\., 2\)"),
        ({"tokens": [0.0, 1.0]}, "tokens must hold ids"),
        ({"tokens": [0, 2]}, r"tokens\[0, 1\] must be -1 or in 0\.\.1, got 2"),
        ({"p": ROWS[:2]}, r"p must have shape \(\.\.\., 3, V\) for 2 nodes"),
        ({"p": np.full((3, 0), 0.5)}, "p must have shape"),
        ({"q": ROWS[:2]}, r"q must have shape \(3, 2\)"),
        ({"p": ROWS * [[1.2], [1], [1]]}, "sum to 1"),
        ({"p": [[1.5, -0.5], [0.5, 0.5], [0.5, 0.5]]}, "at least 0"),
        ({"p": [[np.nan, 0.5], [0.5, 0.5], [0.5, 0.5]]}, "finite"),
        ({"q": ROWS * [[1.2], [1], [1]]}, "sum to 1"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(rule: Any, arguments: dict[str, Any], message: str) -> None:
    given_arrays = {"p": ROWS, "tokens": [0, 1], "q": ROWS, "rng": coins(0.5)} | arguments
    with pytest.raises(InputError, match=message):
        rule.verify(Topology(parents=(-1, -1)), given_arrays.pop("p"), given_arrays.pop("tokens"), **given_arrays)


@pytest.mark.parametrize("rule", [WITHOUT, TRAVERSAL], ids=lambda rule: rule.name)
def test_tables_that_do_not_fit_are_refused(rule: Any) -> None:
    law = [0.5, 0.5]
    for p_tables, q_tables, message in (
        ([law] * 2, [law], "one table a depth of the tree, 2, got 1"),
        ([law] * 2, [law] * 2, "one table more"),
        ([[0.5, 0.6], law, law], [law] * 2, "must sum to 1"),
    ):
        with pytest.raises(InputError, match=message):
            rule.accepted_pmf(topology.chain(2), p_tables, q_tables)


def test_limits_of_exact_answers_are_said() -> None:
    law = np.full(10, 0.1)
    with pytest.raises(InputError, match="average node_law over drawn trees"):
        TRAVERSAL.accepted_pmf(Topology.branching(7), [law] * 2, [law])
    with pytest.raises(InputError, match="rule 'optimal' must judge candidates in order"):
        TREE_VERIFIERS["optimal"].node_law(topology.chain(1), [P_A] * 2, [0], q=[Q_A] * 2)


def test_the_registry_is_keyed_by_name() -> None:
    assert all(name == rule.name for name, rule in TREE_VERIFIERS.items())
    assert TREE_VERIFIERS.keys() == {*MULTI_DRAFT, "traversal"}
    assert {*RULES, "optimal"} == TREE_VERIFIERS.keys()
    assert all(rule.is_lossless for rule in TREE_VERIFIERS.values())
    assert [name for name, rule in TREE_VERIFIERS.items() if not rule.needs_draft_rows] == ["top_k"]
