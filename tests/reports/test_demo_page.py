"""The demo's page: what it says, what it leaves out, and that it opens from disk without a network."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from reports import template
from reports.build import write_page
from reports.pages import PAGES
from reports.pages.demo import page
from specsim.errors import InputError

pytest.importorskip("vl_convert")

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--"
LISTS = {
    "acceptance": "Acceptance by depth",
    "passes": "Time of one pass by tokens scored",
    "round_parts": "Where the time of a round goes",
    "speedup_by_gamma": "Speedup by drafted tokens per round",
    "placement": "Llama-3.1-8B on H100 SXM",
    "crossover": "Crossover batch sizes",
    "pit": "PIT histogram, order: token id",
    "predictions": "Predicted, then measured",
    "errors": "Error of the held-out predictions",
    "lossless": "Losslessness tests",
    "texts": "What was written",
    "numerics": "One token at a time against several at once",
}


class Loads(HTMLParser):
    """What a page would fetch: the addresses in its elements and style sheets, unless they are inline data."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tag = tag
        for name, value in attrs:
            if name in {"src", "srcset", "data", "poster", "action"} or (name == "href" and tag != "a"):
                self.addresses += [value] if value and not value.startswith("data:") else []

    def handle_endtag(self, tag: str) -> None:
        self.tag = ""

    def handle_data(self, data: str) -> None:
        if self.tag == "style":
            self.addresses += re.findall(r"@import|url\((?!data:)[^)]*", data)


def loads(html: str) -> list[str]:
    parser = Loads()
    parser.feed(html)
    return parser.addresses


def charts_in(html: str) -> dict[str, Any]:
    text = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html)
    assert text
    parsed: dict[str, Any] = json.loads(text[1])
    return parsed


def body(html: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", html.partition("<body>")[2], flags=re.DOTALL)


def test_page_is_listed() -> None:
    assert PAGES["demo"] is page


def test_page_opens_with_the_answer_and_the_headline(outcome: dict[str, Any]) -> None:
    words = " ".join(body(page(outcome)).split())
    place = [words.index(text) for text in ("Yes: on this machine", "best drafter", "Predicted, then measured")]
    assert place == sorted(place)
    assert place[0] < 100


def test_notice_is_the_first_line(outcome: dict[str, Any]) -> None:
    outcome["result"]["notice"] = "A small random model stands in."
    assert body(page(outcome)).strip().startswith("A small random model stands in.")


def test_every_section_and_picture_is_there(outcome: dict[str, Any]) -> None:
    html = page(outcome)
    words = body(html)
    assert [heading for heading in LISTS.values() if heading not in words] == []
    assert len(charts_in(html)) == html.count('<div class="chart"') == html.count("<figcaption>") == 13
    for text in ("Assumptions", "Acceptance measured here", "x86_64, 2 cores", "max tokens", "specsim 0.1.0"):
        assert text in words


def test_every_picture_has_alternative_text_and_no_fixed_width(outcome: dict[str, Any]) -> None:
    for spec in charts_in(page(outcome)).values():
        assert len(spec["description"]) > 60
        assert spec["width"] == "container"


@pytest.mark.parametrize("key", sorted(LISTS))
def test_list_without_rows_leaves_its_part_out(outcome: dict[str, Any], key: str) -> None:
    outcome["result"] |= {key: []} | ({"errors": []} if key == "predictions" else {})
    words = body(page(outcome))
    assert LISTS[key] not in words
    assert all(heading in words for other, heading in LISTS.items() if other not in {key, "errors"})


@pytest.mark.parametrize(
    "lists", [{}, dict.fromkeys(LISTS), {key: [] for key in LISTS}], ids=["absent", "null", "empty"]
)
def test_page_of_the_answer_alone_needs_no_bundle(lists: dict[str, Any]) -> None:
    html = page({"schema": 1, "result": {"answer": "No.", **lists}})
    assert "<h1>No.</h1>" in html
    assert "<script" not in html
    assert "<section" not in html


def test_rows_without_a_number_are_not_drawn(outcome: dict[str, Any]) -> None:
    result = outcome["result"]
    result["predictions"][0]["speedup_measured"] = None
    result["passes"][3]["seconds"] = float("nan")
    whole, part = charts_in(page(outcome)), result["predictions"][1:]
    assert len(whole) == 13
    assert json.dumps(whole).count('"seconds"') > 0
    result["predictions"] = [{**row, "tau_predicted": None} for row in part]
    assert "Tokens per round, τ" not in page(outcome)


def test_verdicts_and_planted_faults_are_told_apart(outcome: dict[str, Any]) -> None:
    first = outcome["result"]["lossless"][0]
    assert "1 of 1" in page(outcome)
    first |= {"verdict": "inconclusive", "controls": [{"fault": "residual is p", "caught": False}]}
    html = page(outcome)
    assert "0 of 1" in html
    assert "?\N{NO-BREAK SPACE}inconclusive" in html


def test_crossover_says_when_no_batch_and_when_every_batch_gains(outcome: dict[str, Any]) -> None:
    row = outcome["result"]["crossover"][0]
    outcome["result"]["crossover"] = [{**row, "crossover_batch": batch} for batch in (None, 0, 12345)]
    words = body(page(outcome))
    assert "every batch tried" in words
    assert "none" in words
    assert "12\u2009345" in words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "outcome schema must be 1, got 2"),
        ({"result": None}, "outcome must have a result with an answer"),
        ({"result": {"answer": ""}}, "outcome must have a result with an answer"),
        ({"result": {"answer": "a", "passes": {"dtype": "float32"}}}, "result.passes must be a list of objects"),
        ({"result": {"answer": "a", "passes": [{"dtype": "float32"}]}}, "result.passes has no 'tokens' in any row"),
    ],
)
def test_bad_outcome_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        page({"schema": 1, **change})


