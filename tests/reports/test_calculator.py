"""The live calculator: what the page computes is what the library computes, and it follows the sliders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.build import write_page, write_pictures
from reports.pages import calculator
from reports.pages.calculator import Start, section
from reports.pages.calculator.machines import BATCHES, CONTEXTS
from reports.pages.calculator.tables import page_tables
from reports.pages.calculator.ways import MAX_GAMMA, OWN, OWN_ALPHA, Way, ways
from specsim.acceptance import Acceptance
from specsim.capacity import Assumed, Variant, Workload, speedup_interval
from specsim.catalog import rank_vector
from specsim.cli.main import run
from specsim.drafters import Drafter, RatioDrafter
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.rates import Rates, rates
from specsim.scenario import Scenario
from specsim.speedup import crossover_batch, speedup
from tests.reports.browsing import Visit

pytest.importorskip("vl_convert")

SAME = 1e-4
"""Relative: tables have five digits, which is all that tells the page from the library at the batches it offers."""
INTERPOLATED = 0.03
"""Of a speedup at a batch between those of the tables."""
INTERVALS = 0.06
"""Of an interval's ends: the page adds variances up, the library draws 4000 times."""


@pytest.fixture(scope="module")
def places() -> list[Placement]:
    dense = calculator.usual_places(["Llama-3.1-70B"], ["H100-SXM"])
    return [*dense, *calculator.usual_places(["Qwen3-30B-A3B"], ["H100-SXM", "MI300X"])]


@pytest.fixture(scope="module")
def html(places: list[Placement]) -> str:
    return calculator.page(places)


