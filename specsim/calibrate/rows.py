"""Rows as columns, with the rounds that were cut short and the seconds that stand out dealt with once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError
from specsim.records import PARTS, RoundRecord

PLAIN = "none"
CLIP_SIGMAS = 5.0
CLIP_FROM = 8  # rows: below that a median deviation says little

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rows:
    """Columns of N rounds of n requests.

    Parameters
    ----------
    names : tuple of str, length n
        Requests.
    request : array (N,)
        Place of each row's request in `names`.
    plain : array (N,)
        Rounds of plain decoding.
    asked : array (N,)
        Drafted tokens that the row's text was decoded with: the largest gamma of its rounds [1].
    gamma, drafted, accepted, committed, batch, context : arrays (N,)
        As in the records [1].
    judged : array (N,)
        Drafts on which there was a verdict: all, but in a round without a bonus token only the accepted ones, since
        the text ended there [1].
    full : array (N,)
        Drafting rounds that were not cut short.
    seconds : dict of arrays (N,)
        Parts of the round, clipped [s].
    raw_verify_seconds : array (N,)
        Not clipped [s].

    Notes
    -----
    A round is cut when it asked for fewer tokens than the text was decoded with (the end of the text was near), or
    when it committed no bonus token (the text ended on an accepted draft). All others count in full; where the text
    has a length limit, the round that crosses into the cut zone is among them, so the number of full rounds is a
    stopping time and committed over rounds is unbiased to first order (Wald).

    Rows of a request and proposer that are in time order make one text until `round` starts again.

    Seconds more than five robust standard deviations from the median of their kind (plain or not, drafted tokens,
    batch, context within a factor of two) are pulled to that distance: means then withstand the odd stall, and still
    add up to what a run of rounds takes.
    """

    names: tuple[str, ...]
    proposer: str | None
    request: IntArray
    plain: Mask
    asked: IntArray
    gamma: IntArray
    drafted: IntArray
    judged: IntArray
    accepted: IntArray
    committed: IntArray
    batch: IntArray
    context: IntArray
    full: Mask
    seconds: dict[str, FloatArray]
    raw_verify_seconds: FloatArray

    @property
    def total(self) -> FloatArray:
        """Seconds of each round [s]."""
        return np.asarray(sum(self.seconds.values()))

    @property
    def drafting(self) -> Mask:
        """Rounds in which the proposer was asked for something."""
        return ~self.plain & (self.gamma > 0)

    def sums(self, values: FloatArray | IntArray | Mask, where: Mask) -> FloatArray:
        """Sum by request over the rows where a mask holds, shape (n,)."""
        weights = np.where(where, values, 0.0)
        return np.asarray(np.bincount(self.request, weights=weights, minlength=len(self.names)), dtype=np.float64)

    def requests(self, where: Mask) -> int:
        """How many requests have such rows."""
        return len(np.unique(self.request[where]))


def columns(records: Iterable[RoundRecord]) -> Rows:
    """Columns of the records.

    Raises
    ------
    InputError
        No rows, more than one proposer or verifier, plain rows that ask for drafts, or a proposer never asked for any.
    """
    rows = list(records)
    if not rows:
        raise InputError("records must hold at least one row, got none")
    proposer = _proposer(rows)
    names, request = np.unique([row.request for row in rows], return_inverse=True)
    plain = np.array([row.proposer == PLAIN for row in rows])
    column = {
        name: np.array([getattr(row, name) for row in rows])
        for name in ("gamma", "drafted", "accepted", "committed", "batch", "context_tokens")
    }
    asked = _asked(rows, column["gamma"])
    if proposer is not None and not asked[~plain].any():
        raise InputError(f"gamma of proposer {proposer!r} must be at least 1, got 0 in all rows")
    ended = column["committed"] == column["accepted"]
    seconds = {part: np.array([getattr(row, part) for row in rows]) for part in PARTS}
    buckets = np.log2(column["context_tokens"] + 1).astype(int)
    kinds = np.stack([plain, column["drafted"], column["batch"], buckets], axis=1)
    kind = np.unique(kinds, axis=0, return_inverse=True)[1]
    return Rows(
        names=tuple(names.tolist()),
        proposer=proposer,
        request=request,
        plain=plain,
        asked=asked,
        gamma=column["gamma"],
        drafted=column["drafted"],
        judged=np.where(ended, column["accepted"], column["drafted"]),
        accepted=column["accepted"],
        committed=column["committed"],
        batch=column["batch"],
        context=column["context_tokens"],
        full=~plain & (asked > 0) & (column["gamma"] == asked) & ~ended,
        seconds={part: clipped(values, kind) for part, values in seconds.items()},
        raw_verify_seconds=seconds["verify_seconds"],
    )


def clipped(values: FloatArray, kind: IntArray) -> FloatArray:
    """Values pulled to within five robust standard deviations of the median of their kind.

    Examples
    --------
    >>> values = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.1, 50.0])
    >>> round(float(clipped(values, np.zeros(9, dtype=int)).max()), 2)
    1.37
    """
    series = pd.Series(values)
    middle = series.groupby(kind).transform("median")
    sigma = 1.4826 * (series - middle).abs().groupby(kind).transform("median")
    few = series.groupby(kind).transform("size") < CLIP_FROM
    reach = (CLIP_SIGMAS * sigma).where((sigma > 0) & ~few, np.inf)
    return series.clip(middle - reach, middle + reach).to_numpy(dtype=np.float64)


def _proposer(rows: Sequence[RoundRecord]) -> str | None:
    """The one proposer that drafts, or None."""
    drafting = [row for row in rows if row.proposer != PLAIN]
    for what in ("proposer", "verifier"):
        found = sorted({getattr(row, what) for row in drafting})
        if len(found) > 1:
            raise InputError(f"records must be of one {what}, got {', '.join(found)}")
    if any(row.gamma for row in rows if row.proposer == PLAIN):
        raise InputError(f"gamma of rows with proposer {PLAIN!r} must be 0, since they are plain decoding")
    return drafting[0].proposer if drafting else None


def _asked(rows: Sequence[RoundRecord], gamma: IntArray) -> IntArray:
    """The largest gamma of the text that each row belongs to."""
    texts: dict[tuple[str, str], tuple[int, int]] = {}
    text = np.empty(len(rows), dtype=np.int64)
    begun = 0
    for place, row in enumerate(rows):
        current, last = texts.get((row.request, row.proposer), (-1, row.round))
        if row.round <= last:
            current, begun = begun, begun + 1
        texts[(row.request, row.proposer)] = (current, row.round)
        text[place] = current
    largest = np.zeros(begun, dtype=np.int64)
    np.maximum.at(largest, text, gamma)
    return largest[text]
