"""The drafter report: its numbers are the library's, and a person can read it wherever it is opened."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports import cells, template
from reports.build import write_page, write_pictures
from reports.cli import REPORTS
from reports.pages import PAGES
from reports.pages.drafters import NEEDS, page, sections
from reports.pages.drafters.frames import FRAMES
from reports.pages.drafters.outcome import drafter_outcome
from reports.pages.drafters.study import MOST_SHOWN, Study, study
from reports.scenario import ReportScenario, read_scenario
from specsim import stats
from specsim.errors import InfeasibleError, InputError
from specsim.roofline import Efficiency, Roofline
from specsim.scenario import Scenario
from specsim.speedup import speedup
from specsim.tau import expected_tokens
from tests.reports.browsing import Visit, browser  # noqa: F401  # a fixture
from tests.reports.pictures import is_blank

pytest.importorskip("vl_convert")

EXAMPLE = Path(__file__).parents[2] / "reports" / "scenarios" / "llama8b_h100.toml"
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--"
COUNTS = {"reached": [500, 390, 310], "accepted": [390, 310, 240], "source": "counted for this test"}
PICTURES_OF_ALL = 14
"""Of a scenario that leaves no frame empty."""


@pytest.fixture(scope="module")
def found() -> Study:
    return study(
        ReportScenario(
            model="Llama-3.1-8B",
            hardware="H100-SXM",
            batch=16,
            context=2048,
            methods=["eagle3", "ngram", "mtp"],
            beside=["Qwen3-30B-A3B"],
            price_per_hour=2.5,
            acceptance={"ngram": 0.45},
            counts={"eagle3": COUNTS},
        )
    )


@pytest.fixture(scope="module")
def made(found: Study) -> dict[str, Any]:
    return drafter_outcome(found)


@pytest.fixture
def outcome(made: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(made)


@pytest.fixture(scope="module")
def html(made: dict[str, Any]) -> str:
    return page(made)


@pytest.fixture(scope="module")
def tidy(made: dict[str, Any]) -> dict[str, pd.DataFrame]:
    return {name: pd.DataFrame(rows) for name, rows in made["result"]["frames"].items()}


def charts_in(html: str) -> dict[str, Any]:
    text = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html)
    assert text
    parsed: dict[str, Any] = json.loads(text[1])
    return parsed


def body(html: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", html.partition("<body>")[2], flags=re.DOTALL)


# ---- the numbers


def test_crossovers_are_the_last_batches_that_gain(found: Study, tidy: dict[str, pd.DataFrame]) -> None:
    for row in tidy["drafters"].itertuples():
        one = next(each for each in found.plan.candidates if each.name == row.method)
        if one.variant is None or not row.crossover_batch > 0:
            continue
        ends = found.place.rates(
            one.method,
            acceptance=one.variant.acceptance,
            gamma=one.gamma,
            batch=np.array([row.crossover_batch, row.crossover_batch + 1], dtype=int),
            context=found.scenario.context,
        ).speedup
        assert ends[0] >= 1 > ends[1]


def test_lines_and_maps_agree_with_the_ranking(found: Study, tidy: dict[str, pd.DataFrame]) -> None:
    best = found.drafters[0]
    here = {name: rows[rows["batch"] == found.scenario.batch] for name, rows in tidy.items() if "batch" in rows}
    lines = here["speedup_by_batch"].set_index("method")["speedup"]
    for one in found.drafters:
        assert lines[one.name] == pytest.approx(one.speedup, rel=1e-12)
    depth = here["speedup_map"]
    top = depth.loc[depth["speedup"].idxmax()]
    assert (top["gamma"], top["speedup"]) == (best.gamma, pytest.approx(best.speedup, rel=1e-12))
    contexts = here["context_map"].set_index("context")["speedup"]
    assert [contexts[found.scenario.context]] == pytest.approx([best.speedup], rel=1e-12)


def test_marks_lie_where_a_scenario_of_their_own_puts_them(found: Study, tidy: dict[str, pd.DataFrame]) -> None:
    crossings = tidy["marks"][tidy["marks"]["mark"] == "crossover"]
    assert len(crossings)
    for row in crossings.itertuples():
        one = next(each for each in found.drafters if each.name == row.method)
        alone = Scenario(
            target=found.place.cost(found.place.target),
            drafter=found.place.drafter(one.method),
            acceptance=one.variant.acceptance,
            gamma=one.gamma,
            batch=row.batch,
            context=found.scenario.context,
        )
        assert row.speedup == pytest.approx(speedup(alone), rel=1e-9)


def test_no_point_of_the_front_is_beaten_and_every_other_is(tidy: dict[str, pd.DataFrame]) -> None:
    rows = tidy["pareto"]
    both = rows[["user_tokens_per_second", "device_tokens_per_second"]].to_numpy()
    for place, speeds in enumerate(both):
        beaten = any((other >= speeds).all() and (other > speeds).any() for other in both)
        assert beaten is not bool(rows["front"].iloc[place])
    assert rows["device_tokens_per_second"].to_numpy() == pytest.approx(
        (rows["user_tokens_per_second"] * rows["batch"]).to_numpy(), rel=1e-12
    )


def test_passes_are_the_rooflines_and_no_pass_beats_the_ideal_one(found: Study, tidy: dict[str, pd.DataFrame]) -> None:
    seconds = tidy["passes"].pivot(index="tokens", columns="law", values="seconds").dropna()
    assert (seconds["calibrated"] > seconds["ideal"]).all()
    ideal = Roofline(model=found.place.target, hardware=found.place.hardware, efficiency=Efficiency.ideal())
    for tokens in (1, 256, 4096):
        assert seconds["ideal"][tokens] == ideal.pass_seconds(tokens=tokens, context=found.scenario.context)
    ridges = tidy["ridges"].set_index("law")["tokens"]
    assert ridges["ideal"] == pytest.approx(295.2, abs=0.05)


def test_parts_of_a_round_make_the_speed_of_a_user(found: Study, tidy: dict[str, pd.DataFrame]) -> None:
    whole = tidy["round_parts"].groupby("proposer")["seconds"].sum()
    assert (tidy["round_parts"]["seconds"] >= 0).all()
    for one in found.plan.candidates:
        assert one.E_tokens / whole[one.name] == pytest.approx(one.user_tokens_per_second, rel=1e-12)


def test_counts_are_shown_with_clopper_pearson_ends(tidy: dict[str, pd.DataFrame]) -> None:
    rows = tidy["counts"]
    low, high = stats.interval.proportion_interval(rows["accepted"], trials=rows["reached"], level=0.95)
    assert rows["low"].tolist() == pytest.approx(low.tolist())
    assert rows["high"].tolist() == pytest.approx(high.tolist())
    assert rows["conditional"].tolist() == pytest.approx((rows["accepted"] / rows["reached"]).tolist())


def test_measured_tokens_are_the_counts_and_the_band_holds_them(found: Study, tidy: dict[str, pd.DataFrame]) -> None:
    counted = found.scenario.counted["eagle3"]
    band = tidy["tokens_band"].set_index("gamma")
    for row in tidy["tokens_measured"].itertuples():
        assert row.E_tokens == pytest.approx(expected_tokens(counted, gamma=row.gamma), rel=1e-6)
        assert row.low < row.E_tokens < row.high
        if row.gamma in band.index:
            assert band.low[row.gamma] <= row.E_tokens <= band.high[row.gamma]
    width = (band["high"] - band["low"]).to_numpy()
    assert (np.diff(width) > 0).all()  # the further from the data, the less is known


def test_laws_without_counts_are_what_is_assumed_of_the_best() -> None:
    alone = study(ReportScenario(model="Llama-3.1-8B", hardware="H100-SXM", methods=["mtp"], efficiency="ideal"))
    alpha = alone.drafters[0].assumed.alpha
    rows = pd.DataFrame(list(FRAMES["tokens"](alone))).set_index("gamma")
    band = pd.DataFrame(list(FRAMES["tokens_band"](alone))).set_index("gamma")
    assert rows["E_tokens"][3] == pytest.approx(1 + alpha + alpha**2 + alpha**3)
    assert (band["low"] < rows["E_tokens"]).all()
    assert (rows["E_tokens"] < band["high"]).all()
    assert list(FRAMES["tokens_measured"](alone)) == []


def test_memory_is_what_a_drafter_adds(tidy: dict[str, pd.DataFrame]) -> None:
    extra = tidy["drafters"].set_index("method")["extra_memory_bytes"]
    assert extra["plain"] == 0
    assert (extra.drop("plain") > 0).all()


def test_published_temperatures_come_in_pairs_with_their_source(tidy: dict[str, pd.DataFrame]) -> None:
    for _, pair in tidy["temperature"].groupby(["drafter", "target"]):
        assert pair["temperature"].tolist() == [0.0, 1.0]
        assert pair["source"].nunique() == 1
    assert tidy["temperature"]["source"].str.startswith("arXiv").all()


def test_what_was_counted_or_given_is_shown_even_if_others_are_faster() -> None:
    scenario = ReportScenario(model="Llama-3.1-8B", hardware="H100-SXM", acceptance={"lookahead": 0.3})
    shown = [one.name for one in study(scenario).shown]
    assert len(shown) == MOST_SHOWN
    assert shown[-1] == "lookahead"


# ---- the page


def test_page_is_listed() -> None:
    assert PAGES["drafters"] is page


def test_page_opens_with_the_answer_the_numbers_and_the_table(html: str) -> None:
    words = " ".join(body(html).split())
    texts = ("Llama-3.1-8B on H100-SXM", "Speculate with", "price of a million tokens", "Every drafter, the best first")
    places = [words.index(text) for text in texts]
    assert places == sorted(places)
    for text in ("counted for this test", "plain decoding", "Up to which batch", "Passes: fitted", "price per hour"):
        assert text in words


def test_every_picture_has_alternative_text_and_the_bundle_is_there_once(html: str) -> None:
    assert len(charts_in(html)) == PICTURES_OF_ALL
    for spec in charts_in(html).values():
        assert len(spec["description"]) > 60
        assert spec["width"] == "container"
    assert html.count("window.vegaEmbed=") == 1
    assert "default-src 'none'" in html
    assert len(html.encode()) < 4_000_000


def test_the_outcome_is_plain_json_with_every_frame(made: dict[str, Any]) -> None:
    assert set(made["result"]["frames"]) == set(FRAMES)
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_empty_frames_leave_their_pictures_out_and_the_page_says_which(outcome: dict[str, Any]) -> None:
    assert [part.key for part in sections(outcome)][-1] == "assumptions"
    outcome["result"]["frames"] |= {name: [] for name in NEEDS}
    parts = sections(outcome)
    assert sum(len(part.figures) for part in parts) == PICTURES_OF_ALL - len(NEEDS)
    assert (parts[-1].title, list(parts[-1].points)) == ("Not shown", list(NEEDS.values()))


def test_one_row_is_a_picture(outcome: dict[str, Any]) -> None:
    whole = outcome["result"]["frames"]
    outcome["result"]["frames"] = {name: rows[:1] for name, rows in whole.items()}
    assert sum(len(part.figures) for part in sections(outcome)) == PICTURES_OF_ALL


def test_rows_that_are_not_finite_are_left_out(outcome: dict[str, Any]) -> None:
    rows = outcome["result"]["frames"]["pareto"]
    rows[0]["user_tokens_per_second"], rows[1]["device_tokens_per_second"] = float("nan"), float("inf")
    drawn = {one.title: one for part in sections(outcome) for one in part.figures}
    text = json.dumps(drawn["What a GPU gives, and what each user gets"].spec)
    assert "NaN" not in text
    assert "Infinity" not in text


@pytest.mark.parametrize("column", ["speedup", "method"])
def test_a_missing_column_is_named(outcome: dict[str, Any], column: str) -> None:
    for row in outcome["result"]["frames"]["speedup_by_batch"]:
        del row[column]
    with pytest.raises(InputError, match=f"speedup_by_batch has no '{column}' in any row"):
        page(outcome)


def test_a_hundred_thousand_rows_are_averaged_before_they_are_embedded(outcome: dict[str, Any]) -> None:
    long = pd.DataFrame({"batch": np.arange(1, 50_001), "speedup": np.linspace(3, 0.5, 50_000), "fits": True})
    rows = pd.concat([long.assign(method="eagle3"), long.assign(method="ngram")])
    outcome["result"]["frames"] |= {"speedup_by_batch": rows.to_dict(orient="records"), "marks": []}
    drawn = {one.title: one for part in sections(outcome) for one in part.figures}["Speedup by batch size"]
    assert len(json.dumps(drawn.spec)) < 500_000
    short = cells.thinned(rows, by=["method"], along="batch", most=100)
    assert short.groupby("method")["speedup"].mean().tolist() == pytest.approx([long["speedup"].mean()] * 2)
    assert len(short) == 100


def test_markup_in_names_stays_text(outcome: dict[str, Any]) -> None:
    html = page(hostile(outcome))
    assert "<img" not in html.replace(template.vega_bundle(), "")
    assert "&lt;/script&gt;" in html
    assert HOSTILE in json.dumps(charts_in(html)).replace("\\/", "/")


def hostile(outcome: dict[str, Any]) -> dict[str, Any]:
    """The same with markup in every name of a drafter."""
    spoiled = copy.deepcopy(outcome)
    spoiled["result"]["answer"] += HOSTILE
    for rows in spoiled["result"]["frames"].values():
        for row in rows:
            for name in ("method", "proposer", "drafter"):
                if name in row:
                    row[name] += HOSTILE
    return spoiled


# ---- the command line


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_every_report_has_help(cli: Callable[..., Any], name: str) -> None:
    ran = cli("report", name, "--help")
    assert ran.code == 0
    assert "--out" in ran.out


def test_the_example_is_read_as_it_is_documented() -> None:
    scenario = read_scenario(EXAMPLE)
    assert (scenario.model, scenario.hardware, scenario.batch) == ("Llama-3.1-8B", "H100-SXM", 16)
    counted = scenario.counted["eagle3"]
    assert expected_tokens(counted, gamma=7) == pytest.approx(3.53, abs=0.005)  # as the log states it
    stated = re.findall(r"^#? ?(\w+) =", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {"methods", "beside", "task", "objective", "efficiency", "user_tokens_per_second"} <= set(stated)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = 'Llama-3.1-8B'", "mine.toml: hardware must be given"),
        ("modle = 'Llama-3.1-8B'", "mine.toml: key 'modle' is unknown; did you mean model?"),
        ("= 3", "mine.toml is no TOML"),
        ("model = 3", "mine.toml: model must be text, got 3"),
        ("methods = 'eagle3'", "mine.toml: methods must be a list, got 'eagle3'"),
        ("methods = ['eagel3']", "mine.toml: drafter in methods 'eagel3' is unknown; did you mean eagle3?"),
        ("batch = 0", "batch must be at least 1, got 0"),
        ("batch = 2.5", "batch must be a whole number, got 2.5"),
        ("efficiency = 'best'", "mine.toml: efficiency 'best' is unknown; known: assumed, default, ideal"),
        ("price_per_hour = -1", "mine.toml: price_per_hour must be above 0, got -1"),
        ("acceptance.ngram = 1.07", "acceptance of ngram must be in [0, 1], got 1.07"),
        ("acceptance.ngram = [0.5, 1.07]", "acceptance of ngram[1] must be in [0, 1], got 1.07"),
        ("counts.ngram = {reached = [10]}", "counts.ngram must have accepted"),
        ("counts.ngram = {reached = [10], accepted = [12]}", "counts.ngram: accepted[0] must be in 0..10, got 12"),
        ("counts.ngram = {rounds = 3}", "key of counts.ngram 'rounds' is unknown"),
        ("[acceptance]\nngram = 0.4\n[counts.ngram]\nreached = [1]\naccepted = [1]", "ngram must have acceptance or"),
    ],
)
def test_a_scenario_that_says_something_wrong_is_refused(
    cli: Callable[..., Any], tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "mine.toml"
    whole = text if "model" in text else f"model = 'Llama-3.1-8B'\nhardware = 'H100-SXM'\n{text}"
    file.write_text(whole, encoding="utf-8")
    ran = cli("report", "drafters", "--scenario", file, "--out", tmp_path / "out")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_what_cannot_be_read_or_written_is_one_line_and_nothing_is_left(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for words in (
        ("--scenario", tmp_path / "none.toml", "--out", tmp_path / "out"),
        ("--scenario", EXAMPLE, "--out", tmp_path / "file"),
        ("--scenario", EXAMPLE, "--out", tmp_path / "out", "--theme", "sepia"),
    ):
        ran = cli("report", "drafters", *words)
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 1
    assert not list((tmp_path / "out").glob("*"))


def test_what_does_not_fit_is_a_negative_answer() -> None:
    with pytest.raises(InfeasibleError, match="needs 146 GB on each of 1 L40S"):
        study(ReportScenario(model="Llama-3.1-70B", hardware="L40S", batch=1))


def test_the_command_writes_the_page_its_frames_and_its_pictures(cli: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "model = 'Llama-3.1-8B'\nhardware = 'H100-SXM'\nmethods = ['ngram']\nbatch = 8\nefficiency = 'ideal'",
        encoding="utf-8",
    )
    ran = cli("report", "drafters", "--scenario", file, "--out", tmp_path / "out", "--svg", "--json")
    assert (ran.code, ran.err) == (0, "")
    written = json.loads((tmp_path / "out" / "drafters.json").read_text(encoding="utf-8"))
    assert written == ran.json
    frame = pd.read_csv(tmp_path / "out" / "frames" / "drafters.csv")
    assert frame["speedup"].tolist() == pytest.approx([row["speedup"] for row in ran.result["frames"]["drafters"]])
    html = (tmp_path / "out" / "drafters.html").read_text(encoding="utf-8")
    assert ran.result["answer"] in html
    still = [name for name in charts_in(html) if not name.startswith("calculator")]
    assert sorted(path.stem for path in (tmp_path / "out" / "pictures").iterdir()) == sorted(still)
    assert "data-control" in html


def test_pictures_are_not_blank(outcome: dict[str, Any], tmp_path: Path) -> None:
    for path in write_pictures(tmp_path, sections(outcome)[:1], suffixes=[".png"], theme="dark"):
        assert not is_blank(path.read_bytes())


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 400), ("dark", 1200)])
def test_every_picture_is_drawn_offline(
    browser: Any,  # noqa: F811
    tmp_path: Path,
    outcome: dict[str, Any],
    theme: str,
    width: int,
) -> None:
    seen = Visit(browser, write_page(tmp_path / "drafters.html", page(hostile(outcome))), theme=theme, width=width)
    marks = seen.marks()
    assert len(marks) == PICTURES_OF_ALL
    assert min(marks.values()) >= 4
    assert seen.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.tab.evaluate("performance.getEntriesByName('first-paint')[0].startTime") < 2000
    seen.tab.locator(f"#drafters-2 > .{theme} .role-mark.mark-symbol path").last.hover()
    seen.tab.locator("#vg-tooltip-element").wait_for(state="visible")
    assert "tokens/s per user" in seen.tab.locator("#vg-tooltip-element").inner_text()
    assert seen.tab.evaluate("window.hacked") is None
    assert (seen.complaints, seen.foreign) == ([], [])
    seen.context.close()
