"""`specsim tree`: build and draw a token tree for given acceptance and node budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import numpy as np

from specsim import checks, topology
from specsim.checks import FloatArray
from specsim.cli.output import emit, envelope, json_option
from specsim.errors import InfeasibleError, InputError
from specsim.topology import DraftTree, Topology, TreeLength
from specsim.units import percent, significant


class Built(NamedTuple):
    """A tree, how long it stands, and how likely each node is to."""

    shape: Topology
    length: TreeLength
    standing: FloatArray


@click.command()
@click.option(
    "--accept",
    "accepts",
    required=True,
    multiple=True,
    help="Acceptance by rank, best first: 0.6,0.2,0.1. For medusa and ddtree it may be given once a depth.",
)
@click.option("--nodes", type=int, required=True, help="Drafted tokens to verify; the root is not counted.")
@click.option("--max-depth", type=int, help="Depth at most. Default: no limit.")
@click.option(
    "--method",
    default="sequoia",
    show_default=True,
    help="sequoia (optimal), chain, eagle1 (its 25 nodes), medusa (head accuracies), ddtree (parallel drafter's laws).",
)
@json_option
def tree(accepts: tuple[str, ...], nodes: int, max_depth: int | None, method: str, as_json: bool) -> None:
    """The tree of drafts to verify in one pass, and the tokens that a round with it makes (bonus included).

    Acceptance by rank is the probability that the first, second, ... child of a node is the one that stands, given
    that the node does. The expectation is exact if that depends on nothing but rank; for medusa and ddtree, which
    multiply probabilities of positions as if these were independent, it is a surrogate. Exit code 1 where no tree
    fits.
    """
    build = METHODS[checks.one_of("method", method, METHODS)]
    checks.integer("nodes", nodes)
    limit = None if max_depth is None else checks.integer("max_depth", max_depth, low=1)
    vectors = [_vector(text) for text in accepts]
    built = build(vectors, nodes, limit)
    shape, length = built.shape, built.length
    kind = "exact" if length.is_exact else "surrogate"
    result = {
        "parents": shape.parents,
        "rank_paths": shape.rank_paths,
        "nodes": shape.nodes,
        "depth": shape.depth,
        "standing": built.standing,
        "pmf_accepted": topology.standing_pmf(shape, built.standing),
        "E_accepted": length.E_accepted,
        "E_tokens": length.E_tokens,
        "kind": kind,
    }
    inputs = {"accept": vectors, "nodes": nodes, "max_depth": max_depth, "method": method}
    sentence = (
        f"{significant(length.E_tokens, digits=5)} tokens per round ({kind}: {length.assumption}) with"
        f" {shape.nodes} nodes down to depth {shape.depth}."
    )
    emit(
        envelope("tree", inputs=inputs, result=result, assumptions=[length.assumption]),
        as_json=as_json,
        tables=[sentence, "\n".join(_drawing(shape, built.standing))],
    )


def _sequoia(vectors: list[list[float]], nodes: int, max_depth: int | None) -> Built:
    return _positional(topology.sequoia(_single(vectors), nodes=nodes, max_depth=max_depth), vectors)


def _chain(vectors: list[list[float]], nodes: int, max_depth: int | None) -> Built:
    return _positional(topology.chain(nodes), vectors, max_depth=max_depth)


def _eagle1(vectors: list[list[float]], nodes: int, max_depth: int | None) -> Built:
    shape = topology.eagle1()
    if nodes != shape.nodes:
        raise InputError(f"nodes must be {shape.nodes} for eagle1, whose tree is fixed, got {nodes}")
    return _positional(shape, vectors, max_depth=max_depth)


def _medusa(vectors: list[list[float]], nodes: int, max_depth: int | None) -> Built:
    return _guessed(topology.medusa(_by_depth(vectors, nodes, max_depth), nodes=nodes), nodes)


def _ddtree(vectors: list[list[float]], nodes: int, max_depth: int | None) -> Built:
    shape, values = topology.best_first(_by_depth(vectors, nodes, max_depth), nodes=nodes)
    ranks = tuple(path[-1] for path in shape.rank_paths)
    return _guessed(DraftTree(topology=shape, choices=ranks, values=values, draft_passes=1), nodes)


METHODS: dict[str, Callable[[list[list[float]], int, int | None], Built]] = {
    "chain": _chain,
    "ddtree": _ddtree,
    "eagle1": _eagle1,
    "medusa": _medusa,
    "sequoia": _sequoia,
}


def _positional(shape: Topology, vectors: list[list[float]], *, max_depth: int | None = None) -> Built:
    if max_depth is not None and shape.depth > max_depth:
        raise InfeasibleError(f"this tree is {shape.depth} deep; allow --max-depth {shape.depth}")
    vector = _single(vectors)
    length = topology.positional_length(shape, acceptance=vector)
    chances = topology.positional_chances(shape, acceptance=vector)
    return Built(shape, length, topology.standing(shape, chances))


def _guessed(built: DraftTree, nodes: int) -> Built:
    if built.topology.nodes < nodes:
        raise InfeasibleError(f"no tree of {nodes} nodes fits; at most {built.topology.nodes} do, so allow more depth")
    return Built(built.topology, topology.surrogate_length(built), np.array(built.values))


def _single(vectors: list[list[float]]) -> list[float]:
    if len(vectors) > 1:
        raise InputError(f"accept must be given once for this method, got {len(vectors)} times")
    return vectors[0]


def _by_depth(vectors: list[list[float]], nodes: int, max_depth: int | None) -> list[list[float]]:
    """One vector a depth, as wide as the widest; a single one holds at every depth that a tree can reach."""
    given = vectors * max(1, nodes) if len(vectors) == 1 else vectors
    width = max(map(len, given))
    return [vector + [0.0] * (width - len(vector)) for vector in given[:max_depth]]


def _vector(text: str) -> list[float]:
    try:
        values: Any = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"accept must be numbers separated by commas, got {text!r}") from None
    vector: list[float] = topology.acceptance_vector(values).tolist()
    return vector


def _drawing(shape: Topology, standing: FloatArray) -> Iterator[str]:
    """One line a node: how it hangs on its parent, and how likely it is to stand."""
    yield "committed text"
    ahead = [(node, "") for node in reversed(shape.children())]
    while ahead:
        node, margin = ahead.pop()
        rank, is_last = shape.rank_paths[node][-1], node == shape.children(shape.parents[node])[-1]
        yield f"{margin}{'└─' if is_last else '├─'} rank {rank}: {percent(standing[node])}"
        below = margin + ("   " if is_last else "│  ")
        ahead += [(child, below) for child in reversed(shape.children(node))]
