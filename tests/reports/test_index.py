"""The index: its pages are built by their own commands, and one that cannot be is named with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.build import write_page
from reports.cli import REPORTS
from reports.gallery.show import NAMES
from reports.pages.index import page
from reports.pages.index.entries import ENTRIES, EXAMPLE, Entry
from tests.reports.browsing import Visit

pytest.importorskip("vl_convert")

GOOD = Entry(name="explained", title="Explained", line="Pictures.", picture="token_tree")
BAD = Entry(
    name="validation", title="Right?", line="Results.", picture="token_tree", arguments=("--results", "<nowhere>")
)
WRONG = Entry(name="serving", title="Load", line="Latencies.", picture="token_tree", arguments=("--model", "none"))


def test_every_entry_has_a_command_and_a_picture() -> None:
    assert {entry.name for entry in ENTRIES} <= set(REPORTS)
    assert {entry.picture for entry in ENTRIES} <= set(NAMES)
    assert EXAMPLE.is_file()


def test_pages_are_built_and_failures_are_named(cli: Callable[..., Any], monkeypatch: Any, tmp_path: Path) -> None:
    for module in ("reports.cli.index", "reports.pages.index"):
        monkeypatch.setattr(f"{module}.ENTRIES", (GOOD, BAD, WRONG))
    ran = cli("report", "index", "--out", tmp_path, "--json")
    assert (ran.code, ran.err) == (1, "")
    assert ran.result["pages"] == [str(tmp_path / "explained.html")]
    assert "results must be a folder" in ran.result["failed"]["validation"]
    assert "--hardware" in ran.result["failed"]["serving"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["explained.html", "index.html"]
    html = (tmp_path / "index.html").read_text()
    assert re.findall(r'href="([^":]+)"', html) == ["explained.html"]
    assert "2 of 3 pages could not be built." in html
    assert "got &lt;nowhere&gt;" in html


def test_an_index_without_failures_says_nothing_of_them() -> None:
    html = page({"explained": ""})
    assert "could not be built" not in html.lower().partition("<body>")[2]
    assert html.count("data:image/png;base64,") == 2


def test_a_folder_that_cannot_be_written_is_refused(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran = cli("report", "index", "--out", tmp_path / "file")
    assert (ran.code, ran.out) == (2, "")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.browser
def test_pictures_are_seen_and_links_lead_to_pages(browser: Any, tmp_path: Path) -> None:
    write_page(tmp_path / "explained.html", "<!doctype html><title>there</title>")
    path = write_page(tmp_path / "index.html", page({"explained": "", "validation": "no <results>"}))
    seen = Visit(browser, path, theme="dark", width=400)
    assert seen.tab.evaluate("[...document.images].every((each) => each.complete && each.naturalWidth > 100)")
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert (seen.complaints, seen.foreign) == ([], [])
    seen.tab.locator("article").first.click()
    assert seen.tab.title() == "there"
    seen.context.close()