def test_nothing_is_loaded_and_the_bundle_is_there_once(outcome: dict[str, Any]) -> None:
    html = page(outcome)
    assert loads(html) == []
    assert html.count("window.vegaEmbed=") == 1
    assert html.count("<script") == 4
    assert "default-src 'none'" in html
    assert len(html.encode()) < 4_000_000


@pytest.mark.parametrize(
    "planted",
    [
        '<script src="https://cdn.example/vega.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example/a.css">',
        "<style>@import 'https://fonts.example/a.css';</style>",
        "<style>p { background: url(https://example/a.png) }</style>",
        '<img src="//example/a.png">',
    ],
)
def test_the_loads_test_sees_a_planted_load(outcome: dict[str, Any], planted: str) -> None:
    assert loads(page(outcome).replace("</main>", f"{planted}</main>"))


def hostile(outcome: dict[str, Any]) -> dict[str, Any]:
    spoiled = copy.deepcopy(outcome)
    result = spoiled["result"]
    result["answer"] += HOSTILE
    result["notice"] = HOSTILE
    result["headline"][0]["value"] = HOSTILE
    result["texts"][0] |= {"text": HOSTILE, "prompt": HOSTILE}
    result["device"]["processor"] = HOSTILE
    for key in ("predictions", "acceptance", "round_parts", "speedup_by_gamma", "placement", "crossover"):
        for row in result[key]:
            row["proposer"] += HOSTILE
    return spoiled


def test_markup_in_names_and_texts_stays_text(outcome: dict[str, Any]) -> None:
    html = page(hostile(outcome))
    assert html.count("<script") == 4
    assert "<img" not in html.replace(template.vega_bundle(), "")
    assert "&lt;/script&gt;" in html
    assert HOSTILE in json.dumps(charts_in(html)).replace("\\/", "/")


def test_script_json_cannot_end_a_script_and_says_the_same() -> None:
    value = {"<!--</script>": ["\u2028", "&amp;", 1.5]}
    assert not re.search(r"[<>&\u2028]", template.script_json(value))
    assert json.loads(template.script_json(value)) == value


