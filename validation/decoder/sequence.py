"""SequenceModel: what the decoder asks of a language model, and the check of the logits that it hands over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specsim.errors import InputError

Logits = NDArray[np.float32]


class SequenceModel(Protocol):
    """A language model reading one text, whose cache can be cut back.

    `vocabulary_size` is V; token ids are 0..V-1. `context_limit` is the most tokens the cache holds, `length` how
    many it holds now.
    """

    @property
    def vocabulary_size(self) -> int:
        """V [token]."""

    @property
    def context_limit(self) -> int:
        """Most tokens that can be cached [token]."""

    @property
    def length(self) -> int:
        """Tokens cached now [token]."""

    def score(self, tokens: Sequence[int], *, keep: int | None = None) -> Logits:
        """Append `tokens` to the cache; logits (n, V) after each of them, or after the last `keep` only."""

    def truncate(self, length: int) -> None:
        """Keep the first `length` cached tokens."""


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
