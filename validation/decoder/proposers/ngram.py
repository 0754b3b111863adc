"""Prompt lookup: copy what followed the last few tokens earlier in the text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.random import Generator

from specsim import checks
from specsim.distributions import Sampling
from validation.decoder.proposers.protocol import Draft, up_to_eos


class NgramProposer:
    """Finds the last n tokens earlier in the text and proposes what came after them, the longest n first.

    Parameters
    ----------
    longest, shortest
        Largest and smallest n tried [token].

    Notes
    -----
    Among several places the most recent one that is followed by `gamma` tokens is taken; when none is, the earliest,
    which has the most to copy. Drafts are certain given the text, so no rows are handed over. The text is searched
    anew in every round (about 0.1 ms per 1,000 tokens), so there is no state that could disagree with it.

    Examples
    --------
    >>> proposer = NgramProposer()
    >>> proposer.begin([1, 2, 3, 4, 9, 1, 2], eos_ids=())
    >>> rng = np.random.default_rng(0)
    >>> proposer.propose([1, 2, 3, 4, 9, 1, 2], gamma=2, sampling=Sampling(), rng=rng).tokens
    (3, 4)
    """

    name = "ngram"
    vocabulary_size = None

    def __init__(self, *, longest: int = 3, shortest: int = 1) -> None:
        self.longest = checks.integer("longest", longest, low=1)
        self.shortest = checks.integer("shortest", shortest, low=1, high=longest)
        self._eos_ids: frozenset[int] = frozenset()

    def begin(self, tokens: Sequence[int], *, eos_ids: Collection[int]) -> None:
        """Remember where texts end."""
        self._eos_ids = frozenset(eos_ids)

    def propose(self, tokens: Sequence[int], *, gamma: int, sampling: Sampling, rng: Generator) -> Draft:
        """Copy at most `gamma` tokens; nothing when the last token is new."""
        text = np.asarray(tokens)
        for size in range(min(self.longest, len(text) - 1), self.shortest - 1, -1):
            windows = np.lib.stride_tricks.sliding_window_view(text[:-1], size)
            follow = np.flatnonzero((windows == text[-size:]).all(axis=1)) + size  # where the copy would start
            if follow.size:
                full = follow[follow + gamma <= len(text)]
                start = full[-1] if full.size else follow[0]
                return Draft(tokens=up_to_eos(text[start : start + gamma].tolist(), self._eos_ids))
        return Draft()
