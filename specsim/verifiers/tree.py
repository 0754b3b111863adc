"""What a rule is that judges a drafted tree, what it answers, and the arrays that it works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.topology.shape import Topology
from specsim.verifiers.multi_draft.candidates import check_ids, spread
from specsim.verifiers.tables import prefix_tables


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeVerification:
    """The outcome of one round with a tree, for each sequence.

    Parameters
    ----------
    node : array of int, shape (...)
        The deepest node that stands, -1 where none does; `Topology.paths` says which others stand with it.
    accepted : array of int, shape (...)
        Its depth: the drafts that stand [1].
    token : array of int, shape (...)
        The token after them.
    """

    node: IntArray
    accepted: IntArray
    token: IntArray


class TreeVerifier(Protocol):
    """A rule that judges a drafted tree; one line in `TREE_VERIFIERS` each."""

    @property
    def name(self) -> str:
        """The key in `TREE_VERIFIERS`."""

    @property
    def is_lossless(self) -> bool:
        """Whether the text follows the target's law exactly."""

    @property
    def needs_draft_rows(self) -> bool:
        """Whether drafts must come with the laws that they were drawn from."""

    def verify(
        self, topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None, rng: np.random.Generator
    ) -> TreeVerification:
        """Judge one round of each sequence.

        Parameters
        ----------
        topology : Topology
            N nodes, the same for all sequences.
        p : array, shape (..., N + 1, V)
            Target laws: row 0 after the last committed token, row v + 1 after node v [1].
        tokens : array of int, shape (..., N)
            What each node proposes; -1 for a node that a sequence lacks, with all below it. Siblings that a sequence
            lacks are the last ones.
        q : array, shape (..., N + 1, V), or None
            The laws that the children of the root and of each node were drawn from, in the rows of `p`; those of nodes
            without children are not read. None for drafts that are no draw.
        rng : numpy.random.Generator
            Source of the coins.
        """

    def node_law(self, topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None) -> FloatArray:
        """Exact law of the deepest node that stands given the drafts, shape (..., N + 1) [1].

        Place 0 is none, place v + 1 node v. Averaged over drafted trees it estimates any function of the accepted
        length without coins.
        """

    def accepted_pmf(
        self, topology: Topology, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]
    ) -> FloatArray:
        """Exact law of the accepted length, shape (depth + 1,) [1].

        Parameters
        ----------
        topology : Topology
            Its drafts are drawn as the rule needs them.
        p_tables, q_tables : sequence of depth + 1 and depth arrays
            Prefix tables; see `Verifier.accepted_pmf`.
        """


class Tree(NamedTuple):
    """One round of B sequences, shapes checked: the leading axes are flattened into one."""

    topology: Topology
    p: FloatArray
    """(B, N + 1, V)"""
    tokens: IntArray
    """(B, N)"""
    q: FloatArray | None
    """(B, N + 1, V)"""
    lead: tuple[int, ...]

    def outcome(self, node: IntArray, token: IntArray) -> TreeVerification:
        """The answer in the caller's leading axes."""
        depths = np.append(self.topology.positions, 0)  # the root is -1
        return TreeVerification(
            node=node.reshape(self.lead), accepted=depths[node].reshape(self.lead), token=token.reshape(self.lead)
        )


def flat_tree(topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None) -> Tree:
    """Check the shapes and ids of a round, and flatten its leading axes; laws are checked where they are read.

    Raises
    ------
    InputError
        Shapes that do not fit, ids outside the vocabulary.
    """
    target, drafts = np.asarray(p), np.asarray(tokens)
    nodes = topology.nodes
    if drafts.ndim == 0 or drafts.shape[-1] != nodes or (nodes and not np.issubdtype(drafts.dtype, np.integer)):
        raise InputError(f"tokens must hold ids, shape (..., {nodes}), got {drafts.dtype} of shape {drafts.shape}")
    if target.ndim < 2 or target.shape[-2] != nodes + 1 or target.shape[-1] == 0:
        raise InputError(f"p must have shape (..., {nodes + 1}, V) for {nodes} nodes, got {target.shape}")
    *lead, _ = drafts.shape
    tail = (nodes + 1, target.shape[-1])
    ids = drafts.reshape(int(np.prod(lead)), nodes).astype(np.intp)
    check_ids("tokens", ids, vocabulary=target.shape[-1])
    return Tree(
        topology=topology,
        p=spread("p", target, lead=tuple(lead), tail=tail),
        tokens=ids,
        q=None if q is None else spread("q", np.asarray(q), lead=tuple(lead), tail=tail),
        lead=tuple(lead),
    )


def deep_tables(
    p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike], *, topology: Topology
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Checked prefix tables for a tree, with every axis; see `tables.prefix_tables`.

    Raises
    ------
    InputError
        Tables that do not fit, or not for as many depths as the tree has.
    """
    if len(q_tables) != topology.depth:
        raise InputError(f"q_tables must hold one table a depth of the tree, {topology.depth}, got {len(q_tables)}")
    return prefix_tables(p_tables, q_tables)
