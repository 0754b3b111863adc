"""The page of validation: what a folder of results says, published results, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.build import write_page
from reports.pages.validation import outcome as outcomes
from reports.pages.validation import page
from reports.pages.validation.outcome import validation_outcome
from reports.pages.validation.published import COST, THEOREM, published_rows
from reports.pages.validation.results import COMMITTED, read_results
from specsim.errors import InputError
from tests.reports.browsing import Visit

pytest.importorskip("vl_convert")

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def published() -> list[dict[str, Any]]:
    return published_rows()


@pytest.fixture
def stored(published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Published rows, computed once for all tests."""
    monkeypatch.setattr(outcomes, "published_rows", lambda: published)
    return published


def prediction(gamma: int, measured: float, **changed: Any) -> dict[str, Any]:
    about = {"drafter": "ngram", "gamma": gamma, "quantity": "round_seconds", "n": 40}
    return {**about, "predicted": 0.02, "low": 0.019, "high": 0.021, "measured": measured, **changed}


def claim(test: str = "speeds", **changed: Any) -> dict[str, Any]:
    result = {
        "test": test,
        "model": "a model",
        "n": 2,
        "unit": "held-out settings",
        "pvalue": 0.4,
        "verdict": "passed",
        "level": 1e-6,
        "smallest_total_variation": None,
        "controls": [{"fault": "c doubled", "n": 2, "pvalue": 1e-9, "caught": True}],
        "histograms": {"by id": [30, 28, 32, 30]},
        "median_abs_error": 0.02,
        "rows": [prediction(2, 0.0205), prediction(4, 0.0225), {"setting": "not held out"}],
        "detail": "1 of 2 stated intervals held",
    }
    return {"schema": 1, "result": {**result, **changed}}


def engine(*cases: dict[str, Any]) -> dict[str, Any]:
    return {"schema": 1, "engine": "fast", "versions": {"fast": "1.2"}, "cases": list(cases)}


def case(name: str, verdict: str = "conforms", **changed: Any) -> dict[str, Any]:
    about = {"case": name, "rule": "rejection", "temperature": 0.7, "gamma": 4, "tokens": 4000, "smallest_tv": 0.033}
    return {**about, "verdict": verdict, "as_expected": True, "hypothesis": "", **changed}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "a-cpu/speeds.json": claim(),
        "a-gpu/speeds.json": claim(rows=[prediction(2, 0.019)], controls=[]),
        "a-gpu/lossless.json": claim("lossless", verdict="inconclusive", rows=[], histograms={}),
        "engines/fast.json": engine(
            case("one"), case("two", "does not conform", finding="A <fault>."), case("three", finding="A <fault>.")
        ),
    }
    for name, content in files.items():
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return tmp_path / "results"


def words(html: str) -> str:
    plain = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", html.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(plain.split())


def test_the_answer_counts_claims_intervals_and_runs(folder: Path, stored: Any) -> None:
    found = validation_outcome(read_results(folder))["result"]
    assert found["answer"] == (
        "2 of 3 claims on 2 devices stand. 2 of 3 stated intervals held. "
        "2 of 3 runs on 1 engine conform, with 1 fault confirmed by hand."
    )
    shown = {row["label"]: row["value"] for row in found["headline"]}
    assert shown["planted faults caught"] == "2 of 2"
    assert shown["median error of predictions"] == "5.3 %"  # of 2.4, 11.1 and 5.3 %
    assert shown["runs on engines as expected"] == "3 of 3"


def test_residuals_are_of_what_was_predicted(folder: Path) -> None:
    row = read_results(folder).predictions[1]
    assert row["setting"] == "drafter ngram, gamma 4"
    assert (row["series"], row["inside"]) == ("a-cpu", False)
    assert [row[f"residual{end}"] for end in ("", "_low", "_high")] == pytest.approx([0.125, -0.05, 0.05])


def test_the_page_shows_claims_predictions_published_results_and_engines(folder: Path, stored: Any) -> None:
    html = page(validation_outcome(read_results(folder)))
    text = words(html)
    for part in (
        "? inconclusive",
        "Predicted, then measured: speeds",
        "Round time: measured against predicted",
        "Round time: how far off",
        "2 of 3 stated intervals held.",
        "speeds, by id, a-cpu",
        "Published results: what a round costs",
        "theorem 3.8 on its own paper",
        "fast, fast 1.2",
        "two; three A &lt;fault&gt;.",
        "20.0 (19.0 – 21.0) ms",
        "+12.5 %",
    ):
        assert part in text.replace("\N{NO-BREAK SPACE}", " "), part
    specs = json.loads(re.search(r'<script type="application/json" id="charts">(.*?)</script>', html)[1])  # type: ignore[index]
    assert len(specs) == 2 + 2 + 2 + 2  # histograms of two devices, one quantity, two published comparisons


def test_a_folder_without_claims_says_how_to_get_some(tmp_path: Path, stored: Any) -> None:
    (tmp_path / "results").mkdir()
    found = validation_outcome(read_results(tmp_path / "results"))
    assert found["result"]["answer"].endswith("has a result here yet: specsim validate run all --out DIR.")
    assert "Published results" in words(page(found))


