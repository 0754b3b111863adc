"""One page per file: each has a `page(outcome) -> str` that turns a parsed outcome into HTML."""

from __future__ import annotations

from reports.pages import demo, drafters, serving

PAGES = {"demo": demo.page, "drafters": drafters.page, "serving": serving.page}

__all__ = ["PAGES"]
