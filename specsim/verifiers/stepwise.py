"""Judge a tree from the root down, one step of a multi-draft rule at each node that stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray
from specsim.errors import InputError
from specsim.topology.shape import ROOT, Topology
from specsim.verifiers.multi_draft.in_order import InOrder
from specsim.verifiers.multi_draft.protocol import NONE, MultiDraftVerifier
from specsim.verifiers.tree import TreeVerification, deep_tables, flat_tree


class Stepwise:
    """Top-down verification: the children of the node reached are the candidates; the one that stands is next.

    Parameters
    ----------
    rule : MultiDraftVerifier
        Judges the children of a node. The children of different nodes must be drawn independently, as the rule says.

    Notes
    -----
    Lossless where the rule is: what stands depends on nothing below it, so the drafts below are still drawn from q.
    With `RecursiveWithReplacement` this is SpecInfer's (arXiv 2305.09781) and EAGLE-1's (arXiv 2401.15077) tree
    verification, with `RecursiveWithoutReplacement` Sequoia's (arXiv 2402.12374), with `KSeq` SpecTr's
    (arXiv 2310.15141), with `TopK` EAGLE-2's (arXiv 2406.16858) and DDTree's (arXiv 2604.12989).

    Examples
    --------
    >>> from specsim.verifiers.multi_draft import RecursiveWithoutReplacement
    >>> rule, p, q = Stepwise(RecursiveWithoutReplacement()), [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> rule.accepted_pmf(Topology.branching(2, 1), [p, p, p], [q, q]).round(3)
    array([0.18 , 0.246, 0.574])
    """

    def __init__(self, rule: MultiDraftVerifier) -> None:
        self.rule = rule

    @property
    def name(self) -> str:
        """That of the rule."""
        return self.rule.name

    @property
    def is_lossless(self) -> bool:
        """Whether the text follows the target's law exactly."""
        return self.rule.is_lossless

    @property
    def needs_draft_rows(self) -> bool:
        """Whether drafts must come with the laws that they were drawn from."""
        return self.rule.needs_draft_rows

    def verify(
        self, topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None, rng: np.random.Generator
    ) -> TreeVerification:
        """Judge one round of each sequence; see `TreeVerifier.verify`. Only rows of nodes that stand are read."""
        tree = flat_tree(topology, p, tokens, q=q)
        children = topology.child_table
        node = np.full(len(tree.p), ROOT)
        token, going = np.empty_like(node), np.arange(len(node))
        while going.size:
            here = node[going] + 1
            below = children[here]
            candidates = np.where(below == NONE, NONE, tree.tokens[going[:, None], below])
            drawn_from = None if tree.q is None else tree.q[going, here]
            step = self.rule.verify(tree.p[going, here], candidates, q=drawn_from, rng=rng)
            token[going] = step.token
            stands = np.flatnonzero(step.accepted != NONE)
            going = going[stands]
            node[going] = below[stands, step.accepted[stands]]
        return tree.outcome(node, token)

    def node_law(self, topology: Topology, p: ArrayLike, tokens: ArrayLike, *, q: ArrayLike | None) -> FloatArray:
        """Exact law of the deepest node that stands given the drafts, shape (..., N + 1); see `TreeVerifier.node_law`.

        Raises
        ------
        InputError
            The rule has no exact chance for given candidates, as `Optimal`.
        """
        if not isinstance(self.rule, InOrder):
            raise InputError(f"rule {self.name!r} must judge candidates in order to have an exact law for given ones")
        tree = flat_tree(topology, p, tokens, q=q)
        law = np.zeros((len(tree.p), topology.nodes + 1))
        law[:, 0] = 1.0
        for node in range(ROOT, topology.nodes):
            children, here = np.array(topology.children(node), dtype=np.intp), np.flatnonzero(law[:, node + 1] > 0)
            if children.size and here.size:
                candidates = tree.tokens[np.ix_(here, children)]
                drawn_from = None if tree.q is None else tree.q[here, node + 1]
                chances = self.rule.accept_probability(tree.p[here, node + 1], candidates, q=drawn_from)
                law[np.ix_(here, children + 1)] = law[here, node + 1, None] * chances
                law[here, node + 1] *= np.maximum(1 - chances.sum(axis=-1), 0)
        return law.reshape(*tree.lead, -1)

    def accepted_pmf(
        self, topology: Topology, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]
    ) -> FloatArray:
        """Exact law of the accepted length; see `TreeVerifier.accepted_pmf`.

        By summing over the V^depth token strings along each path.
        """
        targets, drafts = deep_tables(p_tables, q_tables, topology=topology)
        reached: dict[int, FloatArray] = {ROOT: np.ones(())}
        survival = np.zeros(topology.depth + 2)
        survival[0] = 1.0
        for node, depth in zip(range(ROOT, topology.nodes), (0, *topology.depths), strict=True):
            children = topology.children(node)
            if children:
                law = self.rule.accepted_law(targets[depth], drafts[depth], candidates=len(children))
                for place, child in enumerate(children):
                    reached[child] = reached[node][..., None] * law[..., place, :]
                    survival[depth + 1] += reached[child].sum()
        lasting = np.minimum.accumulate(survival)  # rounding must not make a probability negative
        return np.asarray(lasting[:-1] - lasting[1:])
