"""Judging a recording alone: its texts as a decoder, its laws as an oracle, its requests as the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specsim.conformance.plan import LEVEL, Plan, recorded_plan
from specsim.conformance.protocol import Oracle, Output, Request, Rows
from specsim.conformance.recorded import Recorded
from specsim.conformance.sources.columns import stacked
from specsim.conformance.sources.recording import Recording
from specsim.errors import InputError


class RecordedLaws:
    """The laws that a recording holds, as an oracle.

    Parameters
    ----------
    recording : Recording
        With `rows` for every request to be judged.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        for request, output in zip(requests, outputs, strict=True):
            if request.id not in self.recording.rows or self.recording.answers[request.id][1].tokens != output.tokens:
                raise InputError(f"recording holds no laws of the tokens of request {request.id!r}: give an oracle")
        return stacked([self.recording.rows[request.id] for request in requests])


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What `check` takes, made of a recording by `replayed`."""

    decoder: Recorded
    oracle: Oracle
    plan: Plan


def replayed(
    recording: Recording,
    *,
    oracle: Oracle | None = None,
    tokens: int | None = None,
    level: float = LEVEL,
    tolerance: float = 0.0,
    seed: int = 0,
) -> Replayed:
    """Decoder, oracle and plan of a recording.

    Parameters
    ----------
    recording : Recording
        Of requests that were all answered, however their texts ended.
    oracle : Oracle or None
        None takes the laws that were recorded.
    tokens : int or None
        At most so many are judged; None judges all [1].
    level, tolerance, seed
        See `Plan`.

    Raises
    ------
    InputError
        Nothing was recorded, outputs were taken out (see `Recording.complete`), or there are no laws.

    Examples
    --------
    >>> from specsim.conformance.sources.recording import Recording
    >>> request, output = Request(id="a", prompt=(1,)), Output(tokens=(2,) * 32, finish_reason="length")
    >>> replayed(Recording(vocabulary=8, answers={"a": (request, output)})).plan.tokens
    32
    """
    pairs = [recording.answers[one] for one in recording.complete]
    if not pairs:
        raise InputError("recording must hold an answer to judge, got none")
    total = sum(len(output.tokens) for _, output in pairs)
    return Replayed(
        decoder=Recorded(pairs),
        oracle=oracle or RecordedLaws(recording),
        plan=recorded_plan(
            [request for request, _ in pairs],
            tokens=total if tokens is None else min(tokens, total),
            level=level,
            tolerance=tolerance,
            seed=seed,
        ),
    )
