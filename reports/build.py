"""Putting a page on disk."""

from __future__ import annotations

from pathlib import Path

from specsim.files import write_whole


def write_page(path: str | Path, html: str) -> Path:
    """Write a page whole or not at all, and return where it stands.

    Raises
    ------
    InputError
        The place cannot be written; what stood there before is untouched.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> write_page(folder / "report.html", "<!doctype html>").name
    'report.html'
    """
    return write_whole(path, html)
