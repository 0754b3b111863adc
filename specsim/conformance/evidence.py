"""Evidence: every emitted token with the laws that it was meant to follow, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.stats import Observed, join
from specsim.stats.rows import BoolArray

UNKNOWN, CUT = -1, -2
DEEPEST = 4
"""Places in a round from this one on share a group."""
JUST = 2
LOW_REACH = 0.6
"""Tokens after drafts whose p over q, multiplied along the round and capped at 1, is below this are a group."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Evidence:
    """N tokens of R requests, request by request.

    Parameters
    ----------
    observed : Observed
        The tokens and their laws.
    request : array (N,)
        Which request, 0..R - 1.
    place : array (N,)
        Tokens of the output before it [1].
    depth : array (N,)
        Tokens of its round before it; -1 where rounds are not told [1].
    accepted : array (N,)
        1 for a draft that stood, 0 for the token in place of one that fell, -1 where there was no draft or rounds are
        not told, -2 for the last token of a text, where a draft was and nobody knows whether it stood.
    reach : array (N,)
        min(1, reach before times p / q) along the drafts of its round, 1 at its start and where q is not known [1].
    draft_mass : array (N,)
        Probability of the token under the draft's law; NaN where that is not known [1].
    overlap : array (N, 2)
        Sums over tokens that do not end the text of min(p, q) and of min(reach p, q) / reach; NaN if unknown [1].
    ended : array (N,) of bool
        Whether the token is one that ends texts: end of text, or the last of a stop sequence.
    end_mass : array (N,)
        Probability of all tokens that would have; NaN if unknown [1].
    room : array (R,)
        Tokens that each request could have had [1].
    least : array (R,)
        Tokens that each had to have before it could end [1].
    tags : mapping of arrays (N,) of bool
        Which tokens belong to requests with each tag.
    """

    observed: Observed
    request: IntArray
    place: IntArray
    depth: IntArray
    accepted: IntArray
    reach: FloatArray
    draft_mass: FloatArray
    overlap: FloatArray
    ended: BoolArray
    end_mass: FloatArray
    room: IntArray
    least: IntArray
    tags: Mapping[str, BoolArray]

    def __len__(self) -> int:
        return len(self.observed)

    def strata(self) -> dict[str, BoolArray]:
        """Groups of tokens that are known before the token is drawn, by name.

        Tags; the place in the round; tokens after drafts that the target thought less likely than the draft did, where
        rules that judge whole paths differ from those that judge tokens; and the first ones that may end a text.

        Notes
        -----
        A token's place in its round says only that the tokens before it stood, so its law is still p; the length of
        its round would not do, for that depends on tokens after it.
        """
        groups = {f"requests with {tag}": mask for tag, mask in self.tags.items()}
        for depth in range(DEEPEST):
            groups[f"token {depth + 1} of a round"] = self.depth == depth
        groups[f"token {DEEPEST + 1} or later of a round"] = self.depth >= DEEPEST
        groups["tokens after unlikely drafts"] = self.reach < LOW_REACH
        least = self.least[self.request]
        groups["tokens just after the least length"] = (least > 0) & (self.place >= least) & (self.place < least + JUST)
        return groups

    def take(self, rows: ArrayLike) -> Evidence:
        """The tokens at some rows (indices, or a boolean each); requests keep their numbers."""
        kept = np.asarray(rows)
        arrays = {name: getattr(self, name)[kept] for name in _PER_TOKEN}
        tags = {tag: mask[kept] for tag, mask in self.tags.items()}
        return replace(self, observed=self.observed.take(kept), tags=tags, **arrays)


_PER_TOKEN = tuple(field.name for field in fields(Evidence) if field.name not in ("observed", "room", "least", "tags"))


def joined(parts: Sequence[Evidence]) -> Evidence:
    """Evidence of several batches, in order."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.room) for part in parts)])
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _PER_TOKEN}
    arrays["request"] = np.concatenate([part.request + start for part, start in zip(parts, starts, strict=False)])
    return Evidence(
        observed=join([part.observed for part in parts]),
        room=np.concatenate([part.room for part in parts]),
        least=np.concatenate([part.least for part in parts]),
        tags={tag: np.concatenate([part.tags[tag] for part in parts]) for tag in parts[0].tags},
        **arrays,
    )
