"""The page of a serving study: what it says, what it leaves out, what it refuses, and that it opens from disk."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.build import write_page
from reports.cli import REPORTS
from reports.pages import PAGES
from reports.pages.serving import page
from specsim.cli.serving_options import StudyOptions
from specsim.cli.serving_study import run_study, study_outcome
from specsim.errors import InputError
from tests.reports.browsing import Visit

pytest.importorskip("vl_convert")

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--"
PICTURES = [
    "Requests answered as promised",
    "What the server gives, and what each user gets",
    "Time to the first token by load",
    "Time per further token by load",
    "Time of a whole request by load",
    "Drafted tokens per round over time",
    "Batch over time",
    "Cache memory in use over time",
    "Queue over time",
]
GIVEN: dict[str, Any] = {
    "model": "Llama-3.1-8B",
    "hardware": "H100-SXM",
    "tensor_parallel": None,
    "ideal": True,
    "kernels": None,
    "method": "eagle3",
    "alpha": "0.7",
    "decay": None,
    "beta": None,
    "markov": None,
    "per_request": False,
    "gamma": 4,
    "policies": ("plain", "fixed", "goodput"),
    "rates": "10,60,400",
    "prompt": 64.0,
    "output": 24.0,
    "spread": 0.5,
    "seconds": 1.5,
    "max_batch": 16,
    "chunk": 512,
    "first_token": 0.2,
    "per_token": 0.05,
    "workers": 1,
    "seed": 0,
}


@pytest.fixture(scope="module")
def studied() -> dict[str, Any]:
    options = StudyOptions(**GIVEN)
    return study_outcome("report serving", options, run_study(options), with_timelines=True)


@pytest.fixture
def outcome(studied: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(studied)


def charts_in(html: str) -> dict[str, Any]:
    text = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html)
    assert text
    parsed: dict[str, Any] = json.loads(text[1])
    return parsed


def words(html: str) -> str:
    plain = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", html.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(plain.split())


def test_page_and_command_are_listed() -> None:
    assert PAGES["serving"] is page
    assert REPORTS["serving"] == "reports.cli.serving:serving"


def test_page_opens_with_the_answer_and_has_every_picture(outcome: dict[str, Any]) -> None:
    html = page(outcome)
    text = words(html)
    assert text.index(outcome["result"]["load"]) < text.index(outcome["result"]["answer"]) < text.index(PICTURES[0])
    assert [title for title in PICTURES if title not in text] == []
    specs = charts_in(html)
    assert len(specs) == len(PICTURES)
    assert all(len(spec["description"]) > 60 and spec["width"] == "container" for spec in specs.values())
    assert len(html.encode()) < 4_000_000
    assert "Acceptance constant 0.7: given" in text


def test_headline_says_up_to_which_load_each_policy_keeps_the_promise(outcome: dict[str, Any]) -> None:
    outcome["result"]["most_requests_per_second"] = {"plain": 60.0, "gamma 4": None}
    text = words(page(outcome))
    assert "plain keeps up to 60 requests/s" in text
    assert "gamma 4 keeps up to none of these loads" in text
    assert "The server at 60 requests/s" in text


def test_table_holds_every_load_and_policy(outcome: dict[str, Any]) -> None:
    table = page(outcome).partition("Every load and policy")[2].partition("</table>")[0]
    assert table.count("<tr>") == 1 + 9
    for row in outcome["result"]["frames"]["loads"]:
        assert f"{row['tokens_per_second']:,.0f}".replace(",", "\u2009") in table


@pytest.mark.parametrize(
    ("frame", "gone"), [("loads", PICTURES[:2]), ("latencies", PICTURES[2:5]), ("timelines", PICTURES[5:])]
)
def test_frame_without_rows_leaves_its_pictures_out(outcome: dict[str, Any], frame: str, gone: list[str]) -> None:
    outcome["result"]["frames"][frame] = []
    text = words(page(outcome))
    assert [title for title in PICTURES if title not in text] == gone


def test_page_of_the_answer_alone_needs_no_bundle() -> None:
    html = page({"schema": 1, "result": {"answer": "None."}})
    assert "<h1>None.</h1>" in html
    assert "<script" not in html
    assert "<section" not in html


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        ("loads", "kept"),
        ("loads", "user_tokens_per_second"),
        ("loads", "cache_share"),
        ("latencies", "quantile"),
        ("timelines", "seconds"),
        ("timelines", "requests_per_second"),
    ],
)
def test_missing_column_is_named(outcome: dict[str, Any], frame: str, column: str) -> None:
    for row in outcome["result"]["frames"][frame]:
        del row[column]
    with pytest.raises(InputError, match=f"result.{frame} has no '{column}' in any row"):
        page(outcome)


def test_the_command_writes_the_page_its_frames_and_its_pictures(cli: Callable[..., Any], tmp_path: Path) -> None:
    small = ("--prompt", 64, "--output", 16, "--seconds", 1, "--rate", "20", "--max-batch", 8, "--policy", "plain")
    machine = ("--model", "Llama-3.1-8B", "--hardware", "H100-SXM", "--alpha", 0.7, "--ideal")
    out = tmp_path / "out"
    ran = cli("report", "serving", *machine, *small, "--out", out, "--svg", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert "<h1>A first token within" in (out / "serving.html").read_text()
    assert json.loads((out / "serving.json").read_text())["result"] == ran.result
    assert sorted(path.name for path in (out / "frames").iterdir()) == ["latencies.csv", "loads.csv", "timelines.csv"]
    assert len(list((out / "pictures").glob("*.svg"))) == len(PICTURES)


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran = cli("report", "serving", "--model", "Llama-3.1-8B", "--hardware", "H100-SXM", "--out", tmp_path / "file")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: cannot write")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 1200), ("dark", 400)])
def test_every_picture_is_drawn_offline(
    browser: Any,
    tmp_path: Path,
    outcome: dict[str, Any],
    theme: str,
    width: int,
) -> None:
    seen = Visit(browser, write_page(tmp_path / "serving.html", page(outcome)), theme=theme, width=width)
    marks = seen.marks()
    assert len(marks) == len(PICTURES)
    assert min(marks.values()) >= 6
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert (seen.complaints, seen.foreign) == ([], [])
    seen.context.close()


@pytest.mark.browser
def test_markup_in_names_runs_nothing_and_tooltips_show_numbers(
    browser: Any,
    tmp_path: Path,
    outcome: dict[str, Any],
) -> None:
    text = json.dumps(outcome).replace('"plain"', json.dumps(HOSTILE))
    seen = Visit(browser, write_page(tmp_path / "serving.html", page(json.loads(text))))
    seen.tab.locator("#load-2 > .light .mark-symbol.role-mark path").first.hover()
    tooltip = seen.tab.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    assert HOSTILE in tooltip.inner_text()
    assert "requests/s" in tooltip.inner_text()
    assert seen.tab.evaluate("window.hacked") is None
    assert tooltip.locator("img").count() == 0
    assert seen.complaints == []
    seen.context.close()
