"""What a request asks for beyond its prompt, and the law that this makes of a row of logits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specsim import checks
from specsim.distributions import Sampling
from specsim.errors import InputError

Ids = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """Sampling parameters of one request, those that engines share.

    Parameters
    ----------
    temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty, logit_bias
        As of `distributions.Sampling`.
    banned_ids : tuple of int
        Tokens that may never appear.
    allowed_after : pairs of token and tokens
        A grammar that looks one token back: what may follow the token; tokens that are not named allow everything.
    min_tokens : int
        No token of `eos_ids` before so many tokens are out [1].
    max_tokens : int
        The text ends there [1].
    stop_sequences : tuple of tuples of int
        The text ends after any of them; tokens of the prompt do not count.
    eos_ids : tuple of int
        The text ends after any of them.

    Raises
    ------
    InputError
        A value outside its range.

    Examples
    --------
    >>> Parameters(logit_bias={2: 1.0}, banned_ids=(0,)).sampling.logit_bias
    ((0, -inf), (2, 1.0))
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] | tuple[tuple[int, float], ...] = ()
    banned_ids: Ids = ()
    allowed_after: Mapping[int, Ids] | tuple[tuple[int, Ids], ...] = ()
    min_tokens: int = 0
    max_tokens: int = 32
    stop_sequences: tuple[Ids, ...] = ()
    eos_ids: Ids = ()

    def __post_init__(self) -> None:
        for name in ("logit_bias", "allowed_after"):  # sorted pairs, so that equal parameters hash alike
            object.__setattr__(self, name, tuple(sorted(dict(getattr(self, name)).items())))
        for name in ("banned_ids", "eos_ids"):
            object.__setattr__(self, name, _ids(name, getattr(self, name)))
        object.__setattr__(self, "stop_sequences", tuple(_ids("stop_sequences", one) for one in self.stop_sequences))
        if any(not one for one in self.stop_sequences):
            raise InputError("stop_sequences must hold a token each, got an empty one")
        checks.integer("max_tokens", self.max_tokens, low=1)
        checks.integer("min_tokens", self.min_tokens, high=self.max_tokens)
        _ = self.sampling

    @property
    def sampling(self) -> Sampling:
        """Everything but the grammar, the end and the least length; bans are biases of minus infinity."""
        return Sampling(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            logit_bias={**dict(self.logit_bias), **dict.fromkeys(self.banned_ids, -math.inf)},
        )

    def allowed(self, vocabulary: int, *, is_early: bool) -> NDArray[np.bool_]:
        """What may follow each token, shape (V, V), before (`is_early`) or after `min_tokens`."""
        table = np.ones((vocabulary, vocabulary), dtype=bool)
        for token, following in dict(self.allowed_after).items():
            table[token] = False
            table[token, list(following)] = True
        if is_early:
            table[:, list(self.eos_ids)] = False
        return table

    def end(self, tokens: Sequence[int]) -> tuple[int, str] | None:
        """Where a text that begins with `tokens` ends and why: how many tokens, and "stop" or "length".

        Examples
        --------
        >>> Parameters(max_tokens=4, stop_sequences=((1, 2),)).end([5, 1, 2, 7])
        (3, 'stop')
        """
        for count in range(1, min(len(tokens), self.max_tokens) + 1):
            if tokens[count - 1] in self.eos_ids or any(
                tuple(tokens[max(0, count - len(one)) : count]) == one for one in self.stop_sequences
            ):
                return count, "stop"
        return (self.max_tokens, "length") if len(tokens) >= self.max_tokens else None


def _ids(name: str, values: Sequence[int]) -> Ids:
    return tuple(checks.integer(name, value) for value in values)
