"""Asking decoders and oracles, and refusing answers that break their contract."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from specsim.conformance.protocol import Decoder, Oracle, Output, Request, Rows
from specsim.errors import AdapterError

Answer = TypeVar("Answer")

REASONS = ("stop", "length")


def ask(decoder: Decoder, requests: Sequence[Request], *, timeout_seconds: float | None = None) -> list[Output]:
    """The decoder's outputs, one for each request, each of them a text that could be one.

    Raises
    ------
    AdapterError
        The decoder crashed, took too long, answered another number of requests, or one of its answers is no list of
        token ids, is empty or longer than was asked, does not say why it ended, or contradicts itself.
    """
    which = f"requests {requests[0].id} to {requests[-1].id}"
    outputs = guarded(lambda: decoder.generate(requests), f"the decoder on {which}", timeout_seconds)
    try:
        answers = list(outputs)
    except TypeError:
        raise AdapterError(f"the decoder must return a sequence of outputs for {which}, got {outputs!r:.60}") from None
    if len(answers) != len(requests):
        raise AdapterError(f"the decoder must return {len(requests)} outputs for {which}, got {len(answers)}")
    for request, output in zip(requests, answers, strict=True):
        problem = _problem(request, output)
        if problem:
            raise AdapterError(f"request {request.id}: {problem}")
    return answers


def score(
    oracle: Oracle,
    requests: Sequence[Request],
    outputs: Sequence[Output],
    *,
    timeout_seconds: float | None = None,
) -> Rows:
    """The oracle's laws for texts of a batch, one row a token.

    Raises
    ------
    AdapterError
        The oracle crashed, took too long, or answered with another number of rows; or a token is not in its vocabulary.
    """
    rows = guarded(lambda: oracle.score(requests, outputs), "the oracle", timeout_seconds)
    count, shape = sum(len(output.tokens) for output in outputs), np.shape(getattr(rows, "log_p", ()))
    if len(shape) != 2 or shape[0] != count:
        raise AdapterError(f"the oracle must return one row for each of {count} tokens, got log_p of shape {shape}")
    if rows.ids is None:
        for request, output in zip(requests, outputs, strict=True):
            if max(output.tokens) >= shape[1]:
                raise AdapterError(
                    f"request {request.id}: tokens must be in 0..{shape[1] - 1}, got {max(output.tokens)}"
                )
    return rows


def guarded(work: Callable[[], Answer], name: str, timeout_seconds: float | None) -> Answer:
    """The result of `work`; whatever goes wrong inside, or takes too long, becomes an AdapterError."""
    answers: list[Answer] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            answers.append(work())
        except Exception as error:  # whatever an engine may raise
            errors.append(error)

    if timeout_seconds is None:
        run()
    else:
        thread = threading.Thread(target=run, daemon=True)  # it cannot be stopped, and must not keep us
        thread.start()
        thread.join(timeout_seconds)
        if thread.is_alive():
            raise AdapterError(f"{name} gave no answer within {timeout_seconds:g} s")
    if errors:
        if isinstance(errors[0], AdapterError):
            raise errors[0]
        raise AdapterError(f"{name} failed: {type(errors[0]).__name__}: {errors[0]}") from errors[0]
    return answers[0]


def _problem(request: Request, output: object) -> str | None:
    """What is wrong with an output, apart from its law."""
    if not isinstance(output, Output):
        return f"the decoder must return an Output, got {output!r:.60}"
    tokens, most = output.tokens, request.parameters.max_tokens
    if isinstance(tokens, str) or not all(_is_id(one) for one in tokens):
        return f"tokens must be token ids, got {tokens!r:.60}"
    if not tokens or len(tokens) > most:
        return f"tokens must be 1 to {most}, got {len(tokens)}"
    if min(tokens) < 0:
        return f"tokens must be at least 0, got {min(tokens)}"
    if output.finish_reason not in REASONS:
        return f"finish_reason must be one of {', '.join(REASONS)}, got {output.finish_reason!r}"
    if output.finish_reason == "length" and len(tokens) < most:
        return f"tokens must be {most} for finish_reason 'length', got {len(tokens)}"
    if output.log_probabilities is not None and len(output.log_probabilities) != len(tokens):
        return f"log_probabilities must be one for each of {len(tokens)} tokens, got {len(output.log_probabilities)}"
    return _rounds_problem(output)


def _is_id(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _rounds_problem(output: Output) -> str | None:
    if output.blocks is None:
        return None if output.drafted is None else "drafted must come with blocks"
    if min(output.blocks, default=0) < 1 or sum(output.blocks) != len(output.tokens):
        return f"blocks must be at least 1 each and sum to {len(output.tokens)}, got {list(output.blocks)!r:.60}"
    if output.drafted is not None and len(output.drafted) != len(output.blocks):
        return f"drafted must be one for each of {len(output.blocks)} blocks, got {len(output.drafted)}"
    return None
