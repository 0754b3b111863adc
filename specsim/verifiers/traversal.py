"""Traversal verification: judge a tree from its leaves up, a whole path at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.topology.shape import ROOT, Topology
from specsim.verifiers.chain import normalised, or_target, ratio
from specsim.verifiers.drawn_trees import drawn_trees
from specsim.verifiers.multi_draft.protocol import NONE
from specsim.verifiers.multi_draft.rejections import removed
from specsim.verifiers.tree import Tree, TreeVerification, flat_tree


class Traversal:
    """Children are drawn without replacement. The first leaf is tried first; if it stands, its whole path does.

    The chance of a node is a = min(1, a_parent P(x) / Q(x)), of the root 1, with the P and Q of its parent when it is
    first reached. A leaf stands with its chance. If it falls it is taken away, and at its parent, with
    d = (a P - Q)+ and Z its sum, P becomes d normalised, a becomes Z / (Z + 1 - a), and Q loses the leaf's token; a
    parent without children left is a leaf.

    Notes
    -----
    Lossless; on a chain it is block verification. Weng et al. (arXiv 2505.12398). Nodes are tried in
    post-order whatever the coins say, and what is left after a rejection does not depend on them, so the law of the
    node that stands is known exactly from the drafts: `node_law`.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> Traversal().accepted_pmf(Topology.branching(2, 1), [p, p, p], [q, q]).round(3)
    array([0.18 , 0.186, 0.634])
    """

    name = "traversal"
    is_lossless = True
    needs_draft_rows = True

    def verify(
        self, topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None, rng: np.random.Generator
    ) -> TreeVerification:
        """Judge one round of each sequence; see `TreeVerifier.verify`."""
        tree = flat_tree(topology, p, tokens, q=q)
        walk = _Walk.start(tree)
        node, token = np.full((2, len(tree.p)), ROOT, dtype=np.intp)
        for place in _post_order(walk):
            stands = rng.random(walk.going.size) < walk.here.chance  # strictly: both can be 0
            done = walk.going[stands]
            if done.size:
                node[done] = place
                token[done] = sample(walk.here.p[stands], rng.random(done.size))
                walk.keep(np.flatnonzero(~stands))
            if not walk.going.size:
                break
        return tree.outcome(node, token)

    def node_law(self, topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None) -> FloatArray:
        """Exact law of the deepest node that stands given the drafts, shape (..., N + 1); see `TreeVerifier.node_law`.

        No coins are needed, since what is left after a rejection does not depend on them.
        """
        tree = flat_tree(topology, p, tokens, q=q)
        walk = _Walk.start(tree)
        law, reached = np.zeros((len(tree.p), topology.nodes + 1)), np.ones(len(tree.p))
        for place in _post_order(walk):
            law[:, place + 1] = reached * walk.here.chance
            reached = reached * (1 - walk.here.chance)
        return law.reshape(*tree.lead, -1)

    def accepted_pmf(
        self, topology: Topology, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]
    ) -> FloatArray:
        """Exact law of the accepted length; see `TreeVerifier.accepted_pmf`.

        Raises
        ------
        InputError
            V^N drafted trees are too many to sum over.
        """
        pmf = np.zeros(topology.depth + 1)
        for tree in drawn_trees(topology, p_tables, q_tables):
            law = tree.chance @ self.node_law(topology, tree.p, tree.tokens, q=tree.q)
            np.add.at(pmf, np.append(0, topology.positions), law)
        return pmf


@dataclass(slots=True)
class _Frame:
    """A node on the way down to the one that is judged, for M sequences."""

    chance: FloatArray
    """(M,): that it stands if everything tried before it fell; 0 where a sequence lacks it."""
    p: FloatArray
    """(M, V)"""
    q: FloatArray | None
    """(M, V)"""

    def keep(self, rows: IntArray) -> None:
        self.chance, self.p = self.chance[rows], self.p[rows]
        self.q = None if self.q is None else self.q[rows]

    def reject(self, tokens: IntArray) -> None:
        """A child with these tokens fell; -1 where there was none. What cannot stand stays so."""
        rows = np.flatnonzero((tokens != NONE) & (self.chance > 0))
        chance, p, tokens = self.chance[rows], self.p[rows], tokens[rows]
        kept = chance[:, None] * p
        if self.q is None:
            kept[np.arange(rows.size), tokens] = 0
        else:
            kept = np.maximum(kept - self.q[rows], 0)
            self.q[rows] = removed(self.q[rows], tokens)
        left = kept.sum(axis=-1)
        total = left + (1 - chance)
        self.p[rows] = normalised(or_target(kept, p))
        self.chance[rows] = np.divide(left, total, out=np.ones_like(left), where=total > 0)


@dataclass(slots=True)
class _Walk:
    """Where the sequences that are still going are: all at the same node."""

    tree: Tree
    going: IntArray
    frames: list[_Frame]

    @classmethod
    def start(cls, tree: Tree) -> _Walk:
        walk = cls(tree, np.arange(len(tree.p)), [])
        walk.frames.append(walk._frame(ROOT, np.ones(len(tree.p))))
        return walk

    @property
    def here(self) -> _Frame:
        """The node that is judged, or whose child is gone down to."""
        return self.frames[-1]

    def enter(self, node: int) -> None:
        """Go down to a child."""
        parent, tokens, rows = self.here, self.tree.tokens[self.going, node], np.arange(self.going.size)
        drawn = 1.0 if parent.q is None else parent.q[rows, tokens]
        chance = ratio(parent.chance * parent.p[rows, tokens], drawn)
        self.frames.append(self._frame(node, np.where(tokens == NONE, 0.0, chance)))

    def leave(self, node: int) -> None:
        """Go back up from a node that fell."""
        self.frames.pop()
        self.here.reject(self.tree.tokens[self.going, node])

    def keep(self, rows: IntArray) -> None:
        """Go on with these sequences alone."""
        if rows.size < self.going.size:
            self.going = self.going[rows]
            for frame in self.frames:
                frame.keep(rows)

    def _frame(self, node: int, chance: FloatArray) -> _Frame:
        is_leaf = not self.tree.topology.children(node)
        q = None if self.tree.q is None or is_leaf else self._laws("q", self.tree.q, node, chance)
        return _Frame(chance, self._laws("p", self.tree.p, node, chance), q)

    def _laws(self, name: str, laws: FloatArray, node: int, chance: FloatArray) -> FloatArray:
        """Checked rows of a node, as a copy; zeros where nothing can be reached."""
        rows = np.zeros((self.going.size, laws.shape[-1]))
        reached = chance > 0
        rows[reached] = checks.distribution(name, laws[self.going[reached], node + 1])
        return rows


def _post_order(walk: _Walk) -> Iterator[int]:
    """Nodes in the order in which they are judged, the root last; the walk stands at each."""
    ahead: list[tuple[int, bool]] = [(ROOT, True)]
    while ahead:
        node, is_new = ahead.pop()
        if is_new:
            if node != ROOT:
                walk.enter(node)
            ahead.append((node, False))
            ahead += [(child, True) for child in reversed(walk.tree.topology.children(node))]
        else:
            yield node
            if node != ROOT:
                walk.leave(node)
