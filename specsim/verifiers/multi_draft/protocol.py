"""What a rule is that judges several candidates for one token, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray

NONE = -1
"""In place of a candidate: there is none. In place of the candidate that stands: none does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiDraftVerification:
    """Which candidate stands, for each sequence.

    Parameters
    ----------
    accepted : array of int, shape (...)
        Place of the candidate that stands, 0..K-1, or -1 where none does.
    token : array of int, shape (...)
        The token that is emitted: that candidate, or one from the residual law.
    """

    accepted: IntArray
    token: IntArray


class MultiDraftVerifier(Protocol):
    """A rule that judges K candidates for one token; one file and one line in `MULTI_DRAFT` each."""

    @property
    def name(self) -> str:
        """The key in `MULTI_DRAFT`."""

    @property
    def is_lossless(self) -> bool:
        """Whether the emitted token follows the target's law exactly."""

    @property
    def needs_draft_rows(self) -> bool:
        """Whether candidates must come with the law that they were drawn from."""

    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """Candidates as this rule needs them drawn, shape (..., K); -1 where the law has no more tokens."""

    def verify(
        self, p: ArrayLike, candidates: ArrayLike, *, q: ArrayLike | None, rng: np.random.Generator
    ) -> MultiDraftVerification:
        """Judge the candidates of one token of each sequence.

        Parameters
        ----------
        p : array, shape (..., V)
            Target laws [1].
        candidates : array of int, shape (..., K)
            Tokens in the order in which they were drawn, filled up with -1; K may be 0.
        q : array, shape (..., V), or None
            The laws that they were drawn from, or None for candidates that are no draw (the top-k of a drafter).
        rng : numpy.random.Generator
            Source of the coins.
        """

    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact joint law of the place and token of the candidate that stands, shape (..., K, V) [1].

        Sums to the acceptance probability; for a lossless rule, what is missing to p is the residual's share.
        """

    def acceptance_vector(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact probability that candidate 0..K-1 is the one that stands, shape (..., K) [1].

        Over contexts its mean is what `topology.sequoia` builds trees from.
        """
