"""REST: look up the end of the text in a datastore and draft what followed it there, as a tree."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from specsim import checks
from specsim.checks import IntArray
from validation.decoder.datastore import END, Datastore
from validation.decoder.proposers.protocol import Draft, Proposer
from validation.decoder.proposers.trie import grow
from validation.decoder.text import Text

if TYPE_CHECKING:
    from validation.decoder.load import Loaded


class RestProposer(Proposer):
    """Drafts the most frequent continuations of the longest end of the text that the datastore holds.

    Parameters
    ----------
    store
        Of the target's vocabulary.
    nodes
        Most nodes of the tree; None drafts a chain, the most frequent token each time [1].
    longest
        Longest end of the text that is looked up [token].
    most
        Occurrences that are looked at; of more, evenly spaced ones [1].

    Notes
    -----
    He et al. (arXiv 2311.08252). Drafts are certain given the text and the datastore, which does not change.

    Examples
    --------
    >>> from validation.decoder.text import Request
    >>> store = Datastore.build([[1, 2, 3, 4], [1, 2, 3, 5], [2, 6]], vocabulary_size=7)
    >>> RestProposer(store, nodes=3).propose([Text(Request(prompt=[9, 1, 2]))], gammas=[2])[0]
    Draft(tokens=(3, 4, 5), q=None, passes=0, topology=Topology(parents=(-1, 0, 0)), riders=0)
    """

    name = "rest"

    def __init__(self, store: Datastore, *, nodes: int | None = 64, longest: int = 16, most: int = 4096) -> None:
        self.vocabulary_size = store.vocabulary_size
        self.nodes = nodes if nodes is None else checks.integer("nodes", nodes, low=1)
        self.longest = checks.integer("longest", longest, low=1, high=store.order)
        self.most = checks.integer("most", most, low=1)
        self._store = store

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft at most gammas[b] deep; nothing where the datastore lacks the last token."""
        return [self._draft(text, gamma) for text, gamma in zip(texts, gammas, strict=True)]

    def _draft(self, text: Text, gamma: int) -> Draft:
        if gamma == 0:
            return Draft()
        grown = grow(
            self._longest_match(text.tokens),
            self._following,
            nodes=gamma if self.nodes is None else self.nodes,
            depth=gamma,
            eos_ids=text.request.eos_ids,
            branches=1 if self.nodes is None else None,
        )
        return grown.draft(as_chain=self.nodes is None)

    def _longest_match(self, tokens: Sequence[int]) -> IntArray:
        """Places behind it; an end can only occur where all shorter ones do, so its length is found by bisection."""
        sizes = range(1, min(self.longest, len(tokens)) + 1)
        size = bisect_left(sizes, True, key=lambda size: not len(self._store.after(tokens[-size:])))
        places = self._store.after(tokens[-size:]) if size else np.array([], dtype=np.int64)
        return places[:: -(-len(places) // self.most) or 1]

    def _following(self, places: IntArray) -> Iterator[tuple[int, float, IntArray]]:
        """Tokens at these places, the most frequent first, their shares, and the places behind them."""
        stands = self._store.tokens[places]
        tokens, counts = np.unique(stands[stands != END], return_counts=True)
        for pick in np.argsort(-counts, kind="stable"):
            yield int(tokens[pick]), float(counts[pick] / counts.sum()), places[stands == tokens[pick]] + 1


def build(loaded: Loaded, *, datastore: Datastore | str | Path, **options: int | None) -> RestProposer:
    """Of a datastore, or the folder that holds it, and options as `RestProposer` takes them."""
    store = datastore if isinstance(datastore, Datastore) else Datastore.load(datastore)
    return RestProposer(store, **options)
