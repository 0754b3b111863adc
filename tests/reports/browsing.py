"""Pages as a reader meets them: opened from disk in headless Chromium, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]

PLACE = """(parameter) => [...document.querySelectorAll("[data-control]")]
    .findIndex((each) => JSON.parse(each.dataset.control).parameter === parameter)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, or a visible reason why there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()


class Visit:
    """A page opened from disk, with everything it asked for and complained about."""

    def __init__(self, browser: Any, path: Path, *, theme: str = "light", width: int = 1200) -> None:
        self.theme = theme
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, offline=True)
        self.tab = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri())
        done = f"[...document.querySelectorAll('.chart > .{theme}')].every((place) => place.querySelector('svg.marks'))"
        self.tab.wait_for_function(done, timeout=30_000)

    @property
    def foreign(self) -> list[str]:
        """Addresses asked for that are not on this disk."""
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]

    def marks(self) -> dict[str, int]:
        """Marks of each picture in the visible theme, by its address."""
        found: dict[str, int] = self.tab.evaluate(
            """(theme) => Object.fromEntries([...document.querySelectorAll(`.chart > .${theme}`)].map((place) => [
                place.parentElement.id,
                place.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect, .role-mark text").length,
            ]))""",
            self.theme,
        )
        return found

    def move(self, parameter: str, to: object) -> None:
        """Move the control of a parameter as a reader would: a menu to an entry, a slider to a place on its scale."""
        control = self.tab.locator("[data-control]").nth(self.tab.evaluate(PLACE, parameter))
        if control.evaluate("(each) => each.tagName") == "SELECT":
            control.select_option(str(to))
        else:
            control.fill(str(to))

    def labels(self, picture: str) -> list[str]:
        """What each mark of a picture says to a reader who cannot see it."""
        found: list[str] = self.tab.evaluate(
            "([picture, theme]) => [...document.querySelectorAll(`#${picture} > .${theme} .role-mark [aria-label]`)]"
            ".map((mark) => mark.ariaLabel)",
            [picture, self.theme],
        )
        return found
