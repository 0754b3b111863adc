"""Lookahead decoding: Jacobi iteration in a window whose tracks are kept as n-grams, which later rounds draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specsim import checks
from specsim.topology import ROOT, Topology
from validation.decoder.proposers.jacobi import filler
from validation.decoder.proposers.protocol import Draft, Proposer
from validation.decoder.proposers.trie import Path, merged
from validation.decoder.text import Text

if TYPE_CHECKING:
    from torch import Tensor

    from validation.decoder.language_model import Logits
    from validation.decoder.load import Loaded


class LookaheadProposer(Proposer):
    """Lets a window of guesses ride in the target's own pass; drafts the n-grams that came of it.

    Parameters
    ----------
    window
        Columns W of the window [1].
    ngram
        Length N of the n-grams, and of the window's tracks [token].
    guesses
        Most n-grams kept of each first token, the newest of them; those of the text's last token are drafted [1].

    Notes
    -----
    Fu et al. (arXiv 2402.02057): lookahead and verification share one pass over the text's last token, at most
    `guesses` (N - 1) drafts and W (N - 1) riders. Drafts are certain given the text.

    The window is a tree: column j of the first level stands behind columns 0..j - 1 of it, and level k of a column
    behind its levels below.

    Examples
    --------
    >>> from validation.decoder.loop import decode
    >>> from validation.decoder.table_model import TableModel
    >>> target = TableModel([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # 0 -> 1 -> 2 -> 0
    >>> proposer = LookaheadProposer(window=3, ngram=4)
    >>> [record.committed for record in decode(target, proposer, [0], gamma=3, max_tokens=17).records]
    [1, 1, 1, 4, 4, 4, 2]
    """

    name = "lookahead"

    def __init__(self, *, window: int = 7, ngram: int = 5, guesses: int = 7) -> None:
        self.window = checks.integer("window", window, low=1)
        self.ngram = checks.integer("ngram", ngram, low=2)
        self.guesses = checks.integer("guesses", guesses, low=1)
        self._windows: list[_Window] = []
        self._pools: list[_Pool] = []

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.begin`; every text has a window and a pool of its own."""
        self._windows = [_Window(text, columns=self.window, levels=self.ngram - 1) for text in texts]
        self._pools = [_Pool(self.guesses) for _ in texts]

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        self._windows = [self._windows[row] for row in rows]
        self._pools = [self._pools[row] for row in rows]

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """The n-grams that go on from each text, gammas[b] deep at most, and the window as riders."""
        return [
            self._draft(text, gamma, window, pool) if gamma else Draft()
            for text, gamma, window, pool in zip(texts, gammas, self._windows, self._pools, strict=True)
        ]

    def ride(self, texts: Sequence[Text], logits: Sequence[Logits]) -> None:
        """See `Proposer.ride`: the window gains a level."""
        for window, pool, rows in zip(self._windows, self._pools, logits, strict=True):
            if len(rows):
                places = merged(window.paths()).places
                tops = rows[[places[path] for path in window.paths()]]
                for track in window.advance(tops.argmax(axis=-1).tolist()):
                    pool.add(track)

    @staticmethod
    def _draft(text: Text, gamma: int, window: _Window, pool: _Pool) -> Draft:
        drafts = merged((path[:gamma] for path in pool.after(text.tokens[-1])), eos_ids=text.request.eos_ids)
        riders = merged(window.paths())
        behind = (parent if parent == ROOT else parent + len(drafts.tokens) for parent in riders.parents)
        return Draft(
            tokens=(*drafts.tokens, *riders.tokens),
            topology=Topology(parents=(*drafts.parents, *behind)),
            riders=len(riders.tokens),
        )


class _Window:
    """Levels of W guessed tokens; column j of level k stands j + k + 1 places behind the text's last token.

    The levels move down by one a round, as if the text had gained one token; where it gained more, the guesses lag.
    """

    def __init__(self, text: Text, *, columns: int, levels: int) -> None:
        self._columns, self._most = columns, levels
        self._levels = [filler(text, columns)]

    def paths(self) -> Iterator[Path]:
        """From the text to the highest level of each column."""
        first, *others = self._levels
        for column in range(self._columns):
            yield (*first[: column + 1], *(level[column] for level in others))

    def advance(self, following: list[int]) -> list[Path]:
        """Put what follows each path on top; once all levels are there the lowest goes out, and tracks are found."""
        self._levels.append(following)
        if len(self._levels) <= self._most:
            return []
        tracks = list(zip(*self._levels, strict=True))
        del self._levels[0]
        return tracks


class _Pool:
    """The newest n-grams of every first token."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rests: dict[int, dict[Path, None]] = {}

    def add(self, ngram: Path) -> None:
        rests = self._rests.setdefault(ngram[0], {})
        rests.pop(ngram[1:], None)
        rests[ngram[1:]] = None
        if len(rests) > self._most:
            del rests[next(iter(rests))]

    def after(self, token: int) -> list[Path]:
        """What followed a token, the newest first."""
        return list(reversed(self._rests.get(token, {})))


def build(loaded: Loaded, **options: int) -> LookaheadProposer:
    """With options as `LookaheadProposer` takes them."""
    return LookaheadProposer(**options)
