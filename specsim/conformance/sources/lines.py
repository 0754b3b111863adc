"""JSON Lines that grow while a run goes on and may be torn at the end."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specsim.errors import InputError
from specsim.files import write_whole


def append_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines at the end of a file, and have them on disk before returning.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "a.jsonl.gz"
    >>> append_lines(path, [{"a": 1}])
    >>> append_lines(path, [{"a": 2}])
    >>> [line["a"] for _, line in good_lines(path)]
    [1, 2]
    """
    data = "".join(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n" for line in lines).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(gzip.compress(data, mtime=0) if _is_packed(path) else data)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def good_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and object of each line up to one that was torn by an interruption at the end.

    Raises
    ------
    InputError
        No such file, or a line in the middle that is no JSON object.
    """
    texts = list(_texts(path))
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except json.JSONDecodeError as error:
            if number == len(texts) and not text.endswith("\n"):
                return
            raise InputError(f"{path} line {number} is not JSON: {error.msg}") from None
        if not isinstance(line, dict):
            raise InputError(f"{path} line {number} must be a JSON object")
        yield number, line


def mended(path: Path) -> Path:
    """The file without a torn last line, so that more can be added."""
    data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for _, line in good_lines(path)).encode()
    return write_whole(path, gzip.compress(data, mtime=0) if _is_packed(path) else data)


def _texts(path: Path) -> Iterator[str]:
    opener = gzip.open if _is_packed(path) else open
    try:
        with opener(path, "rb") as stream:
            try:
                for line in stream:
                    yield line.decode("utf-8")
            except (EOFError, zlib.error):
                return  # the last part of a packed file was torn; what came before it stands
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: it is no text ({error.reason})") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _is_packed(path: Path) -> bool:
    return path.suffix == ".gz"
