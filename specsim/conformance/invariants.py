"""What must hold exactly, text by text: a single breach is proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specsim.conformance.asking import ask
from specsim.conformance.parameters import Parameters
from specsim.conformance.plan import Plan
from specsim.conformance.protocol import Decoder, Output, Request, Rows

ALONE = 3
"""So many requests are also asked alone."""
_TWIN_TOKENS = 32
_LOG_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Breach:
    """Something that must never happen, and did.

    Parameters
    ----------
    name : str
        The invariant.
    hypothesis : str
        What it points to.
    request : Request
    output : Output
    place : int
        The token of the output at which it shows [1].
    """

    name: str
    hypothesis: str
    request: Request
    output: Output
    place: int


def end_breaches(requests: Sequence[Request], outputs: Sequence[Output]) -> Iterator[Breach]:
    """Texts that do not end where they must, or say a wrong reason.

    Examples
    --------
    >>> request = Request(id="a", prompt=(1,), parameters=Parameters(eos_ids=(7,), max_tokens=3))
    >>> [breach.name for breach in end_breaches([request], [Output(tokens=(7, 1, 2), finish_reason="length")])]
    ['nothing after the end']
    """
    for request, output in zip(requests, outputs, strict=True):
        end = request.parameters.end(output.tokens)
        if end == (len(output.tokens), output.finish_reason):
            continue
        if end is not None and end[0] < len(output.tokens):
            name, cause = "nothing after the end", "text goes on after end of text or a stop sequence: a stop is missed"
        elif end is None:
            name, cause = "stop needs a reason", "text stops without end of text, stop sequence or full length"
        else:
            name, cause = "finish reason", f"finish reason is {output.finish_reason!r} where it should be {end[1]!r}"
        place = len(output.tokens) - 1 if end is None else end[0] - 1
        yield Breach(name=name, hypothesis=cause, request=request, output=output, place=place)


def log_probability_breaches(
    requests: Sequence[Request], outputs: Sequence[Output], rows: Rows, *, tolerance: float
) -> Iterator[Breach]:
    """Reported log-probabilities that are not those of the target's law."""
    if rows.ids is not None:
        return
    log_p, start = np.asarray(rows.log_p), 0
    for request, output in zip(requests, outputs, strict=True):
        count = len(output.tokens)
        if output.log_probabilities is not None:
            right = log_p[np.arange(start, start + count), list(output.tokens)]
            gap = np.abs(np.exp(np.asarray(output.log_probabilities)) - np.exp(right))
            wrong = np.flatnonzero(~(gap <= _LOG_TOLERANCE + 2 * tolerance))
            if wrong.size:
                yield Breach(
                    name="reported log-probabilities",
                    hypothesis="reported log-probabilities are not the target's: a wrong row, or raw logits",
                    request=request,
                    output=output,
                    place=int(wrong[0]),
                )
        start += count


def seed_breaches(decoder: Decoder, plan: Plan) -> tuple[Breach | None, int]:
    """The first breach of "same seed, same text, another seed, another text", and the tokens that it took.

    Two requests that differ in their seed alone agree in 32 tokens with the probability of these tokens, which is
    nothing unless the target is all but certain of them.
    """
    free = Parameters(max_tokens=_TWIN_TOKENS)
    twins = [
        Request(id=f"twin {place}{side}", prompt=prompt, parameters=free, seed=plan.seed + 2 * place + number)
        for place, prompt in enumerate(plan.fixed[:2])
        for number, side in enumerate("ab")
    ]
    batch = [*twins, *plan.requests(0, ALONE)]
    outputs = ask(decoder, batch, timeout_seconds=plan.timeout_seconds)
    tokens = sum(len(output.tokens) for output in outputs)
    for first, second in zip(range(0, len(twins), 2), range(1, len(twins), 2), strict=True):
        if outputs[first].tokens == outputs[second].tokens:
            cause = "requests share a random stream: two seeds gave one text"
            return _seeded("another seed, another text", cause, batch[second], outputs[second], 0), tokens
    for request, output in list(zip(batch, outputs, strict=True))[1::2]:
        (alone,) = ask(decoder, [replace(request, id=f"{request.id} alone")], timeout_seconds=plan.timeout_seconds)
        tokens += len(alone.tokens)
        if alone.tokens != output.tokens:
            pairs = enumerate(zip(alone.tokens, output.tokens, strict=False))
            place = next((place for place, (a, b) in pairs if a != b), len(output.tokens) - 1)
            cause = "a text depends on what else is in the batch: mixed-up requests, or a shared random stream"
            return _seeded("same seed, same text", cause, request, output, place), tokens
    return None, tokens


def _seeded(name: str, hypothesis: str, request: Request, output: Output, place: int) -> Breach:
    return Breach(name=name, hypothesis=hypothesis, request=request, output=output, place=place)