@pytest.fixture(scope="module")
def seen(browser: Any, html: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    visit = Visit(browser, write_page(tmp_path_factory.mktemp("calculator") / "calculator.html", html))
    yield visit
    visit.context.close()


class Twin:
    """The library's answers to a scene of the page's controls."""

    def __init__(self, places: list[Placement], scene: dict[str, Any]) -> None:
        self.scene = scene
        self.place = next(
            each for each in places if (each.target.name, each.hardware.name) == (scene["model"], scene["hardware"])
        )
        self.target = self.place.cost(self.place.target)
        self.way: Way | None = next((way for way in ways(self.place.target) if way.key == scene["drafter"]), None)
        self.nodes = self.way.method.tree_nodes if self.way else 0
        self.deepest = int(self.way.gammas[-1]) if self.way else MAX_GAMMA
        self.gamma = min(scene["gamma"], self.deepest)

    @property
    def drafter(self) -> Drafter:
        if self.way is None:
            return RatioDrafter(c=self.scene["c"], step=self.target)
        return self.place.drafter(self.way.method)

    @property
    def acceptance(self) -> Acceptance:
        if self.nodes:
            return Acceptance.tree(rank_vector(self.scene["alpha"]), nodes=self.nodes)
        return Acceptance.decay(self.scene["alpha"], self.scene["decay"])

    def rates(self, gamma: Any) -> Rates:
        return rates(
            self.target,
            self.drafter,
            acceptance=self.acceptance,
            gamma=gamma,
            batch=self.scene["batch"],
            context=self.scene["context"],
        )

    @property
    def scenario(self) -> Scenario:
        return Scenario(
            target=self.target,
            drafter=self.drafter,
            acceptance=self.acceptance,
            gamma=self.gamma,
            context=self.scene["context"],
        )

    def speedup(self, batch: int) -> float:
        return speedup(replace(self.scenario, batch=batch))


def scenes(places: list[Placement], *, count: int, seed: int) -> list[dict[str, Any]]:
    """Controls set at random, on a stated seed: the comparison is exact, so that no draw may differ."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        place = places[rng.integers(len(places))]
        drafters = [OWN, *(way.key for way in ways(place.target))]
        found.append(
            {
                "model": place.target.name,
                "hardware": place.hardware.name,
                "drafter": drafters[rng.integers(len(drafters))],
                "alpha": round(rng.uniform(0.05, 0.99), 3),
                "decay": round(rng.uniform(0.7, 1.0), 3),
                "error": 0.0,
                "c": round(rng.uniform(0, 0.5), 3),
                "gamma": int(rng.integers(1, 17)),
                "batch": int(rng.choice(BATCHES)),
                "context": int(rng.choice(CONTEXTS)),
                "price": 2.5,
            }
        )
    return found


def computed(seen: Visit, function: str, asked: list[dict[str, Any]]) -> list[Any]:
    found: list[Any] = seen.tab.evaluate(f"(asked) => asked.map(calculator.functions.{function})", asked)
    return found


@pytest.mark.browser
def test_page_computes_what_the_library_computes(seen: Visit, places: list[Placement]) -> None:
    asked = scenes(places, count=60, seed=1)
    for scene, rows, found in zip(
        asked, computed(seen, "byGamma", asked), computed(seen, "answer", asked), strict=True
    ):
        twin = Twin(places, scene)
        gammas = np.arange(twin.deepest + 1)
        expected = twin.rates(gammas)
        for name, values in (
            ("tokens", expected.E_tokens),
            ("draft", expected.draft_seconds),
            ("verify", expected.verify_seconds),
            ("speedup", expected.speedup),
        ):
            got = [row[name] for row in rows]
            np.testing.assert_allclose(
                got, np.broadcast_to(values, gammas.shape), rtol=SAME, atol=1e-9, err_msg=f"{name} {scene}"
            )
        assert found["gamma"] == twin.gamma
        assert found["best_speedup"] == pytest.approx(expected.speedup.max(), rel=SAME)
        assert expected.speedup[found["best_gamma"]] == pytest.approx(expected.speedup.max(), rel=2 * SAME)
        method = twin.way.method if twin.way else None
        memory = twin.place.memory(method, batch=1, context=scene["context"], gamma=twin.gamma)
        assert found["room"] == pytest.approx(memory.max_batch, rel=1e-3, abs=1)


@pytest.mark.browser
def test_crossover_is_the_librarys_up_to_interpolation(seen: Visit, places: list[Placement]) -> None:
    asked = [scene for scene in scenes(places, count=40, seed=2) if scene["gamma"] <= 8]
    for scene, found in zip(asked, computed(seen, "answer", asked), strict=True):
        twin = Twin(places, scene)
        expected = crossover_batch(twin.scenario, max_batch=BATCHES[-1])
        got = found["crossover_batch"]
        if got != (BATCHES[-1] if expected is None else expected):
            assert 0 < got < BATCHES[-1], scene
            assert twin.speedup(got) == pytest.approx(1, abs=INTERPOLATED), scene


@pytest.mark.browser
def test_interval_is_the_librarys(seen: Visit, places: list[Placement]) -> None:
    asked = [scene | {"decay": 1.0} for scene in scenes(places, count=30, seed=3) if scene["drafter"] != OWN]
    asked = [scene | {"error": (0.0, 0.03, 0.06)[k % 3]} for k, scene in enumerate(asked)]
    for scene, found in zip(asked, computed(seen, "answer", asked), strict=True):
        twin = Twin(places, scene)
        assert twin.way is not None
        law = twin.acceptance if twin.nodes else Acceptance.constant(scene["alpha"])
        expected = speedup_interval(
            twin.place,
            Variant(method=twin.way.method, acceptance=law),
            Assumed(acceptance=Acceptance.constant(scene["alpha"]), error=scene["error"], source="test"),
            Workload(batch=scene["batch"], context=scene["context"]),
            gamma=twin.gamma,
        )
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), rel=INTERVALS), scene


def lines(seen: Visit) -> dict[str, str]:
    """The lines above the pictures, by their label."""
    found: dict[str, str] = seen.tab.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.readouts > div')]"
        ".map((line) => [line.querySelector('dt').textContent, line.querySelector('dd').textContent]))"
    )
    return found


def first_number(text: str) -> float:
    found = re.search(r"\d[\d,]*\.?\d*", text)
    assert found, text
    return float(found[0].replace(",", ""))


def at(picture: list[str], *, gamma: int) -> float:
    """The speedup that a picture's marks state for a gamma."""
    mark = next(text for text in picture if f"γ: {gamma};" in text and "speedup:" in text)
    return float(re.findall(r"speedup: ([\d.]+)", mark)[0])


@pytest.mark.browser
def test_sliders_move_curve_best_gamma_and_crossover_to_the_librarys(seen: Visit, places: list[Placement]) -> None:
    scene: dict[str, Any] = scenes(places, count=1, seed=5)[0]
    scene |= {"model": "Qwen3-30B-A3B", "hardware": "H100-SXM", "drafter": "eagle3", "context": 4096}
    shown = []
    for alpha, decay, gamma, batch in ((0.6, 1.0, 3, 16), (0.9, 0.95, 3, 16), (0.9, 0.95, 7, 128)):
        scene |= {"alpha": alpha, "decay": decay, "gamma": gamma, "batch": batch, "error": 0.0}
        for name in ("model", "hardware", "drafter", "alpha", "decay", "gamma", "error"):
            seen.move(name, scene[name])
        seen.move("batch", BATCHES.index(batch))
        seen.move("context", CONTEXTS.index(scene["context"]))
        twin = Twin(places, scene)
        curve = twin.rates(np.arange(twin.deepest + 1)).speedup
        seen.tab.wait_for_function(
            "(wanted) => [...document.querySelectorAll('.readouts dd')]"
            ".some((line) => line.textContent.startsWith(wanted))",
            arg=f"{curve[gamma]:.2f} ×",
            timeout=5000,
        )
        said = lines(seen)
        assert first_number(said["Best number of drafted tokens"]) == curve.argmax()
        assert first_number(said["Tokens per round, τ"]) == pytest.approx(twin.scenario.tokens_per_round, abs=0.005)
        crossover = crossover_batch(twin.scenario, max_batch=BATCHES[-1])
        if crossover is None:
            assert said["Pays up to batch"] == "beyond 1024"
        else:
            assert first_number(said["Pays up to batch"]) == pytest.approx(crossover, rel=0.05)
        drawn = seen.labels("calculator-1")
        for depth in (1, 5, 12):
            assert at(drawn, gamma=depth) == pytest.approx(curve[depth], rel=1e-3)
        shown.append(said)
    assert len({json.dumps(said) for said in shown}) == 3
    assert seen.complaints == []
    assert seen.foreign == []


@pytest.mark.browser
def test_what_cannot_be_had_is_said_and_draws_plain_decoding(seen: Visit) -> None:
    seen.move("model", "Llama-3.1-70B")
    seen.move("hardware", "MI300X")
    seen.tab.wait_for_function("document.querySelector('.readouts dd').textContent.startsWith('Not to be had')")
    assert lines(seen)["Pays up to batch"] == "–"
    assert at(seen.labels("calculator-1"), gamma=0) == 1
    seen.move("hardware", "H100-SXM")
    seen.tab.wait_for_function("!document.querySelector('.readouts dd').textContent.startsWith('Not to be had')")
    assert seen.complaints == []


@pytest.mark.browser
def test_choosing_a_drafter_sets_its_published_acceptance(seen: Visit, places: list[Placement]) -> None:
    published = {way.key: way.assumed.alpha for way in ways(places[0].target)}
    visible = "(name) => !document.querySelectorAll('[data-control]')[name].parentElement.hidden"
    order = [control.parameter for control in section(places[:1]).controls]
    for drafter, controls in (("ngram", {"decay"}), (OWN, {"decay", "c"}), ("eagle3, tree of 16", set())):
        seen.move("drafter", drafter)
        alpha = seen.tab.evaluate(
            "(place) => +document.querySelectorAll('[data-control]')[place].value", order.index("alpha")
        )
        assert alpha == pytest.approx(published.get(drafter, OWN_ALPHA), abs=6e-4)
        shown = {name for name in ("decay", "c") if seen.tab.evaluate(visible, order.index(name))}
        assert shown == controls


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("dark", 400)])
def test_every_picture_is_drawn_on_a_narrow_screen(
    browser: Any, places: list[Placement], tmp_path: Path, theme: str, width: int
) -> None:
    visit = Visit(browser, write_page(tmp_path / "one.html", calculator.page(places[:1])), theme=theme, width=width)
    marks = visit.marks()
    assert sorted(marks) == [f"calculator-{k}" for k in range(1, 5)]
    assert min(marks.values()) >= 5
    assert visit.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.complaints == []
    visit.context.close()


