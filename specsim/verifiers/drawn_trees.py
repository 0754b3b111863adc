"""Every tree that may be drafted from prefix tables, children without replacement, with its probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.topology.shape import ROOT, Topology
from specsim.verifiers.multi_draft.protocol import NONE
from specsim.verifiers.multi_draft.rejections import removed
from specsim.verifiers.tree import deep_tables

MOST_TREES = 1_000_000
"""Drafted trees that an exact law of the accepted length may sum over [1]."""
BLOCK = 4096


class DrawnTrees(NamedTuple):
    """M drafted trees."""

    chance: FloatArray
    """(M,): probability of being drafted."""
    tokens: IntArray
    """(M, N); -1 where a law has no more tokens."""
    p: FloatArray
    """(M, N + 1, V)"""
    q: FloatArray | None
    """(M, N + 1, V); zeros after nodes without children, None for no nodes."""


def drawn_trees(
    topology: Topology, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]
) -> Iterator[DrawnTrees]:
    """All drafted trees of positive probability, some thousand at a time.

    Raises
    ------
    InputError
        Tables that do not fit the tree, or V^N of more than a million.
    """
    targets, drafts = deep_tables(p_tables, q_tables, topology=topology)
    vocabulary = targets[0].shape[-1]
    if vocabulary**topology.nodes > MOST_TREES:
        raise InputError(
            f"topology must have fewer nodes for an exact law, got {topology.nodes} for {vocabulary} tokens;"
            " average node_law over drawn trees"
        )
    for tokens in _blocks(vocabulary, topology.nodes):
        chance = _drawn(drafts, tokens, topology)
        tokens, chance = tokens[chance > 0], chance[chance > 0]
        p, q = (_rows(tables, tokens, topology) for tables in (targets, drafts))
        yield DrawnTrees(chance, tokens, p, q if drafts else None)


def _blocks(vocabulary: int, nodes: int) -> Iterator[IntArray]:
    """Every way to give tokens to nodes, some thousand at a time, shape (M, N)."""
    total = vocabulary**nodes
    for first in range(0, total, BLOCK):
        codes = np.arange(first, min(first + BLOCK, total))
        yield codes[:, None] // vocabulary ** np.arange(nodes) % vocabulary


def _drawn(drafts: Sequence[FloatArray], tokens: IntArray, topology: Topology) -> FloatArray:
    """The probability of drawing these trees, shape (M,); where a law has no more tokens, token 0 is made -1."""
    chance, left = np.ones(len(tokens)), {ROOT: np.repeat(drafts[0][None], len(tokens), axis=0)} if drafts else {}
    rows = np.arange(len(tokens))
    for node, parent in enumerate(topology.parents):
        law, drawn = left[parent], tokens[:, node].copy()
        is_empty = law.sum(axis=-1) == 0
        chance *= np.where(is_empty, drawn == 0, law[rows, drawn])
        left[parent] = removed(law, drawn)
        tokens[is_empty, node] = NONE
        if topology.children(node):
            left[node] = _law_after(drafts, tokens, topology.paths[node])
    return chance


def _rows(tables: Sequence[FloatArray], tokens: IntArray, topology: Topology) -> FloatArray:
    """The law after the root and after each node, shape (M, N + 1, V); zeros deeper than the tables go."""
    rows = np.zeros((len(tokens), topology.nodes + 1, tables[0].shape[-1] if tables else 1))
    for node, path in enumerate(((), *topology.paths)):
        if len(path) < len(tables):
            rows[:, node] = _law_after(tables, tokens, path)
    return rows


def _law_after(tables: Sequence[FloatArray], tokens: IntArray, path: Sequence[int]) -> FloatArray:
    law = tables[len(path)][tuple(tokens[:, list(path)].T)]
    return np.broadcast_to(law, (len(tokens), law.shape[-1]))
