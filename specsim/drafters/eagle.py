"""What EAGLE's heads have in common: decoder layers that continue the target's features."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import IntArray
from specsim.drafters import shapes
from specsim.drafters.method import DraftMethod
from specsim.drafters.trees import USUAL, DynamicTree
from specsim.errors import InputError
from specsim.roofline import Count

FEATURES = 3
"""Hidden states of low, middle and high layers that EAGLE-3 fuses [1]."""


class Eagle(DraftMethod):
    """A pass a level, and true features of the last round to take in first.

    Notes
    -----
    A head drafts on features that it made itself. Those of the accepted drafts are replaced by the target's, so the
    first pass scores what was committed; engines pad it to gamma + 1 tokens, which is charged.
    """

    __slots__ = ()

    def passes(self, gamma: Count) -> IntArray:
        """One for each level [1]."""
        return self.depths(gamma)

    def first_pass_tokens(self, gamma: Count) -> IntArray:
        """What was committed, padded to the longest [1]."""
        return np.asarray(self.depths(gamma) + 1)


class TreeEagle(Eagle):
    """Those whose tree, where there is one, follows their confidence."""

    __slots__ = ()

    tree: DynamicTree | None

    @property
    def tree_nodes(self) -> int:
        """Of the tree [1]."""
        return self.tree.nodes if self.tree else 0

    def with_trees(self) -> tuple[DraftMethod, ...]:
        """Budgets from 8 nodes to the 60 of published runs."""
        return tuple(dataclasses.replace(self, tree=tree) for tree in USUAL)  # type: ignore[type-var]

    def pass_tokens(self, gamma: Count) -> IntArray:
        """Of a tree the nodes that are expanded [1]."""
        return np.full_like(self.depths(gamma), self.tree.top_k if self.tree else 1)

    def target_tokens(self, gamma: Count) -> IntArray:
        """The last committed token and the nodes that are kept [1]."""
        levels = self.depths(gamma)
        return np.asarray((self.tree.kept(levels) if self.tree else levels) + 1)


def feature_head(target: ModelShape, *, name: str) -> ModelShape:
    """EAGLE-1's head: one layer and the matrix that joins feature and embedding."""
    joined = shapes.matrix(target, part="other", outputs=target.hidden, inputs=2 * target.hidden)
    return shapes.head(target, name=name, layers=1, others=(joined,))


def fused_head(target: ModelShape, *, name: str, layers: int, vocabulary: int) -> ModelShape:
    """EAGLE-3's head: layers on three fused features, the first of which attends to the next token's embedding too.

    Raises
    ------
    InputError
        More tokens than the target has.
    """
    if checks.integer("vocabulary", vocabulary, low=1) > target.vocabulary:
        raise InputError(f"vocabulary of {name} must be at most the target's {target.vocabulary}, got {vocabulary}")
    width, shape = target.hidden, partial(shapes.head, target, name=name, layers=layers)
    plain = shape()
    others = (
        shapes.matrix(target, part="other", outputs=width, inputs=FEATURES * width),
        # The embedding's half of the inputs of queries, keys and values.
        shapes.matrix(
            target, part="attention", outputs=(plain.heads + 2 * plain.kv_heads) * plain.head_dim, inputs=width
        ),
        shapes.matrix(target, part="lm_head", outputs=vocabulary, inputs=width),
    )
    return shape(others=others, shared=("embedding",), has_lm_head=False)