def test_the_projects_own_results_make_a_page(stored: Any) -> None:
    found = validation_outcome(read_results(COMMITTED))
    assert found["result"]["engines"]
    assert "Engines under test" in words(page(found))


def test_parts_that_are_absent_are_left_out() -> None:
    html = page({"schema": 1, "result": {"answer": "Nothing yet."}})
    assert "<section" not in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a-cpu/x.json", '{"result": {"te', "Unterminated string"),
        ("a-cpu/x.json", "[]", "got list"),
        ("a-cpu/x.json", "{}", "it lacks result"),
        ("a-cpu/x.json", '{"result": {"test": "x"}}', "it lacks model, n, unit"),
        ("engines/x.json", '{"engine": "x", "versions": {}}', "it lacks cases"),
    ],
)
def test_a_torn_or_foreign_result_is_refused_by_name(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(
        InputError, match=f"x.json must be a result of specsim validate.*{re.escape(message)}|{message}"
    ):
        read_results(folder)


def test_the_command_writes_the_page_its_frames_and_everything(
    cli: Callable[..., Any], folder: Path, stored: Any, tmp_path: Path
) -> None:
    ran = cli("report", "validation", "--results", folder, "--out", tmp_path / "out", "--svg", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads((tmp_path / "out" / "validation.json").read_text())["result"] == ran.result
    frames = {path.stem for path in (tmp_path / "out" / "frames").iterdir()}
    assert frames == {"bins", "cases", "controls", "predictions", "published"}
    assert len(list((tmp_path / "out" / "pictures").glob("*.svg"))) == 8
    missing = cli("report", "validation", "--results", tmp_path / "none", "--out", tmp_path / "other")
    assert (missing.code, missing.out) == (2, "")
    assert "results must be a folder that specsim validate run --out has written" in missing.err


# --- published results ------------------------------------------------------------------------------------------------


def test_the_theorem_is_the_papers_own_expectation(published: list[dict[str, Any]]) -> None:
    """Independent of the formula: what the paper says it expects, printed to one digit and from unrounded inputs."""
    rows = [row for row in published if row["quantity"] == THEOREM]
    assert len(rows) == 12
    assert max(abs(row["predicted"] - row["stated"]) for row in rows) < 0.07
    assert all(row["low"] <= row["predicted"] <= row["high"] for row in published)


def test_the_cost_of_a_round_is_tokens_over_speedup(published: list[dict[str, Any]]) -> None:
    rows = [row for row in published if row["quantity"] == COST]
    first = next(row for row in rows if row["setting"] == "mean of seven tasks, temperature 0, batch 1, 16 nodes")
    assert first["measured"] == pytest.approx(2.96 / 1.76)
    assert (first["measured_low"], first["measured_high"]) == pytest.approx((2.96 / 1.765, 2.96 / 1.755))
    assert first["inside"] == (first["low"] <= first["measured_high"] and first["measured_low"] <= first["high"])
    trees = [row for row in rows if row["series"].startswith("eagle3")]
    assert max(abs(row["measured"] / row["predicted"] - 1) for row in trees) < 0.1  # the model's best case
    assert all(row["predicted"] > 1 for row in rows)  # a round is never cheaper than a pass


def test_every_published_row_says_where_it_is_from(published: list[dict[str, Any]]) -> None:
    assert all(re.match(r"arXiv \d{4}\.\d{5}, Table", row["source"]) for row in published)


# --- in the browser ---------------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_every_picture_is_drawn_offline_and_names_run_nothing(
    browser: Any, tmp_path: Path, folder: Path, stored: Any
) -> None:
    whole = json.dumps(validation_outcome(read_results(folder)))
    for name in ("a-gpu", "fast", "drafter ngram, gamma 4"):
        whole = whole.replace(f'"{name}"', json.dumps(HOSTILE))
    path = write_page(tmp_path / "validation.html", page(json.loads(whole)))
    seen = Visit(browser, path, theme="dark", width=400)
    assert len(seen.marks()) == 8
    assert min(seen.marks().values()) >= 4
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= 400
    seen.tab.locator("#theorem-1 > .dark .mark-symbol.role-mark path").first.hover()
    seen.tab.locator("#vg-tooltip-element").wait_for(state="visible")
    assert "T5-XXL" in seen.tab.locator("#vg-tooltip-element").inner_text()
    assert seen.tab.evaluate("window.hacked") is None
    assert (seen.complaints, seen.foreign) == ([], [])
    seen.context.close()


def test_very_many_rows_make_a_page_that_a_browser_can_open(folder: Path, stored: Any) -> None:
    """Pictures average neighbours, the table keeps the farthest off and says so."""
    rows = [prediction(1 + place % 50, 0.02 + place / 1e7) for place in range(20_000)]
    (folder / "a-cpu" / "speeds.json").write_text(json.dumps(claim(rows=rows)))
    html = page(validation_outcome(read_results(folder)))
    assert len(html) < 4_000_000
    assert re.search(r"The 500 farthest off of\s+20\D001", html)
