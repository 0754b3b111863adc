"""LanguageModel: what the decoder asks of a model that reads several texts, and the check of its logits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from specsim.errors import InputError
from specsim.topology import Topology

if TYPE_CHECKING:  # so that table models work without torch
    from torch import Tensor

Logits = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a pass gave.

    Parameters
    ----------
    logits
        For each row (n_b, V), after each of its tokens or after the last ones that were asked for.
    features
        For each row (n_b, F), the hidden states that were asked for side by side; None where none were.
    """

    logits: Sequence[Logits]
    features: Sequence[Tensor] | None = None


class LanguageModel(ABC):
    """A language model reading B texts (rows), whose caches can be cut back.

    Attributes
    ----------
    vocabulary_size
        V; token ids are 0..V-1 [token].
    context_limit
        Most tokens of a row [token].

    Notes
    -----
    `score`, `truncate` and `length` see the first row alone: claims and timings read one text at a time.
    """

    vocabulary_size: int
    context_limit: int

    @property
    @abstractmethod
    def lengths(self) -> Sequence[int]:
        """Tokens of each row now [token]."""

    @abstractmethod
    def begin(self, rows: int) -> None:
        """Forget everything; from now on there are `rows` empty rows."""

    @abstractmethod
    def read(
        self,
        tokens: Sequence[Sequence[int]],
        *,
        keep: int | None = None,
        trees: Sequence[Topology | None] | None = None,
        layers: Sequence[int] = (),
    ) -> Reading:
        """Append tokens to every row, in one pass.

        Parameters
        ----------
        tokens
            Of each row; a row may get none, all rows together at least one.
        keep
            Logits after the last `keep` tokens of each row only; after all by default.
        trees
            Of each row: None for a chain, or the tree that the tokens behind the first one form; `compact` must
            follow before anything else is read.
        layers
            Which hidden states to hand over: 0 is the embedding, k what layer k puts out, -1 the last, normed.
        """

    @abstractmethod
    def cut(self, lengths: Sequence[int]) -> None:
        """Keep the first tokens of every row."""

    @abstractmethod
    def compact(self, kept: Sequence[Sequence[int]]) -> None:
        """Of the tokens of the last pass, row b keeps those at kept[b] (rising)."""

    @abstractmethod
    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""

    @property
    def length(self) -> int:
        """Tokens of the first row now [token]."""
        return self.lengths[0]

    def score(self, tokens: Sequence[int], *, keep: int | None = None) -> Logits:
        """Append `tokens` to a single row; logits (n, V) after each of them, or after the last `keep` only."""
        return self.read([tokens], keep=keep).logits[0]

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens of a single row; 0 starts a new text."""
        if length == 0:
            self.begin(1)
        else:
            self.cut([length])


def check_logits(logits: Logits, *, whose: str, position: int) -> None:
    """Refuse logits that no distribution follows from.

    Parameters
    ----------
    logits
        Rows (n, V).
    whose
        Name of the model, for the message.
    position
        Place in the text of the token that row 0 predicts.

    Raises
    ------
    InputError
        A row holds NaN or +inf. A token may be banned by -inf; a row that bans all of them fails when it becomes a law.

    Examples
    --------
    >>> check_logits(np.array([[0, 1], [np.nan, 0]], np.float32), whose="target", position=7)
    Traceback (most recent call last):
        ...
    specsim.errors.InputError: target logits must be finite, got nan in row 1 (text position 8)
    """
    if math.isfinite(logits.max()):
        return
    peaks = logits.max(axis=-1)
    row = int(np.flatnonzero(~np.isfinite(peaks))[0])
    raise InputError(f"{whose} logits must be finite, got {peaks[row]} in row {row} (text position {position + row})")
