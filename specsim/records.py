"""RoundRecord: the one row that the simulators and the real decoder both write, and its JSON Lines form."""

from __future__ import annotations

import dataclasses
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from specsim import checks
from specsim.errors import InputError
from specsim.files import write_whole


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundRecord:
    """What one round of draft and verify did, and what it took.

    Plain decoding writes the same row with `gamma` 0. `accepted` counts drafts that the rule accepted and that
    were kept; `committed` counts tokens added to the text (accepted drafts plus the bonus or correction token,
    which is missing after an accepted end-of-text token), so `committed - accepted` is 0 or 1.

    Parameters
    ----------
    request : str
        Which text the round belongs to; the unit of resampling, since rounds of one text are correlated.
    round : int
        0, 1, ... within the request.
    proposer, verifier : str
        Names; proposer "none" for plain decoding.
    gamma : int
        Drafted tokens asked for [1].
    drafted : int
        Drafted tokens that were judged, at most `gamma` (a lookup may find fewer) [1].
    accepted : int
        Accepted drafts [1].
    committed : int
        Tokens added to the text [1].
    batch : int
        Sequences in the pass [1].
    context_tokens : int
        Tokens cached for the target when verification began [1].
    draft_passes : int
        Forward passes of the drafter [1].
    draft_seconds, verify_seconds, sample_seconds, host_seconds : float
        Parts of the round, disjoint [s].

    Raises
    ------
    InputError
        Names that are no text, counts that contradict one another, or negative times.
    """

    request: str
    round: int
    proposer: str
    verifier: str
    gamma: int
    drafted: int
    accepted: int
    committed: int
    batch: int = 1
    context_tokens: int = 0
    draft_passes: int = 0
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0
    sample_seconds: float = 0.0
    host_seconds: float = 0.0

    def __post_init__(self) -> None:
        for name in ("request", "proposer", "verifier"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} must be text, got {getattr(self, name)!r}")
        checks.integer("round", self.round)
        checks.integer("gamma", self.gamma)
        checks.integer("drafted", self.drafted, high=self.gamma)
        checks.integer("accepted", self.accepted, high=self.drafted)
        checks.integer("committed", self.committed, low=self.accepted, high=self.accepted + 1)
        checks.integer("batch", self.batch, low=1)
        checks.integer("context_tokens", self.context_tokens)
        checks.integer("draft_passes", self.draft_passes)
        for part in PARTS:
            checks.non_negative(part, getattr(self, part))

    @property
    def seconds(self) -> float:
        """The whole round [s]."""
        return self.draft_seconds + self.verify_seconds + self.sample_seconds + self.host_seconds


PARTS = ("draft_seconds", "verify_seconds", "sample_seconds", "host_seconds")
_FIELDS = {field.name: field for field in dataclasses.fields(RoundRecord)}
_REQUIRED = [name for name, field in _FIELDS.items() if field.default is dataclasses.MISSING]


def to_frame(records: Iterable[RoundRecord]) -> pd.DataFrame:
    """One row per record, one column per field, plus `seconds`."""
    frame = pd.DataFrame([dataclasses.asdict(record) for record in records], columns=list(_FIELDS))
    frame["seconds"] = frame[list(PARTS)].sum(axis=1)
    return frame


def write_records(path: str | Path, records: Iterable[RoundRecord]) -> Path:
    """Write JSON Lines, gzipped when the name ends in .gz; whole or not at all."""
    text = "".join(json.dumps(dataclasses.asdict(record)) + "\n" for record in records)
    packed = str(path).endswith(".gz")
    return write_whole(path, gzip.compress(text.encode(), mtime=0) if packed else text)


def read_records(path: str | Path) -> list[RoundRecord]:
    """Read JSON Lines written by `write_records`, or by any decoder that fills the same fields.

    Raises
    ------
    InputError
        No such file, a torn or foreign line (its number is named), unknown or missing fields, or no rows.
    """
    records = [_parse(line, place=f"{path} line {number}") for number, line in _lines(Path(path))]
    if not records:
        raise InputError(f"{path} holds no rows")
    return records


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _parse(line: str, *, place: str) -> RoundRecord:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place} is not JSON: {error.msg}") from None
    if not isinstance(row, dict):
        raise InputError(f"{place} must be a JSON object")
    unknown = sorted(set(row) - set(_FIELDS))
    missing = [name for name in _REQUIRED if name not in row]
    if unknown or missing:
        problem = f"unknown field {unknown[0]!r}" if unknown else f"no field {missing[0]!r}"
        raise InputError(f"{place} has {problem}; fields: {', '.join(_FIELDS)}")
    try:
        return RoundRecord(**row)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
