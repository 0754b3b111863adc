"""Suffix decoding: copy what followed the longest matches in this text and in earlier ones, as far as they carry."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specsim import checks
from validation.decoder.proposers.protocol import Draft, Proposer
from validation.decoder.proposers.trie import Grown, grow
from validation.decoder.suffix_automaton import ROOT, Match, SuffixAutomaton
from validation.decoder.text import Text

if TYPE_CHECKING:
    from torch import Tensor

    from validation.decoder.load import Loaded


class SuffixProposer(Proposer):
    """Drafts the most frequent continuations of the ends of the text; the longer the match, the more of them.

    Parameters
    ----------
    nodes
        Most nodes of a tree; None drafts a chain [1].
    factor
        Most drafts per matched token [1].
    least
        Drafts that are less frequent than this, given the match, are left out [1].
    remember
        Most tokens of earlier texts that are kept; the older half is forgotten beyond that. 0 keeps nothing [token].

    Notes
    -----
    Oliaro et al. (arXiv 2411.04975). One automaton holds the text itself, another those of batches before; texts of
    one batch do not see each other, so that none depends on its neighbours. Of all matches that draft is taken whose
    tokens are expected to stand in the largest number, by their frequencies. Drafts are certain given the texts.

    Examples
    --------
    >>> from validation.decoder.text import Request
    >>> proposer, text = SuffixProposer(), Text(Request(prompt=[1, 2, 3, 4, 9, 1, 2]))
    >>> proposer.learn([1, 2, 3, 5, 6])
    >>> proposer.begin([text], None)
    >>> proposer.propose([text], gammas=[4])[0].tokens
    (3, 4)
    """

    name = "suffix"

    def __init__(
        self, *, nodes: int | None = None, factor: float = 1.0, least: float = 0.1, remember: int = 100_000
    ) -> None:
        self.nodes = nodes if nodes is None else checks.integer("nodes", nodes, low=1)
        self.factor = checks.positive("factor", factor)
        self.least = checks.probability("least", least)
        self._past = _Past(checks.integer("remember", remember))
        self.remembers = remember > 0
        self._texts: list[Text] = []
        self._readers: list[_Reader] = []

    def learn(self, tokens: Sequence[int]) -> None:
        """Remember a text; those decoded are remembered when the next batch begins."""
        self._past.add(tokens)

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """Remember the last batch and read the new prompts."""
        for text in self._texts:
            self.learn(text.tokens)
        self._texts = list(texts)
        self._readers = [_Reader(self._past.automaton, text.tokens) for text in texts]

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft at most gammas[b] deep; nothing where no end of the text has been seen before."""
        for row, text in enumerate(texts):
            if not self._readers[row].follow(text.tokens):
                self._readers[row] = _Reader(self._past.automaton, text.tokens)
        return [
            self._best(reader, text, gamma) for reader, text, gamma in zip(self._readers, texts, gammas, strict=True)
        ]

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        self._readers = [self._readers[row] for row in rows]

    def _best(self, reader: _Reader, text: Text, gamma: int) -> Draft:
        """The draft of the highest value; of equal ones that of the longer match, of the text's own first."""
        best = Grown((), (), 0.0)
        for automaton, match in reader.matches():
            room = min(gamma if self.nodes is None else self.nodes, int(self.factor * match.length))
            if room > best.value:  # else all that it could draft would be worth no more
                found = grow(
                    match.state,
                    lambda state, of=automaton, most=room: of.after(state, most=most),
                    nodes=room,
                    depth=gamma,
                    eos_ids=text.request.eos_ids,
                    branches=1 if self.nodes is None else None,
                    least=self.least,
                )
                best = max(best, found, key=lambda grown: grown.value)
        return best.draft(as_chain=self.nodes is None)


class _Reader:
    """A text as far as it was read: an automaton of its own, and its longest match in that of the past."""

    def __init__(self, past: SuffixAutomaton, tokens: Sequence[int]) -> None:
        self._past, self._own = past, SuffixAutomaton()
        self._match, self._last = Match(), ROOT
        self._read: list[int] = []
        self.follow(tokens)

    def follow(self, tokens: list[int] | Sequence[int]) -> bool:
        """Read on; False where the text is another."""
        known = len(self._read)
        if tokens[:known] != self._read:
            return False
        for token in tokens[known:]:
            self._last = self._own.append(self._last, token)
            self._match = self._past.follow(self._match, token)
            self._read.append(token)
        return True

    def matches(self) -> Iterator[tuple[SuffixAutomaton, Match]]:
        """Ends of the text that something has followed, longest first, in the text itself and then in the past."""
        for automaton, match in ((self._own, Match(self._last, len(self._read))), (self._past, self._match)):
            state, length = match
            while state != ROOT:
                if automaton.steps[state]:
                    yield automaton, Match(state, length)
                state = automaton.links[state]
                length = automaton.lengths[state]


class _Past:
    """Earlier texts in one automaton."""

    def __init__(self, room: int) -> None:
        self.automaton = SuffixAutomaton()
        self._texts: deque[tuple[int, ...]] = deque()
        self._room, self._size = room, 0

    def add(self, tokens: Sequence[int]) -> None:
        self._texts.append(tuple(tokens))
        self._size += len(tokens)
        if self._size <= self._room:
            self._read(tokens)
            return
        while self._size > self._room // 2:
            self._size -= len(self._texts.popleft())
        self.automaton = SuffixAutomaton()
        for text in self._texts:
            self._read(text)

    def _read(self, tokens: Sequence[int]) -> None:
        last = ROOT
        for token in tokens:
            last = self.automaton.append(last, token)


def build(loaded: Loaded, **options: int | float | None) -> SuffixProposer:
    """Of options as `SuffixProposer` takes them."""
    return SuffixProposer(**options)
