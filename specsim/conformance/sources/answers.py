"""Asking a source request by request: in parallel, with what was answered kept when something breaks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, runtime_checkable

from specsim import checks
from specsim.conformance.protocol import Output, Request
from specsim.errors import AdapterError

Answer = tuple[int, Output]


@runtime_checkable
class Streaming(Protocol):
    """A decoder that hands over each text when it is done, so that a broken batch is not lost."""

    def answers(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Place in the batch and output of each request, in whatever order they end."""


def one_by_one(
    answer: Callable[[Request], Output], requests: Sequence[Request], *, workers: int = 1
) -> Iterator[Answer]:
    """Outputs of all requests as they are done.

    Parameters
    ----------
    answer : callable
        Makes the output of one request.
    requests : sequence of Request
        In the order in which they are begun.
    workers : int
        Requests under way at once [1].

    Raises
    ------
    AdapterError
        One of them failed: none is begun after that, those under way are handed over, then the request is named.

    Examples
    --------
    >>> made = one_by_one(lambda request: Output(tokens=(1,), finish_reason="length"), [Request(id="a", prompt=(0,))])
    >>> [(place, output.tokens) for place, output in made]
    [(0, (1,))]
    """
    checks.integer("workers", workers, low=1)
    broken = threading.Event()

    def guarded(request: Request) -> Output | None:
        if broken.is_set():
            return None
        try:
            return answer(request)
        except BaseException:
            broken.set()
            raise

    with ThreadPoolExecutor(workers) as pool:
        under_way = {pool.submit(guarded, request): place for place, request in enumerate(requests)}
        errors: dict[int, BaseException] = {}
        try:
            for done in as_completed(under_way):
                error = done.exception()
                if error is not None:
                    errors[under_way[done]] = error
                elif (output := done.result()) is not None:
                    yield under_way[done], output
        finally:
            broken.set()  # whoever asks may have gone away
    if errors:
        first = min(errors)
        raise failure(requests[first], place=first, of=len(requests), error=errors[first]) from errors[first]


def collected(answers: Iterator[Answer], count: int) -> list[Output]:
    """All outputs of a batch, in the order of its requests."""
    found = dict(answers)
    return [found[place] for place in range(count)]


def failure(request: Request, *, place: int, of: int, error: BaseException) -> AdapterError:
    """The error of one request, in one line that names it.

    Examples
    --------
    >>> str(failure(Request(id="x", prompt=(0,)), place=6, of=8, error=ValueError("no memory")))
    "the decoder failed on request 'x' (7 of 8 in its batch): ValueError: no memory"
    """
    text = str(error).strip()
    lines = (text if isinstance(error, AdapterError) else f"{type(error).__name__}: {text}").splitlines()
    return AdapterError(f"the decoder failed on request {request.id!r} ({place + 1} of {of} in its batch): {lines[0]}")
