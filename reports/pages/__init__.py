"""One page per file: each has a `page(outcome) -> str` that turns a parsed outcome into HTML."""

from __future__ import annotations

from reports.pages import conformance, demo, drafters, serving, validation

PAGES = {
    "conformance": conformance.page,
    "demo": demo.page,
    "drafters": drafters.page,
    "serving": serving.page,
    "validation": validation.page,
}

__all__ = ["PAGES"]
