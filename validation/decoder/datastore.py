"""Datastore: texts with an index of everything that stands in them, on disk or in memory."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from specsim import checks
from specsim.checks import IntArray
from specsim.errors import InputError

END = -1
"""Stands behind every text, so that no match crosses into the next."""
TOKENS, INDEX, ABOUT = "tokens.npy", "index.npy", "about.json"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Datastore:
    """Texts of one vocabulary and their suffix array.

    Parameters
    ----------
    tokens
        All texts, each with END behind it, int32, shape (n,).
    index
        Places in `tokens`, in the order of the `order` tokens that stand there, shape (n,).
    order
        Longest string that can be looked up [token].
    vocabulary_size
        V.

    Examples
    --------
    >>> store = Datastore.build([[1, 2, 3], [2, 3, 4]], vocabulary_size=5)
    >>> [store.tokens[place].item() for place in store.after([2, 3])]
    [-1, 4]
    """

    tokens: IntArray
    index: IntArray
    order: int
    vocabulary_size: int

    @classmethod
    def build(cls, texts: Iterable[Sequence[int]], *, vocabulary_size: int, order: int = 16) -> Datastore:
        """Index texts: token lists, such as files of tokens hold or a model has written.

        Raises
        ------
        InputError
            No text, or a token outside of the vocabulary.

        Notes
        -----
        Prefix doubling (Manber and Myers, SIAM Journal on Computing 22, 1993) up to `order` tokens: log2(order) sorts.
        """
        checks.integer("order", order, low=1)
        parts = [np.append(checks.integers(f"texts[{place}]", text), END) for place, text in enumerate(_full(texts))]
        if not parts:
            raise InputError("texts must hold a token at least, found none")
        tokens = np.concatenate(parts).astype(np.int32)
        checks.integer("largest token of the texts", int(tokens.max()), high=vocabulary_size - 1)
        return cls(tokens=tokens, index=_sorted(tokens, order), order=order, vocabulary_size=vocabulary_size)

    def after(self, pattern: Sequence[int]) -> IntArray:
        """Places right behind every occurrence of a pattern of at most `order` tokens."""
        wanted = list(pattern)
        size = checks.integer("pattern tokens", len(wanted), low=1, high=self.order)

        def stands(place: np.integer) -> list[int]:
            return list(self.tokens[place : place + size].tolist())

        first = bisect_left(self.index, wanted, key=stands)
        last = bisect_right(self.index, wanted, lo=first, key=stands)
        return np.asarray(self.index[first:last]) + size

    def save(self, folder: str | Path) -> None:
        """Write three files into a folder, which is made if need be."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / TOKENS, self.tokens)
        np.save(place / INDEX, self.index)
        about = {"order": self.order, "vocabulary_size": self.vocabulary_size}
        (place / ABOUT).write_text(json.dumps(about) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Datastore:
        """As it was saved; the arrays stay on disk and are mapped into memory.

        Raises
        ------
        InputError
            Files that are missing, cut off, or no datastore.
        """
        place = Path(folder)
        try:
            about = json.loads((place / ABOUT).read_text())
            tokens, index = (np.load(place / name, mmap_mode="r", allow_pickle=False) for name in (TOKENS, INDEX))
            store = cls(tokens=tokens, index=index, order=about["order"], vocabulary_size=about["vocabulary_size"])
        except (OSError, ValueError, EOFError, KeyError, TypeError) as error:
            raise InputError(f"cannot load datastore {folder}: {type(error).__name__}, {error}") from error
        arrays = (tokens, index)
        whole = all(array.ndim == 1 and np.issubdtype(array.dtype, np.integer) for array in arrays)
        if not whole or len(tokens) != len(index) or not len(tokens) or tokens[-1] != END:
            raise InputError(f"cannot load datastore {folder}: {TOKENS} and {INDEX} do not go together")
        return store


def read_token_files(files: Iterable[str | Path]) -> Iterator[Sequence[int]]:
    """Texts of files: .npy holds one text as whole numbers, .json a list of objects that each have "tokens".

    Raises
    ------
    InputError
        A file that cannot be read or holds something else.
    """
    for place in map(Path, files):
        try:
            if place.suffix == ".json":
                yield from [row["tokens"] for row in json.loads(place.read_text())]
            else:
                yield np.load(place, allow_pickle=False)
        except (OSError, ValueError, EOFError, KeyError, TypeError) as error:
            raise InputError(f"cannot read tokens from {place}: {type(error).__name__}, {error}") from error


def _full(texts: Iterable[Sequence[int]]) -> Iterable[Sequence[int]]:
    return (text for text in texts if len(text))


def _sorted(tokens: IntArray, order: int) -> IntArray:
    """The suffix array, suffixes compared by their first tokens, `order` of them at least."""
    rank = tokens.astype(np.int64) - END
    width = 1
    places = np.argsort(rank, kind="stable")
    while width < order:
        behind = np.zeros_like(rank)
        behind[:-width] = rank[width:]
        key = rank * (len(rank) + int(rank.max()) + 1) + behind
        places = np.argsort(key, kind="stable")
        rank[places] = np.append(0, np.cumsum(np.diff(key[places]) != 0))
        width *= 2
    return places
