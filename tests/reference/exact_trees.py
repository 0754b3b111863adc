"""Several candidates and trees by slow exact enumeration, written to mirror the definitions and nothing else.

A judge maps p, q and the candidates of one token to the chance of each to be the one that stands, and the law of the
token where none is. A tree is a tuple of parents, -1 for the root; a tree rule maps tables, a context and drafted
tokens to the law of (deepest node that stands, next token). Nothing here imports specsim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product, zip_longest
from math import prod

from tests.reference.exact import ONE, ZERO, Law, Table, Text, normalised

Judge = Callable[[Law, Law, Text], tuple[list[Fraction], Law]]
Draws = Callable[[Law, int], Iterator[tuple[Text, Fraction]]]
Parents = tuple[int, ...]
TreeRule = Callable[[Table, Table, Parents, Text, Text], dict[tuple[int, int], Fraction]]
ROOT, ABSENT = -1, -1


# --- candidates ----------------------------------------------------------------------------------------------------


def independent(q: Law, count: int) -> Iterator[tuple[Text, Fraction]]:
    """Candidates drawn one by one from q."""
    for tokens in product(range(len(q)), repeat=count):
        if chance := prod((q[x] for x in tokens), start=ONE):
            yield tokens, chance


def distinct(q: Law, count: int) -> Iterator[tuple[Text, Fraction]]:
    """Candidates drawn without replacement; fewer where q has no more tokens."""
    if count == 0 or not any(q):
        yield (), ONE
        return
    for x, chance in enumerate(q):
        if chance:
            for rest, share in distinct(without(q, x), count - 1):
                yield (x, *rest), chance * share


def likeliest(q: Law, count: int) -> Iterator[tuple[Text, Fraction]]:
    """The most probable tokens of q, which are no draw."""
    order = sorted((x for x in range(len(q)) if q[x]), key=lambda x: -q[x])
    yield tuple(order[:count]), ONE


def without(law: Law, token: int) -> Law:
    """A law without a token; zeros where nothing is left."""
    rest = [ZERO if x == token else share for x, share in enumerate(law)]
    return normalised(rest) if any(rest) else tuple(rest)


# --- rules for one token -------------------------------------------------------------------------------------------


def left_of(p: Law, q: Law) -> Law:
    """(p - q)+ normalised; p where nothing is left."""
    rest = [max(a - b, ZERO) for a, b in zip(p, q, strict=True)]
    return normalised(rest) if any(rest) else p


def ratio(p: Law, q: Law, x: int) -> Fraction:
    return min(ONE, p[x] / q[x]) if q[x] else Fraction(p[x] > 0)


def recursive_with_replacement(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    return _in_order(p, tokens, stands=ratio, after=lambda p, q, x: (left_of(p, q), q), q=q)


def recursive_without_replacement(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    return _in_order(
        p,
        tokens,
        stands=ratio,
        after=lambda p, q, x: (left_of(p, q), without(q, x)),
        q=q,
    )


def top_k(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    """Accept x with p(x); else go on with p without x."""
    return _in_order(p, tokens, stands=lambda p, q, x: p[x], after=lambda p, q, x: (without(p, x), q), q=q)


def k_seq(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    """Accept x with min(1, p / (rho q)); residual as printed, which is lossless for every rho that is large enough."""
    return _k_seq(p, q, tokens, rho=k_seq_rho(p, q, len(tokens)))


def coarse_k_seq(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    """The same with a rho that is a little larger, which keeps fractions short."""
    return _k_seq(p, q, tokens, rho=k_seq_rho(p, q, len(tokens), bits=6))


def _k_seq(p: Law, q: Law, tokens: Text, *, rho: Fraction) -> tuple[list[Fraction], Law]:
    count = len(tokens)
    share = [min(a / rho, b) for a, b in zip(p, q, strict=True)]
    beta = sum(share)
    chances = [(1 - share[x] / q[x]) for x in tokens]
    stands = [prod(chances[:i], start=ONE) * (1 - chances[i]) for i in range(count)]
    taken = (1 - (1 - beta) ** count) / beta if beta else ZERO
    rest = [max(a - s * taken, ZERO) for a, s in zip(p, share, strict=True)]
    return stands, normalised(rest) if any(rest) else p


def second_against_p(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    """Planted fault: every candidate is judged against p, not against what the ones before left of it."""
    return _in_order(p, tokens, stands=ratio, after=lambda p, q, x: (p, q), q=q)


def q_not_renormalised(p: Law, q: Law, tokens: Text) -> tuple[list[Fraction], Law]:
    """Planted fault: drawn without replacement, but q stays as it was."""
    return recursive_with_replacement(p, q, tokens)


def _in_order(
    p: Law,
    tokens: Text,
    *,
    q: Law,
    stands: Callable[[Law, Law, int], Fraction],
    after: Callable[[Law, Law, int], tuple[Law, Law]],
) -> tuple[list[Fraction], Law]:
    chances, reached = [], ONE
    for x in tokens:
        chance = stands(p, q, x)
        chances.append(reached * chance)
        reached *= 1 - chance
        if not reached:
            return chances + [ZERO] * (len(tokens) - len(chances)), p
        p, q = after(p, q, x)
    return chances, p


@cache
def k_seq_rho(p: Law, q: Law, count: int, *, bits: int = 80) -> Fraction:
    """The root of 1 - (1 - beta)^K = rho beta, from above, to (K - 1) 2^-bits."""
    low, high = ONE, Fraction(count)
    for _ in range(bits):
        middle = (low + high) / 2
        beta = sum(min(a / middle, b) for a, b in zip(p, q, strict=True))
        low, high = (middle, high) if 1 - (1 - beta) ** count > middle * beta else (low, middle)
    beta = sum(min(a, b) for a, b in zip(p, q, strict=True))
    return ONE if 1 - (1 - beta) ** count <= beta else high


def step_law(p: Law, q: Law, judge: Judge, draws: Draws, *, count: int) -> dict[tuple[int | None, int], Fraction]:
    """Law of (place of the candidate that stands, token emitted)."""
    law: dict[tuple[int | None, int], Fraction] = defaultdict(Fraction)
    for tokens, drawn in draws(q, count):
        chances, rest = judge(p, q, tokens)
        for place, chance in enumerate(chances):
            law[place, tokens[place]] += drawn * chance
        for y, share in enumerate(rest):
            law[None, y] += drawn * (1 - sum(chances)) * share
    return {outcome: share for outcome, share in law.items() if share}


def emitted(law: dict[tuple[int | None, int], Fraction], vocabulary: int) -> Law:
    """Law of the token alone."""
    return tuple(sum((share for (_, y), share in law.items() if y == x), ZERO) for x in range(vocabulary))


def acceptance(law: dict[tuple[int | None, int], Fraction], count: int) -> list[Fraction]:
    """Probability that each candidate is the one that stands."""
    return [sum((share for (at, _), share in law.items() if at == place), ZERO) for place in range(count)]


def optimum(p: Law, q: Law, draws: Draws, *, count: int) -> Fraction:
    """1 + min over all sets H of p(H) - P(all candidates in H)."""
    drawn = list(draws(q, count))
    return 1 + min(
        sum((p[x] for x in chosen), ZERO)
        - sum((chance for tokens, chance in drawn if set(tokens) <= set(chosen)), ZERO)
        for size in range(len(p) + 1)
        for chosen in combinations(range(len(p)), size)
    )


# --- trees ---------------------------------------------------------------------------------------------------------


def children(parents: Parents, node: int) -> list[int]:
    return [child for child, parent in enumerate(parents) if parent == node]


def path(parents: Parents, node: int) -> list[int]:
    return [] if node == ROOT else [*path(parents, parents[node]), node]


def branching(*counts: int) -> Parents:
    """Every node of depth d has counts[d] children, breadth first."""
    parents: list[int] = []
    layer = [ROOT]
    for count in counts:
        grown = []
        for node in layer:
            for _ in range(count):
                grown.append(len(parents))
                parents.append(node)
        layer = grown
    return tuple(parents)


def drafted(q: Table, parents: Parents, context: Text, draws: Draws = distinct) -> Iterator[tuple[Text, Fraction]]:
    """Every assignment of tokens to nodes with its probability, -1 where a law has no more tokens."""

    def fill(tokens: dict[int, int], waiting: list[int]) -> Iterator[tuple[dict[int, int], Fraction]]:
        if not waiting:
            yield tokens, ONE
            return
        node, *later = waiting
        below = children(parents, node)
        text = context + tuple(tokens[v] for v in path(parents, node))
        for drawn, chance in draws(q(text), len(below)) if below and ABSENT not in text else [((), ONE)]:
            named = dict(zip_longest(below, drawn, fillvalue=ABSENT))
            for filled, share in fill(tokens | named, later):
                yield filled, chance * share

    for filled, chance in fill({}, [ROOT, *range(len(parents))]):
        yield tuple(filled[node] for node in range(len(parents))), chance


def stepwise(judge: Judge) -> TreeRule:
    """Go down from the root: the children of the node reached are the candidates."""

    def rule(p: Table, q: Table, parents: Parents, tokens: Text, context: Text) -> dict[tuple[int, int], Fraction]:
        law: dict[tuple[int, int], Fraction] = defaultdict(Fraction)

        def visit(node: int, reached: Fraction) -> None:
            text = context + tuple(tokens[v] for v in path(parents, node))
            below = [v for v in children(parents, node) if tokens[v] != ABSENT]
            chances, rest = judge(p(text), q(text), tuple(tokens[v] for v in below)) if below else ([], p(text))
            for child, chance in zip(below, chances, strict=True):
                if chance:
                    visit(child, reached * chance)
            for y, share in enumerate(rest):
                law[node, y] += reached * (1 - sum(chances)) * share

        visit(ROOT, ONE)
        return {outcome: share for outcome, share in law.items() if share}

    return rule


def traversal(p: Table, q: Table, parents: Parents, tokens: Text, context: Text) -> dict[tuple[int, int], Fraction]:
    """Try the first leaf; take it away if it falls, and put right its parent's chance and laws."""
    return _traverse(p, q, parents, tokens, context, chance_after=lambda left, a: left / (left + 1 - a))