def test_page_is_small_and_asks_for_nothing(html: str) -> None:
    assert len(html.encode()) < 4_000_000
    assert "default-src 'none'" in html
    assert html.count("window.vegaEmbed=") == 1


def test_the_models_are_placed_where_they_fit() -> None:
    assert calculator.usual_places(["Llama-3.1-405B"], ["RTX-4090"]) == []
    with pytest.raises(InputError, match="calculator needs at least one model on one accelerator, got none"):
        section([])


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (Start(model="Llama-3.1-8B"), r"model 'Llama-3.1-8B' is unknown.*known: Llama-3.1-70B"),
        (Start(hardware="L40S"), "hardware 'L40S' is unknown; known: H100-SXM"),
        (Start(drafter="eagle9"), "drafter 'eagle9' is unknown; did you mean eagle3"),
        (Start(alpha=1.5), "alpha must be in"),
    ],
)
def test_a_start_that_cannot_be_chosen_is_refused(places: list[Placement], start: Start, message: str) -> None:
    with pytest.raises(InputError, match=message):
        section(places[:1], start=start)


def test_batch_and_context_start_at_the_nearest_stop(places: list[Placement]) -> None:
    controls = {
        control.parameter: control for control in section(places[:1], start=Start(batch=24, context=3000)).controls
    }
    assert (controls["batch"].value, controls["context"].value) == (32, 4096)
    assert controls["hardware"].value == "H100-SXM"


