"""What a proposer is and what it hands over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator

from specsim.checks import FloatArray
from specsim.distributions import Sampling


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """Proposed tokens and the law they were drawn from.

    Parameters
    ----------
    tokens
        G drafted tokens, oldest first; G may be 0.
    rows
        Laws that the tokens were sampled from, shape (G, V); None when each token was certain given the text
        (argmax, lookup), which the verifier treats as one-hot rows.
    passes
        Forward passes that the draft took [1].
    """

    tokens: tuple[int, ...] = ()
    rows: FloatArray | None = None
    passes: int = 0


class Proposer(Protocol):
    """Drafts tokens that continue a text.

    `vocabulary_size` is None for a proposer that can only repeat tokens of the text.
    """

    name: str

    @property
    def vocabulary_size(self) -> int | None:
        """V, which has to be the target's [token]."""

    def begin(self, tokens: Sequence[int], *, eos_ids: Collection[int]) -> None:
        """Read the prompt of a new text, outside of any round; nothing is to be drafted after a token of `eos_ids`."""

    def propose(self, tokens: Sequence[int], *, gamma: int, sampling: Sampling, rng: Generator) -> Draft:
        """Draft at most `gamma` tokens after `tokens` (prompt and everything committed).

        Whether a token is kept may depend on the tokens before it, never on itself: a drafter may stop after a
        token that it keeps, but must not throw away a token that it has sampled.
        """


class NoProposer:
    """Plain decoding: drafts nothing."""

    name = "none"
    vocabulary_size = None

    def begin(self, tokens: Sequence[int], *, eos_ids: Collection[int]) -> None:
        """Nothing to read."""

    def propose(self, tokens: Sequence[int], *, gamma: int, sampling: Sampling, rng: Generator) -> Draft:
        """Nothing to judge."""
        return Draft()


def up_to_eos(tokens: Sequence[int], eos_ids: Collection[int]) -> tuple[int, ...]:
    """The tokens up to and with the first end-of-text token.

    Examples
    --------
    >>> up_to_eos([5, 2, 7], {2}), up_to_eos([5, 7], {2})
    ((5, 2), (5, 7))
    """
    end = next((place for place, token in enumerate(tokens, start=1) if token in eos_ids), len(tokens))
    return tuple(tokens[:end])