def traversal_with_stale_chance(
    p: Table, q: Table, parents: Parents, tokens: Text, context: Text
) -> dict[tuple[int, int], Fraction]:
    """Planted fault: a parent keeps its chance when a leaf below it fell."""
    return _traverse(p, q, parents, tokens, context, chance_after=lambda left, a: a)


def _traverse(
    p: Table,
    q: Table,
    parents: Parents,
    tokens: Text,
    context: Text,
    *,
    chance_after: Callable[[Fraction, Fraction], Fraction],
) -> dict[tuple[int, int], Fraction]:
    law: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    chance, target, draft = {ROOT: ONE}, {ROOT: p(context)}, {ROOT: q(context)}
    remaining = {
        node: [v for v in children(parents, node) if tokens[v] != ABSENT] for node in range(ROOT, len(parents))
    }
    reached = ONE
    while reached:
        node = ROOT
        while remaining[node]:
            child = remaining[node][0]
            if child not in chance:
                x = tokens[child]
                chance[child] = min(ONE, chance[node] * target[node][x] / draft[node][x])
                text = context + tuple(tokens[v] for v in path(parents, child))
                target[child], draft[child] = p(text), q(text)
            node = child
        for y, share in enumerate(target[node]):
            law[node, y] += reached * chance[node] * share
        reached *= 1 - chance[node]
        if not reached:
            break
        above, a = parents[node], chance[parents[node]]
        remaining[above].remove(node)
        rest = [max(a * b - c, ZERO) for b, c in zip(target[above], draft[above], strict=True)]
        left = sum(rest)
        chance[above] = chance_after(left, a) if left + 1 - a else ONE
        target[above] = normalised(rest) if left else target[above]
        draft[above] = without(draft[above], tokens[node])
    return {outcome: share for outcome, share in law.items() if share}


