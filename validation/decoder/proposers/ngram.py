"""Prompt lookup: copy what followed the last few tokens earlier in the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from specsim import checks
from specsim.checks import IntArray
from validation.decoder.proposers.protocol import Draft, Proposer, up_to_eos
from validation.decoder.text import Text

if TYPE_CHECKING:
    from validation.decoder.load import Loaded


class NgramProposer(Proposer):
    """Finds the last n tokens earlier in the text and proposes what came after them, the longest n first.

    Parameters
    ----------
    longest, shortest
        Largest and smallest n tried [token].

    Notes
    -----
    Among several places the most recent one that is followed by `gamma` tokens is taken; when none is, the earliest,
    which has the most to copy. Drafts are certain given the text, so no rows are handed over. The text is searched
    anew in every round, so there is no state that could disagree with it.

    Examples
    --------
    >>> from validation.decoder.text import Request
    >>> text = Text(Request(prompt=[1, 2, 3, 4, 9, 1, 2]))
    >>> NgramProposer().propose([text], gammas=[2])
    [Draft(tokens=(3, 4), q=None, passes=0, topology=None, riders=0)]
    """

    name = "ngram"

    def __init__(self, *, longest: int = 3, shortest: int = 1) -> None:
        self.longest = checks.integer("longest", longest, low=1)
        self.shortest = checks.integer("shortest", shortest, low=1, high=longest)

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Copy at most gammas[b] tokens; nothing when the last token is new."""
        found = [self._copy(np.asarray(text.tokens), gamma) for text, gamma in zip(texts, gammas, strict=True)]
        return [
            Draft(tokens=up_to_eos(tokens, text.request.eos_ids)) for text, tokens in zip(texts, found, strict=True)
        ]

    def _copy(self, text: IntArray, gamma: int) -> list[int]:
        found = None
        follow = np.flatnonzero(text[:-1] == text[-1]) + 1  # where a copy would start: one token matches
        for size in range(1, self.longest + 1):
            if size > 1:
                follow = follow[follow >= size]
                follow = follow[text[follow - size] == text[-size]] if follow.size else follow
            if not follow.size:
                break
            found = follow if size >= self.shortest else None
        if found is None:
            return []
        full = found[found + gamma <= len(text)]
        start = full[-1] if full.size else found[0]
        return list(text[start : start + gamma].tolist())


def build(loaded: Loaded, **options: int) -> NgramProposer:
    """With options as `NgramProposer` takes them."""
    return NgramProposer(**options)
