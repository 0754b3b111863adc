"""Certain trees: several continuations of a text merged into one, or the best of very many, grown best first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count, islice
from typing import NamedTuple, TypeVar

from specsim.topology import ROOT, Topology
from validation.decoder.proposers.protocol import Draft, up_to_eos

State = TypeVar("State")
Path = tuple[int, ...]


class Trie(NamedTuple):
    """Continuations that share what they begin with."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    places: dict[Path, int]
    """The node at the end of each path of tokens; ROOT for the empty one."""

    @property
    def draft(self) -> Draft:
        """The same as a draft; nothing where there is no node."""
        return Draft(tokens=self.tokens, topology=Topology(parents=self.parents)) if self.tokens else Draft()


def merged(paths: Iterable[Sequence[int]], *, eos_ids: Collection[int] = ()) -> Trie:
    """One tree of all paths, each up to its first end-of-text token; those that come first get the lower ranks.

    Examples
    --------
    >>> trie = merged([(5, 6), (5, 7, 8), (6,)], eos_ids={7})
    >>> trie.tokens, trie.parents, trie.places[5, 7]
    ((5, 6, 7, 6), (-1, 0, 0, -1), 2)
    """
    tokens: list[int] = []
    parents: list[int] = []
    places: dict[Path, int] = {(): ROOT}
    for path in paths:
        kept = up_to_eos(path, eos_ids)
        for end in range(1, len(kept) + 1):
            if kept[:end] not in places:
                parents.append(places[kept[: end - 1]])
                places[kept[:end]] = len(tokens)
                tokens.append(kept[end - 1])
    return Trie(tuple(tokens), tuple(parents), places)


class Grown(NamedTuple):
    """A tree that was grown."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    value: float
    """How many of its tokens are expected to stand, by the chances that it was grown by [1]."""

    def draft(self, *, as_chain: bool) -> Draft:
        """The same as a draft."""
        if as_chain or not self.tokens:
            return Draft(tokens=self.tokens)
        return Draft(tokens=self.tokens, topology=Topology(parents=self.parents))


def grow(
    root: State,
    expand: Callable[[State], Iterable[tuple[int, float, State]]],
    *,
    nodes: int,
    depth: int,
    eos_ids: Collection[int] = (),
    branches: int | None = None,
    least: float = 0.0,
) -> Grown:
    """The nodes of the highest value, which is the product of the chances along the path to them.

    Parameters
    ----------
    root
        State of the text.
    expand
        What may follow a state, the likeliest first: token, chance in [0, 1] and the state after it.
    nodes, depth
        Most of them [1].
    eos_ids
        Tokens that nothing follows.
    branches
        Most children of a node; 1 is a chain, None sets no limit [1].
    least
        Nodes of a lower value are left out [1].

    Examples
    --------
    >>> half = lambda state: [(0, 0.5, 0), (1, 0.25, 1)]
    >>> grow(0, half, nodes=3, depth=2)
    Grown(tokens=(0, 1, 0), parents=(-1, -1, 0), value=1.0)
    >>> grow(0, half, nodes=3, depth=2, branches=1).tokens
    (0, 0)
    """
    heap: list[tuple[float, int, int, int, int, State]] = []
    ticks = count()  # ties go to shallower nodes, then to those met first

    def push(parent: int, state: State, value: float, level: int) -> None:
        if level <= depth:
            for token, chance, after in islice(expand(state), branches):
                heappush(heap, (-value * chance, level, next(ticks), parent, token, after))

    tokens: list[int] = []
    parents: list[int] = []
    total = 0.0
    push(ROOT, root, 1.0, 1)
    while heap and len(tokens) < nodes and -heap[0][0] >= least:
        lost, level, _, parent, token, after = heappop(heap)
        tokens.append(token)
        parents.append(parent)
        total -= lost
        if token not in eos_ids:
            push(len(tokens) - 1, after, -lost, level + 1)
    return Grown(tuple(tokens), tuple(parents), total)