def outcomes(
    p: Table, q: Table, parents: Parents, rule: TreeRule, *, context: Text = (), draws: Draws = distinct
) -> Iterator[tuple[Text, int, int, Fraction]]:
    """Every (drafted tokens, deepest node that stands, token) of a round with its probability."""
    for tokens, drawn in drafted(q, parents, context, draws):
        for (node, token), share in rule(p, q, parents, tokens, context).items():
            yield tokens, node, token, drawn * share


def round_law(
    p: Table, q: Table, parents: Parents, rule: TreeRule, *, context: Text = (), draws: Draws = distinct
) -> dict[Text, Fraction]:
    """Law of what one round commits."""
    law: dict[Text, Fraction] = defaultdict(Fraction)
    for tokens, node, token, share in outcomes(p, q, parents, rule, context=context, draws=draws):
        law[(*(tokens[v] for v in path(parents, node)), token)] += share
    return dict(law)


def text_law(
    p: Table, q: Table, parents: Parents, rule: TreeRule, *, length: int, draws: Draws = distinct
) -> dict[Text, Fraction]:
    """Law of the first `length` tokens of a text, over as many rounds as that takes."""
    law: dict[Text, Fraction] = defaultdict(Fraction)
    waiting: dict[Text, Fraction] = {(): ONE}
    while waiting:
        text, weight = waiting.popitem()
        for committed, share in round_law(p, q, parents, rule, context=text, draws=draws).items():
            grown = text + committed
            if len(grown) >= length:
                law[grown[:length]] += weight * share
            else:
                waiting[grown] = waiting.get(grown, ZERO) + weight * share
    return dict(law)


