"""Trees of a fixed shape whose tokens a trained head samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from specsim.topology import Topology
from specsim.verifiers import MULTI_DRAFT, MultiDraftVerifier
from validation.decoder.load import Loaded
from validation.decoder.proposers.branching import Growth
from validation.decoder.proposers.head_tree import HeadBranchingProposer
from validation.decoder.proposers.protocol import Draft
from validation.decoder.proposers.sampled_tree import DEFAULT, sampled
from validation.decoder.text import Text
from validation.heads import Head
from validation.heads.files import load_head


class SampledHeadTreeProposer(HeadBranchingProposer):
    """Draws the children of every node from the head's laws, as EAGLE does above temperature 0.

    Parameters
    ----------
    head
        Attached to the target that it drafts for.
    topology, rule
        As of `SampledTreeProposer`, whose notes hold here too.
    """

    def __init__(
        self,
        head: Head,
        *,
        topology: Topology = DEFAULT,
        rule: MultiDraftVerifier = MULTI_DRAFT["recursive_without_replacement"],
    ) -> None:
        super().__init__(head)
        self.name = f"{head.name} sampled tree"
        self.topology = topology
        self.rule = rule

    def growth(self, text: Text, *, depth: int) -> Growth:
        """See `HeadBranchingProposer.growth`."""
        growing = sampled(text, topology=self.topology, rule=self.rule, depth=depth)
        paths = next(growing)
        while True:
            logits = yield [tuple(np.searchsorted(self._ids, path).tolist()) for path in paths]
            try:
                paths = growing.send(self.everywhere(logits))
            except StopIteration as finished:
                draft: Draft = finished.value
                return draft


def build(
    loaded: Loaded,
    *,
    path: str | Path,
    branching: Sequence[int] = (3, 2, 1, 1),
    rule: str = "recursive_without_replacement",
) -> SampledHeadTreeProposer:
    """With the file of a head, children a node of each depth, and the rule that they are drawn for."""
    topology = Topology.branching(*branching)
    return SampledHeadTreeProposer(load_head(path, loaded.model), topology=topology, rule=MULTI_DRAFT[rule])
