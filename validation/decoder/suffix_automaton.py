"""SuffixAutomaton: every string of tokens that stands in some texts, and how often."""

from __future__ import annotations

from heapq import nsmallest
from typing import NamedTuple

ROOT = 0
"""The state of the empty string."""


class Match(NamedTuple):
    """The longest end of a text that stands in an automaton."""

    state: int = ROOT
    length: int = 0


class SuffixAutomaton:
    """The smallest automaton that reads every substring of the texts given to it, built token by token.

    Notes
    -----
    Blumer et al., "The smallest automaton recognizing the subwords of a text" (Theoretical Computer Science 40, 1985):
    at most two states a token. A state stands for strings that end at the same places; its link leads to the longest
    of their ends that also ends elsewhere. Counting places takes one step along the links for each token, which are
    few but in text that repeats itself at length.

    Examples
    --------
    >>> automaton, last = SuffixAutomaton(), ROOT
    >>> for token in [1, 2, 1, 3, 1, 2]:
    ...     last = automaton.append(last, token)
    >>> one = automaton.follow(Match(), 1)
    >>> automaton.after(one.state, most=2) == [(2, 2 / 3, automaton.steps[one.state][2]),
    ...                                        (3, 1 / 3, automaton.steps[one.state][3])]
    True
    """

    __slots__ = ("counts", "lengths", "links", "steps")

    def __init__(self) -> None:
        self.steps: list[dict[int, int]] = [{}]
        self.links = [-1]
        self.lengths = [0]
        self.counts = [0]

    def append(self, last: int, token: int) -> int:
        """Lengthen the text that ends in state `last` by a token; the state in which it ends now."""
        found = self.steps[last].get(token)
        if found is None:
            state = self._new(self.lengths[last] + 1, steps={}, count=0, link=ROOT)
            above = last
            while above != -1 and token not in self.steps[above]:
                self.steps[above][token] = state
                above = self.links[above]
            if above != -1:
                self.links[state] = self._own(above, token)
        else:  # another text has read the same up to here
            state = self._own(last, token)
        place = state
        while place != ROOT:
            self.counts[place] += 1
            place = self.links[place]
        return state

    def follow(self, match: Match, token: int) -> Match:
        """The longest end of a matched text and one more token that stands here."""
        state, length = match
        while token not in self.steps[state]:
            if state == ROOT:
                return Match()
            state = self.links[state]
            length = self.lengths[state]
        return Match(self.steps[state][token], length + 1)

    def after(self, state: int, *, most: int) -> list[tuple[int, float, int]]:
        """The tokens that follow most often: token, its share of all that follow, and the state after it."""
        counts = {token: self.counts[after] for token, after in self.steps[state].items()}
        total = sum(counts.values())
        best = nsmallest(most, counts, key=lambda token: (-counts[token], token))
        return [(token, counts[token] / total, self.steps[state][token]) for token in best]

    def _own(self, above: int, token: int) -> int:
        """The state of the longest string of `above` and `token` alone, split off where longer ones share it."""
        shared = self.steps[above][token]
        length = self.lengths[above] + 1
        if self.lengths[shared] == length:
            return shared
        split = self._new(length, steps=dict(self.steps[shared]), count=self.counts[shared], link=self.links[shared])
        self.links[shared] = split
        while above != -1 and self.steps[above].get(token) == shared:
            self.steps[above][token] = split
            above = self.links[above]
        return split

    def _new(self, length: int, *, steps: dict[int, int], count: int, link: int) -> int:
        self.steps.append(steps)
        self.links.append(link)
        self.lengths.append(length)
        self.counts.append(count)
        return len(self.steps) - 1
