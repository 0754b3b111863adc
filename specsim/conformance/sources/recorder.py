"""Running with a recording: writing it as the run goes, and going on with one that was interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from specsim.conformance.protocol import Decoder, Oracle, Output, Request, Rows
from specsim.conformance.sources.answers import Answer, Streaming, collected
from specsim.conformance.sources.columns import part, stacked
from specsim.conformance.sources.lines import append_lines, mended
from specsim.conformance.sources.recording import (
    Recording,
    answer_line,
    asked_line,
    new_recording,
    read_recording,
    rows_line,
)
from specsim.errors import AdapterError, InputError


class Recorder:
    """Decoder and oracle that write down what another decoder and oracle give, and answer from the file first.

    Parameters
    ----------
    path : path
        The file; gzipped when its name ends in .gz.
    decoder : Decoder
        Asked for what the file does not hold yet; texts are written as they come.
    oracle : Oracle or None
        Likewise; None records no laws.
    vocabulary : int
        V [1].
    resume : bool
        Go on with a file that is there; else it must not exist.

    Notes
    -----
    A request that is asked again in one run, under whatever name, goes to the decoder and is not written: it is asked
    again to see whether the answer repeats, and as evidence it would count twice. Nor are requests without a tag, which
    ask after seeds alone and are not held against the oracle.
    """

    def __init__(
        self, path: str | Path, *, decoder: Decoder, oracle: Oracle | None = None, vocabulary: int, resume: bool = False
    ) -> None:
        self.path = Path(path)
        self.decoder, self.oracle = decoder, oracle
        if resume and self.path.exists():
            self.known = read_recording(mended(self.path), vocabulary=vocabulary)
        else:
            new_recording(self.path, vocabulary=vocabulary)
            self.known = Recording(vocabulary=vocabulary)
        self._asked = {one for batch in self.known.batches for one in batch}
        self._served: set[str] = set()
        self._kinds: set[Request] = set()
        self._scored: dict[str, tuple[Output, Rows]] = {
            one: (self.known.answers[one][1], rows)
            for one, rows in self.known.rows.items()
            if one in self.known.answers
        }

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        return collected(self.answers(requests), len(requests))

    def answers(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """See `Streaming.answers`."""
        missing = []
        for place, request in enumerate(requests):
            if request.id in self.known.answers and request.id not in self._served:
                self._serve(request)
                yield place, _checked(request, *self.known.answers[request.id])
            else:
                missing.append(place)
        if missing:
            yield from self._live(requests, missing)

    def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
        """See `Oracle.score`."""
        if self.oracle is None:
            raise InputError("a recorder without an oracle cannot score")
        pairs = list(zip(requests, outputs, strict=True))
        unknown = [i for i, (request, output) in enumerate(pairs) if not self._is_scored(request, output)]
        if not unknown:
            return stacked([self._scored[request.id][1] for request in requests])
        found = self.oracle.score(requests, outputs)
        self._write(unknown, requests, outputs, found)
        return found

    def _live(self, requests: Sequence[Request], missing: Sequence[int]) -> Iterator[Answer]:
        some = [requests[place] for place in missing]
        is_new = [bool(request.tags) and _bare(request) not in self._kinds for request in some]
        new = [request for request, flag in zip(some, is_new, strict=True) if flag]
        for request in new:
            self._serve(request)
        unasked = [request for request in new if request.id not in self._asked]
        if unasked:
            append_lines(self.path, [asked_line(unasked)])
        made = self.decoder.answers(some) if isinstance(self.decoder, Streaming) else enumerate(self._whole(some))
        for place, output in made:
            if is_new[place]:
                append_lines(self.path, [answer_line(some[place], output)])
            yield missing[place], output

    def _serve(self, request: Request) -> None:
        self._served.add(request.id)
        self._kinds.add(_bare(request))

    def _whole(self, requests: Sequence[Request]) -> Sequence[Output]:
        made = self.decoder.generate(requests)
        if len(made) != len(requests):
            raise AdapterError(f"the decoder must answer each of {len(requests)} requests, got {len(made)} answers")
        return made

    def _is_scored(self, request: Request, output: Output) -> bool:
        return request.id in self._scored and self._scored[request.id][0].tokens == output.tokens

    def _write(self, places: Sequence[int], requests: Sequence[Request], outputs: Sequence[Output], rows: Rows) -> None:
        ends = np.cumsum([len(output.tokens) for output in outputs])
        lines = []
        for i in places:
            if requests[i].id not in self._scored:
                mine = part(rows, int(ends[i]) - len(outputs[i].tokens), int(ends[i]))
                self._scored[requests[i].id] = outputs[i], mine
                lines.append(rows_line(requests[i].id, mine))
        if lines:
            append_lines(self.path, lines)


def _bare(request: Request) -> Request:
    """The request without its name."""
    return replace(request, id="", tags=())


def _checked(request: Request, recorded: Request, output: Output) -> Output:
    if replace(recorded, tags=request.tags) != request:
        raise InputError(
            f"recording must hold request {request.id!r} as it is asked now, got another prompt, seed or parameters: "
            "it is of another plan"
        )
    return output
