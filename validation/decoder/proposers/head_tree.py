"""Draft trees with a trained head, one step of it a layer: EAGLE-2's dynamic tree."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath

import numpy as np
import torch
from torch import Tensor

from specsim import checks
from validation.decoder.language_model import check_logits
from validation.decoder.load import Loaded
from validation.decoder.proposers.branching import Growth
from validation.decoder.proposers.dynamic_tree import grown
from validation.decoder.proposers.head import HeadProposer
from validation.decoder.proposers.protocol import Draft
from validation.decoder.proposers.trie import Path
from validation.decoder.text import Text
from validation.heads import Head, State
from validation.heads.files import load_head
from validation.heads.parts import Where


class HeadBranchingProposer(HeadProposer):
    """Drafts what `growth` says, one step of the head a layer, all texts of the batch in one.

    Notes
    -----
    With heads that foresee all depths at once (Medusa, DFlash) a layer takes no pass.
    """

    @abstractmethod
    def growth(self, text: Text, *, depth: int) -> Growth:
        """Draft at most `depth` > 0 deep; it asks for laws over the draft vocabulary, after paths of places in it."""

    def _draft(self, texts: Sequence[Text], wanted: Sequence[int]) -> list[Draft]:
        growing = {row: self.growth(texts[row], depth=depth) for row, depth in enumerate(wanted) if depth}
        asked = {row: next(growth) for row, growth in growing.items()}
        drafts, state, layers = [Draft() for _ in texts], self._opened(texts), _Layers(self._read)
        passes = 0
        while asked:
            rows, passes = self._logits(state), passes + 1
            before = dict(asked)
            for row, paths in before.items():
                logits = rows[row, : len(paths)]
                check_logits(logits, whose=f"proposer {self.name}", position=len(texts[row].tokens) + passes - 1)
                try:
                    asked[row] = growing[row].send(logits)
                except StopIteration as finished:
                    drafts[row] = finished.value
                    del asked[row]
            if asked:
                state = self._layer(before, asked, state, layers)
        return [dataclasses.replace(draft, passes=self.head.passes(passes)) for draft in drafts]

    def _layer(
        self, before: Mapping[int, Sequence[Path]], asked: Mapping[int, Sequence[Path]], state: State, layers: _Layers
    ) -> State:
        """The state behind the paths asked for, each one token longer than one of those before."""
        width, rows, device = max(map(len, asked.values())), state.tokens.shape[0], state.tokens.device
        nodes, tokens = torch.zeros((2, rows, width), dtype=torch.int64, device=device)
        for row, paths in asked.items():
            places = {path: place for place, path in enumerate(before[row])}
            nodes[row, : len(paths)] = torch.tensor([places[path[:-1]] for path in paths])
            tokens[row, : len(paths)] = self.head.vocabulary[[path[-1] for path in paths]]
        here = state.at(torch.arange(rows, device=device)[:, None], nodes)
        if not self.head.recurrent:
            return self.head.advance(tokens, here)
        assert self._cache is not None
        self._cache.extend([width] * rows)
        where = layers.where(nodes, width=width, device=device)
        return self.head.advance(tokens, here, where._replace(cache=self._cache))


class _Layers:
    """Which slots of the head's cache the nodes of a tree see: the text's, their ancestors' and their own."""

    def __init__(self, starts: Sequence[int]) -> None:
        self._starts = list(starts)
        self._seen: Tensor | None = None  # (B, m, tree slots so far), of the last layer
        self._depth = 0

    def where(self, nodes: Tensor, *, width: int, device: torch.device) -> Where:
        """The next layer; its nodes hang on those of the last one that `nodes` (B, m) names."""
        rows = nodes.shape[0]
        own = torch.eye(width, dtype=torch.bool, device=device).expand(rows, width, width)
        if self._seen is not None:
            own = torch.cat([self._seen[torch.arange(rows, device=device)[:, None], nodes], own], dim=2)
        self._seen = own
        size = own.shape[2]
        visible = torch.zeros((rows, width, max(self._starts) + size), dtype=torch.bool, device=device)
        for row, start in enumerate(self._starts):
            visible[row, :, :start] = True
            visible[row, :, start : start + size] = own[row]
        positions = torch.tensor(self._starts, device=device)[:, None].expand(rows, width) + self._depth
        self._depth += 1
        return Where(positions=positions, visible=visible[:, None])


class HeadTreeProposer(HeadBranchingProposer):
    """Expands the most probable nodes layer by layer and drafts the best of all; certain given the text.

    Parameters
    ----------
    head
        Attached to the target that it drafts for.
    nodes
        Drafted nodes [1].
    top_k
        Nodes expanded in a layer, and children of each [1].

    Notes
    -----
    With heads that foresee all depths at once the tree is DDTree's: values are products of the depths' own laws.
    """

    def __init__(self, head: Head, *, nodes: int = 16, top_k: int = 4) -> None:
        super().__init__(head)
        self.name = f"{head.name} tree"
        self.nodes = checks.integer("nodes", nodes, low=1)
        self.top_k = checks.integer("top_k", top_k, low=1)

    def growth(self, text: Text, *, depth: int) -> Growth:
        """See `HeadBranchingProposer.growth`."""
        ends = np.flatnonzero(np.isin(self._ids, list(text.request.eos_ids))).tolist()
        draft = yield from grown(depth=depth, nodes=self.nodes, top_k=self.top_k, eos_ids=ends)
        return dataclasses.replace(draft, tokens=tuple(self._ids[list(draft.tokens)].tolist()))


def build(loaded: Loaded, *, path: str | FilePath, nodes: int = 16, top_k: int = 4) -> HeadTreeProposer:
    """With the file of a head that was trained for this target."""
    return HeadTreeProposer(load_head(path, loaded.model), nodes=nodes, top_k=top_k)