def test_page_without_vl_convert_says_what_to_install(outcome: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    template.vega_bundle.cache_clear()
    with pytest.raises(InputError, match=r"pip install 'specsim\[report\]'"):
        page(outcome)


def test_write_page_writes_whole_or_not_at_all(tmp_path: Path) -> None:
    assert write_page(tmp_path / "out" / "report.html", "<p>τ").read_text(encoding="utf-8") == "<p>τ"
    with pytest.raises(InputError, match="cannot write"):
        write_page(tmp_path / "out" / "report.html" / "report.html", "<p>")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


def test_reports_import_no_torch_and_no_validation() -> None:
    code = "import sys, reports.pages; sys.exit(len({'torch', 'transformers', 'validation'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Visit:
    """A page opened from disk, with everything it asked for and complained about."""

    def __init__(self, browser: Any, path: Path, *, theme: str, width: int) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, offline=True)
        self.tab = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri())
        self.drawn(theme)

    def drawn(self, theme: str) -> None:
        done = f"[...document.querySelectorAll('.chart > .{theme}')].every((place) => place.querySelector('svg.marks'))"
        self.tab.wait_for_function(done, timeout=30_000)

    def pictures(self, theme: str) -> list[dict[str, Any]]:
        """Size, number of marks, overhang, label and visibility of every picture of a theme."""
        found: list[dict[str, Any]] = self.tab.evaluate(
            """(theme) => [...document.querySelectorAll(`.chart > .${theme}`)].map((place) => {
                const svg = place.querySelector("svg.marks"), box = svg.getBoundingClientRect();
                return {
                    width: box.width, height: box.height, over: box.right - place.getBoundingClientRect().right,
                    marks: svg.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect").length,
                    label: place.querySelector("[role=graphics-document]")?.ariaLabel || "",
                    visibility: getComputedStyle(svg).visibility,
                };
            })""",
            theme,
        )
        return found


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def go(outcome: dict[str, Any], *, theme: str = "light", width: int = 1200) -> Visit:
        path = write_page(tmp_path / "report.html", page(outcome))
        visits.append(Visit(browser, path, theme=theme, width=width))
        return visits[-1]

    yield go
    for each in visits:
        each.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_every_picture_is_drawn_offline(
    visit: Callable[..., Visit], outcome: dict[str, Any], theme: str, width: int
) -> None:
    seen = visit(outcome, theme=theme, width=width)
    pictures = seen.pictures(theme)
    assert len(pictures) == 13
    for picture in pictures:
        assert picture["width"] > 200
        assert picture["height"] > 200
        assert picture["marks"] >= 10
        assert picture["over"] <= 1
        assert picture["visibility"] == "visible"
        assert len(picture["label"]) > 60
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.browser
def test_pictures_follow_the_theme_and_paper_is_light(visit: Callable[..., Visit], outcome: dict[str, Any]) -> None:
    seen = visit(outcome, theme="light")
    seen.tab.emulate_media(color_scheme="dark")
    seen.drawn("dark")
    visible = {theme: {picture["visibility"] for picture in seen.pictures(theme)} for theme in ("light", "dark")}
    assert visible == {"light": {"hidden"}, "dark": {"visible"}}
    seen.tab.emulate_media(media="print", color_scheme="dark")
    visible = {theme: {picture["visibility"] for picture in seen.pictures(theme)} for theme in ("light", "dark")}
    assert visible == {"light": {"visible"}, "dark": {"hidden"}}
    seen.tab.pdf(format="A4")
    assert seen.tab.evaluate("[...document.querySelectorAll('.card > details')].every((each) => each.open)")
    assert seen.complaints == []


@pytest.mark.browser
def test_tooltip_shows_the_numbers_of_a_point(visit: Callable[..., Visit], outcome: dict[str, Any]) -> None:
    seen = visit(outcome)
    seen.tab.locator("#predictions-1 > .light .mark-symbol.role-mark path").last.hover()
    tooltip = seen.tab.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    assert "drafter" in tooltip.inner_text()
    assert "measured" in tooltip.inner_text()


@pytest.mark.browser
def test_markup_in_names_runs_nothing(visit: Callable[..., Visit], outcome: dict[str, Any]) -> None:
    seen = visit(hostile(outcome))
    seen.tab.locator("#predictions-1 > .light .mark-symbol.role-mark path").last.hover()
    seen.tab.locator("#vg-tooltip-element").wait_for(state="visible")
    assert seen.tab.evaluate("window.hacked") is None
    assert seen.tab.locator("#vg-tooltip-element img").count() == 0
    assert seen.complaints == []


@pytest.mark.browser
def test_the_browser_test_sees_a_planted_fault(browser: Any, tmp_path: Path, outcome: dict[str, Any]) -> None:
    html = page(outcome).replace("</main>", '<img src="https://example.invalid/a.png"></main>')
    seen = Visit(browser, write_page(tmp_path / "report.html", html), theme="light", width=1200)
    assert seen.complaints
    seen.context.close()
