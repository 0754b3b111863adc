"""What conformance needs of the world: a decoder under test, and an oracle that knows the target's law.

Both take whole batches, so that an engine may run them as it does in service and a reference may be vectorised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from numpy.typing import ArrayLike

from specsim.conformance.parameters import Parameters


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One text to be made.

    Parameters
    ----------
    id : str
        Its name in reports and replays.
    prompt : tuple of int
        Token ids, at least one.
    parameters : Parameters
        How tokens are to be drawn, and when to stop.
    seed : int
        A decoder that takes seeds gives the same text for the same request and seed, whatever else is in the batch.
    tags : tuple of str
        What kind of request it is, fixed before decoding: evidence is also taken tag by tag.
    """

    id: str
    prompt: tuple[int, ...]
    parameters: Parameters = field(default_factory=Parameters)
    seed: int = 0
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """What a decoder made of one request.

    Parameters
    ----------
    tokens : tuple of int
        All new tokens, with the one that ended the text (end of text, last of a stop sequence), without the prompt.
    finish_reason : str
        "stop" after an end-of-text token or a stop sequence, "length" at `max_tokens`.
    blocks : tuple of int or None
        Tokens that each round added; they sum to the length of `tokens`.
    drafted : tuple of int or None
        Tokens that were drafted in each round.
    log_probabilities : tuple of float or None
        What the decoder reports for its tokens: logarithms under the law that they were drawn from [nat].
    """

    tokens: tuple[int, ...]
    finish_reason: str
    blocks: tuple[int, ...] | None = None
    drafted: tuple[int, ...] | None = None
    log_probabilities: tuple[float, ...] | None = None


class Decoder(Protocol):
    """What is tested; one method.

    Notes
    -----
    Every request must come back, in order, however its text ended: keeping only those that ended in one way changes
    their law.
    """

    def generate(self, requests: Sequence[Request]) -> Sequence[Output]:
        """Make the texts of all requests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Reference laws before every token of a batch of outputs, one row a token, outputs one after the other.

    Parameters
    ----------
    log_p : array, shape (N, C)
        The target's, after all processors (penalties, bans, temperature, truncation) [nat].
    ids : array of int, shape (N, C), or None
        Token of each column where not every token has one; tokens that are not listed share the rest. None: the
        columns are the vocabulary. The list must not depend on the token that was emitted.
    log_q : array, shape (N, C), or None
        The draft's, where it is known: it sharpens the tests and names causes, and may be wrong without harm [nat].
    """

    log_p: ArrayLike
    ids: ArrayLike | None = None
    log_q: ArrayLike | None = None


class Oracle(Protocol):
    """What the target's law is, by a path that has no speculation in it."""

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """Laws before each token of the outputs, given the prompt and the tokens before it.

        Penalties count the prompt and those tokens as the parameters say; end-of-text tokens are banned as long as
        fewer than `min_tokens` are out.
        """