def accepted_pmf(p: Table, q: Table, parents: Parents, rule: TreeRule, *, draws: Draws = distinct) -> list[Fraction]:
    """Law of the accepted length of the first round."""
    depths = [len(path(parents, node)) for node in range(len(parents))]
    pmf = [ZERO] * (max(depths, default=0) + 1)
    for _, node, _, share in outcomes(p, q, parents, rule, draws=draws):
        pmf[len(path(parents, node))] += share
    return pmf


# --- building trees ------------------------------------------------------------------------------------------------


@cache
def shapes(nodes: int, depth: int, ranks: int) -> tuple[frozenset[Text], ...]:
    """Every tree of so many nodes down to a depth, as the set of its rank paths."""
    grown: set[frozenset[Text]] = {frozenset()}
    for _ in range(nodes):
        grown = {
            tree | {new}
            for tree in grown
            for parent in [(), *tree]
            if len(parent) < depth
            for rank in range(ranks)
            if (new := (*parent, rank)) not in tree and (rank == 0 or (*parent, rank - 1) in tree)
        }
    return tuple(grown)


def tree_tokens(tree: Iterable[Text], vector: Law) -> Fraction:
    """1 plus the sum over nodes of the product of acceptance along the path."""
    return 1 + sum((prod((vector[rank] for rank in ranks), start=ONE) for ranks in tree), ZERO)


def most_tokens(vector: Law, *, nodes: int, depth: int) -> Fraction | None:
    """The best tree of so many nodes, by splitting them among the children of the root; None if there is none."""

    @cache
    def below(left: int, rank: int, deep: int) -> Fraction | None:
        """The best that children of this rank and worse can add with `left` nodes."""
        if left == 0:
            return ZERO
        if deep == 0 or rank == len(vector):
            return None
        options = []
        for size in range(1, left + 1):
            inside, rest = below(size - 1, 0, deep - 1), below(left - size, rank + 1, deep)
            if inside is not None and rest is not None:
                options.append(vector[rank] * (1 + inside) + rest)
        return max(options, default=None)

    added = below(nodes, 0, depth)
    return None if added is None else 1 + added


def expand_and_rerank(q: Table, *, nodes: int, top: int, depth: int) -> list[tuple[Text, Fraction]]:
    """EAGLE-2: the best of all nodes of `depth` layers with their values."""
    pool: list[tuple[Text, Fraction]] = []
    layer: list[tuple[Text, Fraction]] = [((), ONE)]
    for _ in range(depth):
        drawn = [((*text, x), value * q(text)[x]) for text, value in layer for x in next(likeliest(q(text), top))[0]]
        pool += drawn
        layer = sorted(drawn, key=lambda node: -node[1])[:top]
    return sorted(pool, key=lambda node: -node[1])[:nodes]


def path_probability(p: Table, text: Text) -> Fraction:
    return prod((p(text[:k])[x] for k, x in enumerate(text)), start=ONE)
