"""Lookahead decoding: Jacobi iteration in a window whose tracks are kept as n-grams, which later rounds draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specsim import checks
from validation.decoder.language_model import LanguageModel
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.proposers.branching import BranchingProposer, Growth
from validation.decoder.proposers.jacobi import filler
from validation.decoder.proposers.trie import Path, merged
from validation.decoder.text import Text

if TYPE_CHECKING:
    from torch import Tensor


class LookaheadProposer(BranchingProposer):
    """Reads the text's last token and the window in one pass of its own; drafts the n-grams that go on from there.

    Parameters
    ----------
    model
        The target's weights with a cache of their own.
    window
        Columns W of the window [1].
    ngram
        Length N of the n-grams, and of the window's tracks [token].
    guesses
        Most n-grams kept of each first token, the newest of them [1].

    Notes
    -----
    Fu et al. (arXiv 2402.02057) read the window in the very pass that verifies. Here it is read in a pass of its own
    over the same weights, of W (N - 1) tokens and those that the text has gained: a round costs two passes in place of
    one. In return the pass gives the target's most probable next token, and n-grams are looked up behind that one
    too, so that at temperature 0 a round commits at least two tokens. Drafts are certain given the text.

    The window is a tree: column j of the first level stands behind columns 0..j - 1 of it, and level k of a column
    behind its levels below.

    Examples
    --------
    >>> from validation.decoder.loop import decode
    >>> from validation.decoder.table_model import TableModel
    >>> target = TableModel([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # 0 -> 1 -> 2 -> 0
    >>> proposer = LookaheadProposer(TableModel(target.laws), window=3, ngram=4)
    >>> [record.committed for record in decode(target, proposer, [0], gamma=4, max_tokens=17).records]
    [2, 2, 2, 5, 5, 1]
    """

    def __init__(
        self, model: LanguageModel, *, name: str = "lookahead", window: int = 7, ngram: int = 5, guesses: int = 7
    ) -> None:
        super().__init__(model, name=name)
        self.window = checks.integer("window", window, low=1)
        self.ngram = checks.integer("ngram", ngram, low=2)
        self.guesses = checks.integer("guesses", guesses, low=1)
        self._windows: list[_Window] = []
        self._pools: list[_Pool] = []

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:
        """See `Proposer.begin`; every text has a window and a pool of its own."""
        super().begin(texts, features)
        self._windows = [_Window(text, columns=self.window, levels=self.ngram - 1) for text in texts]
        self._pools = [_Pool(self.guesses) for _ in texts]

    def keep(self, rows: Sequence[int]) -> None:
        """See `Proposer.keep`."""
        super().keep(rows)
        self._windows = [self._windows[row] for row in rows]
        self._pools = [self._pools[row] for row in rows]

    def growth(self, text: Text, *, row: int, depth: int) -> Growth:
        """See `BranchingProposer.growth`."""
        window, pool = self._windows[row], self._pools[row]
        reach = self.window + self.ngram - 2
        fits = len(text.tokens) + reach <= self._model.context_limit
        logits = yield [(), *(window.paths() if fits else ())]
        following, *ahead = logits.argmax(axis=-1).tolist()
        if fits:
            for track in window.advance(ahead):
                pool.add(track)
        here = [(following, *rest) for rest in (*pool.after(following), ())]
        paths = [*here, *pool.after(text.tokens[-1])]
        return merged((path[:depth] for path in paths), eos_ids=text.request.eos_ids).draft


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
    """Over the target's own weights, with options as `LookaheadProposer` takes them."""
    return LookaheadProposer(CachedModel(loaded.model, pack=True), **options)
