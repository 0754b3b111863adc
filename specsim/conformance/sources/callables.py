"""A Python function as a decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from specsim import checks
from specsim.conformance.asking import guarded
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request
from specsim.conformance.sources.answers import Answer, collected, one_by_one
from specsim.errors import AdapterError

Generate = Callable[[Sequence[int], Parameters, int], Any]
GenerateBatch = Callable[[Sequence[Sequence[int]], Sequence[Parameters], Sequence[int]], Sequence[Any]]


class CallableDecoder:
    """Calls a function once a request; made by `from_callable`.

    Parameters
    ----------
    function : callable
        `function(prompt_ids, parameters, seed)` returns the new token ids, or an `Output`.
    timeout_seconds : float or None
        For one call [s].
    """

    def __init__(self, function: Generate, *, timeout_seconds: float | None = None) -> None:
        self.function = function
        self.timeout_seconds = _seconds(timeout_seconds)

    def answers(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """See `Streaming.answers`; one call at a time, for a function may not stand two."""
        return one_by_one(self._answer, requests)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        return collected(self.answers(requests), len(requests))

    def _answer(self, request: Request) -> Output:
        arguments = list(request.prompt), request.parameters, request.seed
        made = guarded(lambda: self.function(*arguments), "the function", self.timeout_seconds)
        return as_output(made, request.parameters)


class BatchCallableDecoder:
    """Calls a function once a batch; made by `from_callable(function, is_batch=True)`.

    Parameters
    ----------
    function : callable
        `function(prompts, parameters, seeds)`, three lists of one length, returns a list of what a call of
        `CallableDecoder` returns.
    timeout_seconds : float or None
        For one batch [s].
    """

    def __init__(self, function: GenerateBatch, *, timeout_seconds: float | None = None) -> None:
        self.function = function
        self.timeout_seconds = _seconds(timeout_seconds)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        prompts, seeds = [list(one.prompt) for one in requests], [one.seed for one in requests]
        parameters = [one.parameters for one in requests]
        name = f"the function on a batch of {len(requests)}"
        made = guarded(lambda: list(self.function(prompts, parameters, seeds)), name, self.timeout_seconds)
        if len(made) != len(requests):
            raise AdapterError(f"the decoder must answer each of {len(requests)} requests, got {len(made)} answers")
        return [as_output(one, parameter) for one, parameter in zip(made, parameters, strict=True)]


def from_callable(
    function: Callable[..., Any], *, is_batch: bool = False, timeout_seconds: float | None = None
) -> CallableDecoder | BatchCallableDecoder:
    """A decoder of a function that makes token ids.

    Parameters
    ----------
    function : callable
        `function(prompt_ids, parameters, seed)` returns the new token ids, the one that ended the text included, or an
        `Output` where it knows of rounds and log-probabilities.
    is_batch : bool
        It takes three lists, of prompts, parameters and seeds, and returns a list.
    timeout_seconds : float or None
        For one call [s].

    Raises
    ------
    AdapterError
        On generating: the function raised, hung, or returned anything but token ids.

    Examples
    --------
    >>> decoder = from_callable(lambda prompt, parameters, seed: [prompt[-1]] * parameters.max_tokens)
    >>> decoder.generate([Request(id="a", prompt=(4,), parameters=Parameters(max_tokens=2))])[0].tokens
    (4, 4)
    """
    kind = BatchCallableDecoder if is_batch else CallableDecoder
    return kind(function, timeout_seconds=timeout_seconds)


def as_output(made: Any, parameters: Parameters) -> Output:
    """What a function returned, as an `Output`; its finish reason is what `parameters` give for its tokens."""
    if isinstance(made, Output):
        return made
    if isinstance(made, str):
        raise AdapterError(f"the decoder must return token ids, got text {made[:40]!r}")
    try:
        ids = np.asarray(made)
    except (TypeError, ValueError):
        ids = np.asarray("")
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise AdapterError(f"the decoder must return token ids in one axis, got {str(made)[:60]}")
    tokens = tuple(ids.tolist())
    end = parameters.end(tokens)
    if end is None:
        raise AdapterError(
            f"the decoder must return max_tokens {parameters.max_tokens} tokens or end with one that ends a text, "
            f"got {len(tokens)} tokens"
        )
    return Output(tokens=tokens, finish_reason=end[1])


def _seconds(value: float | None) -> float | None:
    return None if value is None else checks.positive("timeout_seconds", value)
