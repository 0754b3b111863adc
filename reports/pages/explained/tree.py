"""The frame of the token tree: drafted by the library's builder, judged by its verifier, laid out here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from reports.pages.explained import language
from specsim.checks import FloatArray
from specsim.topology import ROOT, DraftTree, opt_tree, standing
from specsim.verifiers import TREE_VERIFIERS


def tree_frame(*, nodes: int = 12, max_depth: int = 4) -> pd.DataFrame:
    """A tree of the drafter's likeliest chains, and how far the target went along; see `token_tree`."""
    tree = opt_tree(_draft_rows, nodes=nodes, min_gain=0.0, max_depth=max_depth)
    shape = tree.topology
    before = [tree.choices[parent] if parent != ROOT else 0 for parent in shape.parents]
    values = standing(shape, language.target()[before, list(tree.choices)])
    reached = {ROOT, *_standing_path(tree)}
    places = _places(shape.parents)
    depths = {ROOT: 0, **dict(enumerate(shape.depths))}
    rows = [_node(node, tree, depths, places, values, reached) for node in range(ROOT, shape.nodes)]
    return pd.DataFrame(rows)


def _draft_rows(paths: Any) -> FloatArray:
    return language.drafter()[[path[-1] if path else 0 for path in paths]]


def _standing_path(tree: DraftTree) -> tuple[int, ...]:
    """The path of the first round of a run that stands three deep."""
    shape, tokens = tree.topology, np.asarray(tree.choices)
    p = language.target()[np.concatenate([[0], tokens])]
    rng = np.random.default_rng(0)
    deep = next(
        node
        for node in (int(TREE_VERIFIERS["top_k"].verify(shape, p, tokens, q=None, rng=rng).node) for _ in count())
        if node != ROOT and shape.depths[node] == min(3, shape.depth)
    )
    return shape.paths[deep]


def _places(parents: tuple[int, ...]) -> dict[int, float]:
    """Leaves one below the other, parents at the middle of their children."""
    children: dict[int, list[int]] = {node: [] for node in range(ROOT, len(parents))}
    for node, parent in enumerate(parents):
        children[parent].append(node)
    leaves = count()

    def placed(node: int) -> Iterator[tuple[int, float]]:
        below = [dict(placed(child)) for child in children[node]]
        own = [found[child] for child, found in zip(children[node], below, strict=True)]
        for found in below:
            yield from found.items()
        yield node, sum(own) / len(own) if own else float(-next(leaves))

    return dict(placed(ROOT))


def _node(
    node: int, tree: DraftTree, depths: dict[int, int], places: dict[int, float], values: FloatArray, reached: set[int]
) -> dict[str, Any]:
    parent = ROOT if node == ROOT else tree.topology.parents[node]
    return {
        "token": language.WORDS[0] if node == ROOT else language.WORDS[tree.choices[node]],
        "depth": depths[node],
        "place": places[node],
        "parent_depth": depths[parent],
        "parent_place": places[parent],
        "value": 1.0 if node == ROOT else float(values[node]),
        "stands": node in reached,
    }
