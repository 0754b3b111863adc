"""EAGLE-2's dynamic tree, drafted with any language model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from specsim import checks
from specsim.checks import FloatArray
from specsim.distributions import Sampling
from specsim.topology.layers import layers
from validation.decoder.language_model import LanguageModel
from validation.decoder.proposers.branching import BranchingProposer, Growth
from validation.decoder.proposers.independent import Drafter, drafter_model
from validation.decoder.proposers.trie import Path, merged
from validation.decoder.text import Text

if TYPE_CHECKING:
    from validation.decoder.load import Loaded

PLAIN = Sampling()


class DynamicTreeProposer(BranchingProposer):
    """Expands the most probable nodes layer by layer and drafts the best of all.

    Parameters
    ----------
    model
        The drafter.
    name
        Goes into the records.
    nodes
        Drafted nodes [1].
    top_k
        Nodes expanded in a layer, and children of each [1].

    Notes
    -----
    `specsim.topology.eagle2`, with gamma layers and as many passes. Values are the drafter's own probabilities at
    temperature 1 whatever the text's sampling, so that trees have width at temperature 0 as well; drafts are certain
    given the text, so the text keeps its law.

    Examples
    --------
    >>> from validation.decoder.table_model import TableModel
    >>> from validation.decoder.text import Request
    >>> proposer, text = DynamicTreeProposer(TableModel([0.6, 0.3, 0.1]), nodes=3, top_k=2), Text(Request(prompt=[0]))
    >>> proposer.begin([text], None)
    >>> draft = proposer.propose([text], gammas=[2])[0]
    >>> draft.tokens, draft.topology.parents, draft.passes
    ((0, 0, 1), (-1, 0, -1), 2)
    """

    def __init__(self, model: LanguageModel, *, name: str = "dynamic tree", nodes: int = 24, top_k: int = 4) -> None:
        super().__init__(model, name=name)
        self.nodes = checks.integer("nodes", nodes, low=1)
        self.top_k = checks.integer("top_k", top_k, low=1)

    def growth(self, text: Text, *, row: int, depth: int) -> Growth:
        """See `BranchingProposer.growth`."""
        return grown(depth=depth, nodes=self.nodes, top_k=self.top_k, eos_ids=text.request.eos_ids)


def grown(*, depth: int, nodes: int, top_k: int, eos_ids: Collection[int] = ()) -> Growth:
    """The draft of the `nodes` best of a tree of `depth` layers, whoever says the laws and whatever the tokens are."""
    laws: dict[Path, FloatArray] = {}
    grown = layers(lambda paths: [laws[path] for path in paths], width=top_k)
    frontier: Sequence[Path] = [()]
    drafted, ends = 0, set(eos_ids)
    for _ in range(depth):
        going = [path for path in frontier if ends.isdisjoint(path)]
        if not going:
            break
        laws = dict(zip(going, PLAIN.probabilities((yield going)), strict=True))
        some = laws[going[0]]
        laws |= {path: np.full_like(some, 1 / some.size) for path in frontier if path not in laws}
        pool = next(grown)
        newest = sorted(range(drafted, len(pool.tokens)), key=lambda node: -pool.values[node])
        frontier = [pool.path(node) for node in newest[:top_k]]
        drafted = len(pool.tokens)
    return merged([pool.path(node) for node in pool.best(nodes).tolist()], eos_ids=ends).draft


def build(loaded: Loaded, *, drafter: Drafter, **options: int) -> DynamicTreeProposer:
    """With a drafter (see `drafter_model`), and options as `DynamicTreeProposer` takes them."""
    return DynamicTreeProposer(drafter_model(loaded, drafter), **options)
