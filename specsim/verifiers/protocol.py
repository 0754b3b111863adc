"""What a verifier is and what it answers.

A round drafts x_1..x_G, the target scores G + 1 rows, and the verifier says how many drafts stand and which token
follows them. It knows nothing of end-of-text: the decoder cuts what is committed after an end-of-text token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """The outcome of one round for each sequence.

    Parameters
    ----------
    accepted : array of int, shape (...)
        Drafts that stand, 0..G [1].
    token : array of int, shape (...)
        The token after them: a correction, or the bonus when every draft stands.
    """

    accepted: IntArray
    token: IntArray


class Verifier(Protocol):
    """A rule that judges a drafted chain; one file and one line in `VERIFIERS` each."""

    @property
    def name(self) -> str:
        """The key in `VERIFIERS`."""

    @property
    def is_lossless(self) -> bool:
        """Whether the text follows the target's law exactly."""

    @property
    def needs_draft_rows(self) -> bool:
        """Whether sampled drafts must come with the laws that they were drawn from."""

    @property
    def needs_coupled_noise(self) -> bool:
        """Whether drafts must be drawn with the noise that the rule was made with; see `at_position`."""

    def verify(
        self,
        p: ArrayLike,
        draft: ArrayLike,
        *,
        q: ArrayLike | None,
        rng: np.random.Generator,
        drafted: ArrayLike | None = None,
    ) -> Verification:
        """Judge one round of each sequence.

        Parameters
        ----------
        p : array, shape (..., G + 1, V)
            Target laws; row k is given the k drafts before it [1].
        draft : array of int, shape (..., G)
            Drafted tokens; G may be 0, which is plain decoding.
        q : array, shape (..., G, V), or None
            The laws that the drafts were drawn from, or None for drafts that are no draw (argmax, lookup).
        rng : numpy.random.Generator
            Source of the coins.
        drafted : array of int, shape (...), or None
            How many of the G drafts each sequence really has; None means all. What stands after them is not read.

        Raises
        ------
        InputError
            Shapes or ids that do not fit, or a row that a token is drawn from and that is no law. Of a row that only
            lets a draft stand some rules read no more than the draft's probability, which must be in [0, 1]; rows that
            decide nothing are not looked at.
        """

    def outcomes(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """Exact law of (accepted, token) given the drafts, shape (..., G + 1, V) [1]; arguments as for `verify`."""

    def survival(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """P(accepted >= k given drafts 1..k), k = 1..G, shape (..., G) [1]; arguments as for `verify`.

        Its mean over drafts drawn from q is P(accepted >= k): an estimate without coins (Rao-Blackwell).
        """

    def accepted_pmf(self, p_tables: Sequence[ArrayLike], q_tables: Sequence[ArrayLike]) -> FloatArray:
        """Exact law of the accepted length, shape (G + 1,) [1].

        Parameters
        ----------
        p_tables : sequence of G + 1 arrays
            `p_tables[k]` has shape (V,) * k + (V,): the target's law of token k + 1 given the k drafts before it.
            Fewer axes broadcast: (V,) is a law that ignores the drafts, (V, V) one that reads the last of them.
        q_tables : sequence of G arrays
            The same for the draft.
        """


@runtime_checkable
class Positioned(Protocol):
    """A rule whose noise depends on the place in the text."""

    def at(self, position: ArrayLike) -> Verifier:
        """The rule for a round that begins after `position` tokens."""


def at_position(rule: Verifier, position: ArrayLike) -> Verifier:
    """The rule for a round that begins after `position` tokens, which rules with shared noise have to be told.

    Parameters
    ----------
    rule : Verifier
        Any; one that needs no coupled noise comes back as it is.
    position : array of int, shape (...)
        Tokens of each sequence before its first draft, the prompt included [1].
    """
    return rule.at(position) if isinstance(rule, Positioned) else rule
