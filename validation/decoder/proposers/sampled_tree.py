"""Trees of a fixed shape whose tokens a language model samples, for the rules that recursion or traversal judges by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.distributions import Sampling
from specsim.topology import ROOT, Topology
from specsim.verifiers import MULTI_DRAFT, MultiDraftVerifier
from validation.decoder.language_model import LanguageModel, Logits
from validation.decoder.proposers.branching import BranchingProposer, Growth
from validation.decoder.proposers.independent import Drafter, drafter_model
from validation.decoder.proposers.protocol import Draft
from validation.decoder.proposers.trie import Path
from validation.decoder.text import Text

if TYPE_CHECKING:
    from validation.decoder.load import Loaded

PLAIN = Sampling()
DEFAULT = Topology.branching(3, 2, 1, 1)


class SampledTreeProposer(BranchingProposer):
    """Draws the children of every node of a tree as a multi-draft rule needs them drawn.

    Parameters
    ----------
    model
        The drafter.
    name
        Goes into the records.
    topology
        The tree; in a round it is cut at depth gamma.
    rule
        Whose `draw` makes siblings: without replacement by default, which the recursive rule of that name and
        traversal judge; drafts drawn for another rule have to be judged by that one.

    Notes
    -----
    A law with fewer tokens than there are siblings to draw leaves the last ones out, and nothing follows an end of
    text; both are known before the token in question is drawn. At temperature 0 siblings are the most probable tokens
    of the drafter, certain given the text, so that the tree keeps its width.

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> from validation.decoder.text import Request
    >>> proposer, text = SampledTreeProposer(TableModel([0.5, 0.5, 0.0])), Text(Request(prompt=[0]))
    >>> proposer.begin([text], None)
    >>> draft = proposer.propose([text], gammas=[1])[0]
    >>> sorted(draft.tokens), draft.q.tolist()
    ([0, 1], [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        name: str = "sampled tree",
        topology: Topology = DEFAULT,
        rule: MultiDraftVerifier = MULTI_DRAFT["recursive_without_replacement"],
    ) -> None:
        super().__init__(model, name=name)
        self.topology = topology
        self.rule = rule

    def growth(self, text: Text, *, row: int, depth: int) -> Growth:
        """See `BranchingProposer.growth`."""
        return sampled(text, topology=self.topology, rule=self.rule, depth=depth)


def sampled(text: Text, *, topology: Topology, rule: MultiDraftVerifier, depth: int) -> Growth:
    """The draft of a tree cut at `depth`, whoever says the logits over the text's vocabulary."""
    paths: dict[int, Path] = {ROOT: ()}  # of the nodes of the topology that have a token
    parents: list[int] = []
    laws: dict[int, FloatArray] = {}
    places = {ROOT: ROOT}  # of the same nodes, in the draft
    layer = [ROOT]
    for _ in range(depth):
        parents_here = [node for node in layer if topology.children(node) and _goes_on(text, paths[node])]
        if not parents_here:
            break
        logits = yield [paths[node] for node in parents_here]
        layer = []
        for node, drawn_from in zip(parents_here, logits, strict=True):
            children = topology.children(node)
            law, tokens = _draw(text, drawn_from, paths[node], len(children), rule)
            laws[places[node]] = law
            for child, token in zip(children, tokens.tolist(), strict=True):
                if token >= 0:
                    paths[child], places[child] = (*paths[node], token), len(parents)
                    parents.append(places[node])
                    layer.append(child)
    return _draft(text, [path[-1] for path in paths.values() if path], parents, laws)


def _draw(text: Text, logits: Logits, path: Path, count: int, rule: MultiDraftVerifier) -> tuple[FloatArray, IntArray]:
    if text.sampling.is_greedy:
        law = PLAIN.probabilities(logits)
        return law, MULTI_DRAFT["top_k"].draw(law, candidates=count, rng=text.rng)
    law = text.laws(logits[None], drafted=[path])[0]
    return law, rule.draw(law, candidates=count, rng=text.rng)


def _goes_on(text: Text, path: Path) -> bool:
    return not path or path[-1] not in text.request.eos_ids


def _draft(text: Text, tokens: Sequence[int], parents: Sequence[int], laws: dict[int, FloatArray]) -> Draft:
    if not tokens:
        return Draft()
    q = None
    if not text.sampling.is_greedy:
        q = np.zeros((len(tokens) + 1, laws[ROOT].size), dtype=laws[ROOT].dtype)
        for node, law in laws.items():
            q[node + 1] = law
    return Draft(tokens=tuple(tokens), topology=Topology(parents=tuple(parents)), q=q)


def build(
    loaded: Loaded,
    *,
    drafter: Drafter,
    branching: Sequence[int] = (3, 2, 1, 1),
    rule: str = "recursive_without_replacement",
) -> SampledTreeProposer:
    """With a drafter (see `drafter_model`), children a node of each depth, and the rule that they are drawn for."""
    topology = Topology.branching(*branching)
    return SampledTreeProposer(drafter_model(loaded, drafter), topology=topology, rule=MULTI_DRAFT[rule])
