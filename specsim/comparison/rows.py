"""Target and draft laws by depth, from memory or a file."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specsim import checks
from specsim.checks import FloatArray
from specsim.errors import InputError

ENDINGS = (".npz", ".jsonl", ".jsonl.gz")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rows:
    """Laws that do not depend on the drafts before them.

    Parameters
    ----------
    p : array, shape (G + 1, V)
        The target's law of token k, k = 1..G + 1 [1].
    q : array, shape (G, V)
        The draft's [1].

    Raises
    ------
    InputError
        No draft (G of 0), fewer than two tokens, shapes that disagree, or rows that are no laws.

    Examples
    --------
    >>> Rows(p=[[0.5, 0.5], [1.0, 0.0]], q=[[0.25, 0.75]]).gamma
    1
    """

    p: ArrayLike
    q: ArrayLike

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            rows = checks.array(name, getattr(self, name), ndim=2)
            least = 2 if name == "p" else 1
            if len(rows) < least:
                raise InputError(f"{name} must have {least} rows at least (gamma of 1 or more), got {len(rows)}")
            if rows.shape[1] < 2:
                raise InputError(f"{name} must have two tokens at least, got {rows.shape[1]}")
            object.__setattr__(self, name, checks.distribution(name, rows))
        target, draft = self.target, self.draft
        if target.shape != (len(draft) + 1, draft.shape[1]):
            raise InputError(f"p must have shape (gamma + 1, V) and q (gamma, V), got {target.shape} and {draft.shape}")

    @property
    def target(self) -> FloatArray:
        """`p`, checked."""
        return np.asarray(self.p)

    @property
    def draft(self) -> FloatArray:
        """`q`, checked."""
        return np.asarray(self.q)

    @property
    def gamma(self) -> int:
        """Drafted tokens per round [1]."""
        return len(self.draft)

    @property
    def vocabulary(self) -> int:
        """V [1]."""
        return int(self.draft.shape[1])


def read_rows(path: str | Path) -> Rows:
    r"""Read laws from a file.

    Parameters
    ----------
    path : str or Path
        A .npz with arrays `p`, shape (G + 1, V), and `q`, shape (G, V); or a .jsonl (perhaps .gz) of G + 1 lines, the
        first G like `{"p": [0.5, 0.5], "q": [0.2, 0.8]}`, the last one without `q`.

    Raises
    ------
    InputError
        Another ending, a file that cannot be read or is torn, missing arrays, or laws that are none; see `Rows`.

    Examples
    --------
    >>> place = getfixture("tmp_path") / "laws.jsonl"
    >>> _ = place.write_text('{"p": [0.5, 0.5], "q": [0.2, 0.8]}\n{"p": [1, 0]}\n')
    >>> read_rows(place).gamma
    1
    """
    place = Path(path)
    if not place.name.endswith(ENDINGS):
        raise InputError(f"{place} must end in {', '.join(ENDINGS)}")
    p, q = _arrays(place) if place.suffix == ".npz" else _lines(place)
    try:
        return Rows(p=p, q=q)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _arrays(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path} must be an archive with arrays p and q, got one array")
            return _array(archive, "p", path), _array(archive, "q", path)
    except InputError:
        raise
    except ValueError as error:  # numpy takes what is no archive for a pickle, and advises to trust it
        raise InputError(f"cannot read {path}: it is no .npz of numbers") from error
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or _short(error)}") from error


def _array(archive: np.lib.npyio.NpzFile, name: str, path: Path) -> NDArray[Any]:
    if name not in archive.files:
        raise InputError(f"{path} has no array {name}; arrays: {', '.join(archive.files) or 'none'}")
    array: NDArray[Any] = archive[name]
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: {name} must be an array of numbers, got {array.dtype}")
    return array


def _lines(path: Path) -> tuple[list[Any], list[Any]]:
    targets: list[Any] = []
    drafts: list[Any] = []
    for number, line in _text(path):
        row = _object(line, place=f"{path} line {number}")
        if len(drafts) < len(targets):
            raise InputError(f"{path} line {number} follows a line without q, which only the last may lack")
        targets.append(row["p"])
        drafts.extend([row["q"]] if row.get("q") is not None else [])
    if not targets:
        raise InputError(f"{path} holds no laws")
    if len(drafts) == len(targets):
        raise InputError(f"{path} must end with a line without q, the target's law after all drafts")
    return targets, drafts


def _object(line: str, *, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place} is not JSON: {error.msg}; the line may be torn") from None
    if not isinstance(row, dict) or "p" not in row:
        raise InputError(f"{place} must be a JSON object with p, and q but in the last line")
    for name in row:
        checks.one_of(f"{place}: field", name, ("p", "q"))
    for name, law in row.items():
        numbers = isinstance(law, list) and all(type(x) in (int, float) for x in law)
        if not numbers and (name == "p" or law is not None):
            raise InputError(f"{place}: {name} must be a list of numbers")
    return row


def _text(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or _short(error)}") from error


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
