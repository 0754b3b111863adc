"""Draft trees with a language model: one pass a layer, for all texts together."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence

from specsim.topology import ROOT, Topology
from validation.decoder.language_model import Logits, check_logits
from validation.decoder.proposers.model import ModelProposer
from validation.decoder.proposers.protocol import Draft
from validation.decoder.proposers.trie import Path, Trie, merged
from validation.decoder.text import Text

Growth = Generator[Sequence[Path], Logits, Draft]
"""How one draft comes about: it asks for the logits after paths of tokens behind the text, is sent them (n, V), and
asks again or returns the draft."""


class BranchingProposer(ModelProposer):
    """Drafts what `growth` says, with passes that all texts of the batch share.

    Notes
    -----
    A pass reads, behind what the cache holds of the text, the union of the paths asked for as a tree, and keeps of it
    the text's own tokens alone. So each pass reads the tree's upper layers again: a few more tokens in place of a
    cache that holds trees.
    """

    @abstractmethod
    def growth(self, text: Text, *, row: int, depth: int) -> Growth:
        """Draft at most `depth` > 0 deep after a text, which is in this row of the batch; it must ask at least once."""

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft at most gammas[b] deep, less near the drafter's context limit."""
        room = self._model.context_limit
        wanted = [min(gamma, room - len(text.tokens) + 1) for text, gamma in zip(texts, gammas, strict=True)]
        pending = self._reconcile(texts, wanted)
        growing = {
            row: self.growth(texts[row], row=row, depth=depth) for row, depth in enumerate(wanted) if pending[row]
        }
        asked = {row: next(growth) for row, growth in growing.items()}
        drafts, passes = [Draft() for _ in texts], 0
        while asked:
            found, passes = self._read_paths(pending, asked), passes + 1
            for row, logits in found.items():
                for place, path in enumerate(asked[row]):
                    position = len(texts[row].tokens) + len(path)
                    check_logits(logits[place, None], whose=f"proposer {self.name}", position=position)
                try:
                    asked[row] = growing[row].send(logits)
                except StopIteration as finished:
                    drafts[row] = finished.value
                    del asked[row]
            if asked:
                pending = self._reconcile(texts, [row in asked for row in range(len(texts))])
        return [dataclasses.replace(draft, passes=passes) for draft in drafts]

    def _read_paths(self, pending: Sequence[Sequence[int]], asked: Mapping[int, Sequence[Path]]) -> dict[int, Logits]:
        """Logits after each path asked for; the caches then hold the pending tokens too, and nothing of the trees."""
        tries = [merged(asked.get(row, ())) for row in range(len(pending))]
        logits = self._model.read(
            [[*new, *trie.tokens] for new, trie in zip(pending, tries, strict=True)],
            keep=1 + max(len(trie.tokens) for trie in tries),
            trees=[_behind(len(new), trie) for new, trie in zip(pending, tries, strict=True)],
        ).logits
        self._model.compact([range(len(new)) for new in pending])
        for cached, new in zip(self._cached, pending, strict=True):
            cached.extend(new)
        found = {}
        for row, paths in asked.items():
            behind_text = len(logits[row]) - len(tries[row].tokens)  # row of the first node; one before is the text's
            found[row] = logits[row][[behind_text + tries[row].places[path] for path in paths]]
        return found


def _behind(tokens: int, trie: Trie) -> Topology | None:
    """The topology of a chain of `tokens`, the first of which is the root, and of the trie behind them."""
    if not trie.tokens:
        return None
    last = tokens - 2  # the node of the last of them, or ROOT
    return Topology(
        parents=(*range(ROOT, last), *(last if parent == ROOT else last + 1 + parent for parent in trie.parents))
    )
