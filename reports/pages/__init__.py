"""One page per file: each has a `page(outcome) -> str` that turns a parsed outcome into HTML."""

from __future__ import annotations

from reports.pages import demo

PAGES = {"demo": demo.page}

__all__ = ["PAGES"]
