"""Prompt lookup: the last few tokens are found again in the text, and what followed is copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specsim.catalog import ModelShape
from specsim.drafters.lookup import LOOKED_UP, Lookup
from specsim.drafters.method import Traits


@dataclass(frozen=True, kw_only=True, slots=True)
class NGram(Lookup):
    """Prompt lookup: find the last few tokens in the text so far and copy what followed.

    Notes
    -----
    Matches of up to 3 tokens and copies of up to 10 are the settings of the method's own repository
    (apoorvumang/prompt-lookup-decoding). The time per sequence is assumed: a scan of the text in compiled code.

    Examples
    --------
    >>> float(NGram().host_seconds(4, batch=8))
    0.0008
    """

    name: str = "ngram"
    seconds_per_sequence: float = 1e-4
    proposed: tuple[float, ...] = ()
    traits: ClassVar[Traits] = LOOKED_UP

    @classmethod
    def default(cls, target: ModelShape) -> NGram:
        """Always proposing, at the assumed time."""
        return cls()
