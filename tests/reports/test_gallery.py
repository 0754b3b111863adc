"""The gallery: every chart has a script, every script draws, and the page shows both."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reports.gallery
from reports.build import write_page
from reports.gallery.show import NAMES, script
from reports.pages.gallery import render_sections, sections
from specsim.charts import CHARTS
from specsim.charts.drawing import png
from specsim.charts.explain import EXPLANATIONS
from tests.reports.browsing import Visit
from tests.reports.pictures import is_blank

pytest.importorskip("vl_convert")

FOLDER = Path(reports.gallery.__file__).parent
SHARED = {"__init__", "runs", "show"}


def test_every_chart_has_a_script_and_every_script_a_chart() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - SHARED == set(NAMES) == {*CHARTS, *EXPLANATIONS}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_script_is_short_and_draws_its_chart(name: str) -> None:
    one = script(name)
    assert one.line.endswith(".")
    assert "\n" not in one.line
    assert f"{name}(" in one.text
    assert len(one.text.splitlines()) <= 50
    chart = one.draw()
    assert not is_blank(png(chart.to_dict(), pixels=0.4))


def test_a_blank_picture_is_seen() -> None:
    nothing: dict[str, Any] = {"data": {"values": [{}]}, "mark": {"type": "point", "opacity": 0}, "width": 300}
    assert is_blank(png({**nothing, "config": {"view": {"stroke": None}, "axis": {"disable": True}}}))


def test_a_script_writes_a_page_and_a_picture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["token_tree.py", str(tmp_path)])
    runpy.run_path(str(FOLDER / "token_tree.py"), run_name="__main__")
    paths = [tmp_path / "token_tree.html", tmp_path / "token_tree.png"]
    assert capsys.readouterr().out.split() == list(map(str, paths))
    assert "default-src 'none'" in paths[0].read_text()
    assert not is_blank(paths[1].read_bytes())


def test_the_page_shows_charts_with_their_scripts(cli: Callable[..., Any], monkeypatch: Any, tmp_path: Path) -> None:
    parts = sections(["gain_by_batch"], ["token_tree"])
    html = render_sections(parts)
    assert "gain_by_batch: Up to which batch drafters gain." in html
    assert "def draw() -&gt; alt.LayerChart:" in html
    monkeypatch.setattr("reports.cli.gallery.sections", lambda: parts)
    ran = cli("report", "gallery", "--out", tmp_path, "--png")
    assert (ran.code, ran.err) == (0, "")
    assert "2 charts" in ran.out
    assert (tmp_path / "gallery.html").read_text() == html
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["explanations-1.png", "pictures-1.png"]


@pytest.mark.browser
def test_pictures_of_the_page_are_drawn_offline(browser: Any, tmp_path: Path) -> None:
    html = render_sections(sections(["evidence_by_tokens", "observed_by_rank"], ["race"]))
    seen = Visit(browser, write_page(tmp_path / "gallery.html", html), theme="dark", width=400)
    assert len(seen.marks()) == 3
    assert min(seen.marks().values()) >= 5
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert (seen.complaints, seen.foreign) == ([], [])
    seen.context.close()