def test_tables_hold_every_pass_that_the_menus_can_ask_for(places: list[Placement]) -> None:
    stored = page_tables(places[:1])
    machine = stored["machines"][places[0].target.name]["H100-SXM"]
    for key, counts in stored["drafters"][places[0].target.name].items():
        shapes = machine["shapes"]
        scored = {0: counts["target_tokens"]}
        own = machine["drafters"][key]["shape"]
        if own is not None:
            scored[own] = [*counts["first_tokens"], *counts["pass_tokens"]]
        for shape, tokens in scored.items():
            assert set(tokens) - {0} <= {*map(int, shapes[shape]["cache"]), 1}, key
            assert {max(tokens) * batch for batch in BATCHES} <= set(stored["in_flight"]), key


def test_markup_in_names_stays_text(places: list[Placement]) -> None:
    hostile = "</script><script>window.hacked = 1</script><img src=x>"
    place = places[0]
    plain = calculator.page([place])
    html = calculator.page([replace(place, target=replace(place.target, name=hostile))])
    assert html.count("<script") == plain.count("<script")
    assert html.count("<img src=x>") == 0
    assert "&lt;/script&gt;" in html


def test_live_pictures_are_left_out_of_picture_files(places: list[Placement], tmp_path: Path) -> None:
    assert write_pictures(tmp_path, [section(places[:1])], suffixes=[".svg"]) == []


def test_command_writes_the_page_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "report",
        "calculator",
        "--model",
        "Llama-3.1-8B",
        "--hardware",
        "MI300X",
        "--out",
        str(tmp_path),
        "--json",
    ]
    assert run(asked) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["result"]["places"][0]["hardware"] == "MI300X"
    assert Path(outcome["result"]["page"]).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_command_refuses_a_folder_that_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["report", "calculator", "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
