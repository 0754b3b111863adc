"""Accepted lengths from a CSV file: counts by depth, or tokens per round by gamma."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from specsim import checks
from specsim.acceptance.base import Acceptance
from specsim.acceptance.counted import CountedAcceptance
from specsim.acceptance.means import MeanLengths
from specsim.errors import InputError

KINDS = (("depth", "reached", "accepted"), ("gamma", "tau"), ("gamma", "tau", "rounds"))
READINGS = ("auto", "means", "rounds")

Row = tuple[str, dict[str, Any]]
"""Where a row stands, and its values by column."""


def read_lengths(path: str | Path, *, each: str = "auto") -> CountedAcceptance | MeanLengths:
    r"""Read a table that laws can be fitted to.

    Parameters
    ----------
    path : str or Path
        Columns `depth,reached,accepted` (counts, depths 1..K), or `gamma,tau` and perhaps `rounds`, where tau counts
        the bonus.
    each : str
        What a row of `gamma,tau` is: "means" of many rounds, "rounds" one by one, or "auto": rounds where every tau is
        whole, some gamma occurs twice, and there are two gammas at least.

    Raises
    ------
    InputError
        A file that cannot be read, other columns, a torn or foreign line (its number is named), a tau outside
        1..gamma + 1, counts that contradict one another, means at one gamma only, or no rows.

    Examples
    --------
    >>> place = getfixture("tmp_path") / "counts.csv"
    >>> _ = place.write_text("depth,reached,accepted\n1,100,80\n2,80,40\n")
    >>> read_lengths(place).conditional(2)
    array([0.8, 0.5])
    """
    checks.one_of("each", each, READINGS)
    columns, rows = _rows(Path(path))
    if columns == set(KINDS[0]):
        return _counts(rows, source=str(path))
    return _by_gamma(rows, each=each, source=str(path))


def _rows(path: Path) -> tuple[set[str], list[Row]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            lines = [
                (number, line) for number, line in enumerate(csv.reader(stream, strict=True), start=1) if any(line)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    header = [name.strip().lower() for name in lines[0][1]] if lines else []
    if tuple(sorted(header)) not in [tuple(sorted(kind)) for kind in KINDS]:
        known = " or ".join(",".join(kind) for kind in KINDS)
        raise InputError(f"{path} must have the columns {known}, got {','.join(header) or 'nothing'}")
    if len(lines) < 2:
        raise InputError(f"{path} holds no rows")
    return set(header), [_row(header, line, place=f"{path} line {number}") for number, line in lines[1:]]


def _row(header: list[str], line: list[str], *, place: str) -> Row:
    if len(line) != len(header):
        raise InputError(f"{place} must have {len(header)} fields, got {len(line)}: the line may be torn")
    return place, {name: _number(name, text, place=place) for name, text in zip(header, line, strict=True)}


def _number(name: str, text: str, *, place: str) -> float:
    kind: Callable[[str], float] = float if name == "tau" else int
    try:
        value = kind(text)
    except ValueError:
        raise InputError(f"{place}: {name} must be a {'' if name == 'tau' else 'whole '}number, got {text!r}") from None
    return checks.number(f"{place}: {name}", value) if name == "tau" else value


def _counts(rows: list[Row], *, source: str) -> CountedAcceptance:
    ordered = sorted(rows, key=lambda row: row[1]["depth"])
    before = None
    for depth, (place, row) in enumerate(ordered, start=1):
        if row["depth"] != depth:
            raise InputError(f"{place}: depths must be 1..{len(rows)}, each once, got {row['depth']}")
        checks.integer(f"{place}: reached", row["reached"], low=1 if depth == 1 else 0, high=before)
        before = checks.integer(f"{place}: accepted", row["accepted"], high=row["reached"])
    columns = ([row[name] for _, row in ordered] for name in ("reached", "accepted"))
    return Acceptance.from_counts(*columns, source=source)


def _by_gamma(rows: list[Row], *, each: str, source: str) -> CountedAcceptance | MeanLengths:
    for place, row in rows:
        checks.integer(f"{place}: gamma", row["gamma"], low=1)
        if "rounds" in row:
            checks.integer(f"{place}: rounds", row["rounds"], low=1)
        checks.number(f"{place}: tau, which counts the bonus,", row["tau"], low=1, high=row["gamma"] + 1)
    gammas = [row["gamma"] for _, row in rows]
    whole = all(row["tau"].is_integer() for _, row in rows) and "rounds" not in rows[0][1]
    if each == "rounds" and not whole:
        raise InputError(f"{source} must hold whole tau and no column rounds to be read as rounds one by one")
    if each == "rounds" or (each == "auto" and whole and 1 < len(set(gammas)) < len(gammas)):
        return _counted(np.asarray(gammas), np.asarray([row["tau"] for _, row in rows]) - 1, source=source)
    if len(set(gammas)) == 1:
        raise InputError(
            f"{source} must hold means at two gammas at least, got {gammas[0]} only; "
            "counts by depth, or rounds one by one, can be of one gamma"
        )
    return MeanLengths(
        gammas=tuple(gammas),
        E_tokens=tuple(row["tau"] for _, row in rows),
        rounds=tuple(row["rounds"] for _, row in rows) if "rounds" in rows[0][1] else None,
        source=source,
    )


def _counted(gammas: checks.IntArray, accepted: checks.FloatArray, *, source: str) -> CountedAcceptance:
    depths = range(1, int(gammas.max()) + 1)
    reached = [int(((gammas >= depth) & (accepted >= depth - 1)).sum()) for depth in depths]
    stood = [int((accepted >= depth).sum()) for depth in depths]
    return Acceptance.from_counts(reached, stood, source=source)
