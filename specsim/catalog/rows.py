"""Reading the catalogue's tables."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from specsim import checks


@cache
def table(file: str) -> dict[str, dict[str, Any]]:
    """All rows of one file in `data/`, by name, in the file's order."""
    text = resources.files("specsim.catalog").joinpath("data", file).read_text(encoding="utf-8")
    return tomllib.loads(text)


def row(file: str, name: str, *, kind: str) -> dict[str, Any]:
    """One row; an unknown name lists the known ones.

    Examples
    --------
    >>> row("hardware.toml", "H200-SXM", kind="hardware")["bandwidth_bytes_per_second"]
    4800000000000.0
    """
    rows = table(file)
    return {"name": name, **rows[checks.one_of(kind, name, rows)]}
