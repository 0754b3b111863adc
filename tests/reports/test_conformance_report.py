"""The page of conformance runs: one run, several, two samples, and files that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.build import write_page
from reports.cli import REPORTS
from reports.cli.conformance import read_runs
from reports.gallery.runs import conformance_rows
from reports.pages import PAGES
from reports.pages.conformance import page, page_of_runs
from specsim.errors import InputError
from tests.reports.browsing import Visit

pytest.importorskip("vl_convert")

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
PICTURES = [
    "Evidence against the decoder",
    "What this run would have caught",
    "all tokens",
    "Tokens observed against expected",
    "What the tokens lean towards",
]


def run(source: str = "a table decoder", **changed: Any) -> dict[str, Any]:
    return {"schema": 1, "inputs": {"source": source}, "result": {**conformance_rows(), **changed}, "version": "1"}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(name: str, outcome: Any) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(outcome))
        return path

    return written


def test_one_run_opens_with_its_verdict_and_has_every_picture() -> None:
    html = page(run())
    assert f"<h1>{conformance_rows()['answer']}</h1>" in html
    assert [title for title in PICTURES if f"<h3>{title}</h3>" not in html] == []


@pytest.mark.parametrize(
    ("rows", "title"), list(zip(["bets", "power", "pit", "ranks", "scores"], PICTURES, strict=True))
)
def test_rows_that_are_not_there_leave_their_picture_out(rows: str, title: str) -> None:
    html = page(run(**{rows: None}))
    assert f"<h3>{title}</h3>" not in html
    assert sum(f"<h3>{other}</h3>" in html for other in PICTURES) == len(PICTURES) - 1


@pytest.mark.parametrize(("rows", "column"), [("power", "power"), ("ranks", "expected"), ("bets", "log10_margin")])
def test_a_missing_column_is_named(rows: str, column: str) -> None:
    cut = [{name: value for name, value in row.items() if name != column} for row in conformance_rows()[rows]]
    with pytest.raises(InputError, match=f"result.{rows} has no '{column}' in any row"):
        page(run(**{rows: cut}))


def test_scores_without_a_cause_are_drawn_all_the_same() -> None:
    """As runs of before have them."""
    bare = [{name: value for name, value in row.items() if name != "cause"} for row in conformance_rows()["scores"]]
    assert f"<h3>{PICTURES[-1]}</h3>" in page(run(scores=bare))


def test_page_and_command_are_listed() -> None:
    assert PAGES["conformance"] is page
    assert REPORTS["conformance"] == "reports.cli.conformance:conformance"


def test_two_samples_keep_their_tests_by_name() -> None:
    result = {"answer": "conforms: two samples", "tests": {"first tokens": {"pvalue": 0.25, "n": 200}}}
    html = page({"schema": 1, "inputs": {}, "result": result})
    assert "<td>first tokens</td>" in html.replace(' class="number"', "")
    assert "0.250" in html


def test_several_runs_stand_side_by_side_with_verdicts_first(
    cli: Callable[..., Any], write: Any, tmp_path: Path
) -> None:
    bad = run("an <engine>", outcome="does not conform", answer="does not conform", hypothesis="too lenient")
    files = [write("good.json", run()), write("bad.json", bad)]
    ran = cli("report", "conformance", *files, "--out", tmp_path / "out", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.result["answer"] == "1 of 2 runs conform; 1 does not conform."
    assert ran.result["verdicts"] == {"a table decoder": "conforms", "an <engine>": "does not conform"}
    html = (tmp_path / "out" / "conformance.html").read_text()
    assert html.index("too lenient") < html.index("<h2>an &lt;engine&gt;: The bets as they went")
    keys = [part.partition('"')[0] for part in html.split('<section id="')[1:]]
    assert len(keys) == len(set(keys)) > 8


def test_runs_of_one_source_are_told_apart_by_their_files(write: Any) -> None:
    files = [write("a.json", run()), write("b.json", run())]
    assert list(read_runs(files)) == list(map(str, files))


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2}', '{"schema": 1, "result": {"faults": []}}'])
def test_a_file_that_is_no_outcome_is_refused_by_name(cli: Callable[..., Any], tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    ran = cli("report", "conformance", tmp_path / "run.json", "--out", tmp_path / "out")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {tmp_path / 'run.json'} must be the outcome of specsim conform --json")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.browser
def test_every_picture_of_two_runs_is_drawn_offline(browser: Any, tmp_path: Path) -> None:
    html = page_of_runs({HOSTILE: run(HOSTILE), "two": run("two")})
    seen = Visit(browser, write_page(tmp_path / "conformance.html", html), theme="dark", width=400)
    assert len(seen.marks()) >= 2 * len(PICTURES)
    assert min(seen.marks().values()) >= 3
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert seen.tab.evaluate("window.hacked") is None
    assert (seen.complaints, seen.foreign) == ([], [])
    seen.context.close()
