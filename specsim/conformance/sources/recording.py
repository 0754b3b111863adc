"""Recordings: requests, outputs and the reference laws of their tokens as JSON Lines, written as a run goes on.

A line says what it is in `kind`: `recording` (the first: schema and vocabulary), `asked` (ids of a batch, before it is
decoded), `answer` (a request and its output), `rows` (laws of one output's tokens).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from specsim import checks
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request, Rows
from specsim.conformance.sources.lines import append_lines, good_lines
from specsim.errors import InputError

SCHEMA = 1
Line = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Recording:
    """What a file holds.

    Parameters
    ----------
    vocabulary : int
        V; every token is below it [1].
    answers : mapping
        Request and output by the request's id, in the order written.
    batches : tuple of tuples of ids
        Requests that were sent together, in the order asked; empty where the file does not say.
    rows : mapping
        Laws of each output's tokens by the request's id, where an oracle was recorded.
    """

    vocabulary: int
    answers: Mapping[str, tuple[Request, Output]] = field(default_factory=dict)
    batches: tuple[tuple[str, ...], ...] = ()
    rows: Mapping[str, Rows] = field(default_factory=dict)

    @property
    def complete(self) -> tuple[str, ...]:
        """Requests to judge: all that were asked, but for a last batch that was interrupted.

        Texts of a batch that end early come back first, so what is there of an interrupted one is no fair sample.

        Raises
        ------
        InputError
            An answer is missing elsewhere: somebody took lines away, by finish reason or otherwise.
        """
        if not self.batches:
            return tuple(self.answers)
        *before, last = self.batches
        kept = [*before, last] if all(one in self.answers for one in last) else before
        missing = [one for batch in kept for one in batch if one not in self.answers]
        if missing:
            raise InputError(
                f"recording must answer every request that was asked, got none for {len(missing)}, the first "
                f"{missing[0]!r}: outputs that were filtered, by finish reason say, follow another law"
            )
        return tuple(one for batch in kept for one in batch)


def new_recording(path: str | Path, *, vocabulary: int) -> Path:
    """Begin a file.

    Raises
    ------
    InputError
        There is one already; it is not overwritten.
    """
    target = Path(path)
    if target.exists() and target.stat().st_size:
        raise InputError(f"{target} must not exist yet: go on with it (resume), or name another file")
    size = checks.integer("vocabulary", vocabulary, low=2)
    append_lines(target, [{"kind": "recording", "schema": SCHEMA, "vocabulary": size}])
    return target


def asked_line(requests: Sequence[Request]) -> Line:
    """The line of a batch that is sent."""
    return {"kind": "asked", "ids": [request.id for request in requests]}


def answer_line(request: Request, output: Output) -> Line:
    """The line of one answer."""
    return {"kind": "answer", "request": _sparse(asdict(request)), "output": _sparse(asdict(output))}


def rows_line(request_id: str, rows: Rows) -> Line:
    """The line of the laws of one output; minus infinity is written as null."""
    named = {"ids": rows.ids, "log_p": rows.log_p, "log_q": rows.log_q}
    return {"kind": "rows", "id": request_id, **{k: _values(v) for k, v in named.items() if v is not None}}


def read_recording(path: str | Path, *, vocabulary: int | None = None) -> Recording:
    """Read a file that was written by these functions, or by any program that writes the same lines.

    Parameters
    ----------
    path
        JSON Lines, gzipped when the name ends in .gz. A last line that was torn by an interruption is left out.
    vocabulary : int or None
        What it must be, if known [1].

    Raises
    ------
    InputError
        No such file, an empty one, foreign or damaged lines (the line is named), another schema or vocabulary, tokens
        outside the vocabulary.
    """
    lines = list(good_lines(Path(path)))
    if not lines:
        raise InputError(f"{path} holds no recording: it is empty")
    size = _vocabulary(path, lines[0][1], vocabulary)
    answers: dict[str, tuple[Request, Output]] = {}
    batches: list[tuple[str, ...]] = []
    rows: dict[str, Rows] = {}
    for number, line in lines[1:]:
        place = f"{path} line {number}"
        try:
            match line.get("kind"):
                case "asked":
                    batches.append(tuple(line["ids"]))
                case "answer":
                    request, output = _request(line["request"]), _output(line["output"])
                    _check_tokens(place, (*request.prompt, *output.tokens), size)
                    answers[request.id] = request, output
                case "rows":
                    rows[line["id"]] = _rows(line)
                case kind:
                    raise InputError(f"{place} has kind {kind!r}; known: answer, asked, recording, rows")
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError) and str(error).startswith(place):
                raise
            what = f"has no field {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
            raise InputError(f"{place} {what}") from None
    return Recording(vocabulary=size, answers=answers, batches=tuple(batches), rows=rows)


def _vocabulary(path: str | Path, head: Line, wanted: int | None) -> int:
    if head.get("kind") != "recording" or head.get("schema") != SCHEMA:
        raise InputError(f"{path} line 1 must be a recording of schema {SCHEMA}, got {json.dumps(head)[:80]}")
    size = checks.integer(f"{path} line 1: vocabulary", head.get("vocabulary"), low=2)
    if wanted is not None and size != wanted:
        raise InputError(f"{path} must be of a vocabulary of {wanted} tokens, got {size}")
    return size


def _check_tokens(place: str, tokens: Sequence[int], size: int) -> None:
    for token in tokens:
        checks.integer(f"{place}: tokens", token, high=size - 1)


def _request(fields: Mapping[str, Any]) -> Request:
    parameters = {name: _frozen(value) for name, value in fields.get("parameters", {}).items()}
    return Request(
        id=str(fields["id"]),
        prompt=tuple(fields["prompt"]),
        parameters=Parameters(**parameters),
        seed=fields.get("seed", 0),
        tags=tuple(fields.get("tags", ())),
    )


def _output(fields: Mapping[str, Any]) -> Output:
    given = {name: _frozen(value) for name, value in fields.items()}
    if given.get("log_probabilities") is not None:
        given["log_probabilities"] = tuple(-math.inf if x is None else float(x) for x in given["log_probabilities"])
    return Output(**given)


def _rows(line: Line) -> Rows:
    arrays = {
        name: np.array([[-math.inf if x is None else x for x in row] for row in line[name]], dtype=np.float64)
        for name in ("log_p", "log_q")
        if name in line
    }
    ids = np.array(line["ids"], dtype=np.intp) if "ids" in line else None
    return Rows(log_p=arrays["log_p"], ids=ids, log_q=arrays.get("log_q"))


def _frozen(value: Any) -> Any:
    """Lists as tuples; null in a bias is minus infinity."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _sparse(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is none or empty; not finite numbers as null."""
    kept = {name: _sparse(v) if isinstance(v, Mapping) else _plain(v) for name, v in fields.items()}
    return {name: value for name, value in kept.items() if value not in (None, (), [])}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _values(array: Any) -> Any:
    return _plain(np.asarray(array).tolist())
