"""`--chart` writes what was asked for, whole, in a file that needs nothing else, or says in one line why it cannot."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from specsim import catalog
from specsim.acceptance import Acceptance
from specsim.charts import theme
from specsim.cli.drawn import _crossovers, step_chart, sweep_chart, swept_besides
from specsim.drafters import METHODS
from specsim.placement import Placement
from specsim.roofline import Efficiency, Roofline
from specsim.scenario import Scenario
from specsim.speedup import crossover_batch, speedup
from specsim.sweep import sweep

pytest.importorskip("vl_convert")

MACHINE = ("--model", "Llama-3.1-8B", "--hardware", "H100-SXM")
COMMANDS = {
    "plan": ("plan", *MACHINE, "--batch", 8, "--method", "ngram", "--tensor-parallel", 1, "--ideal"),
    "step": ("step", *MACHINE, "--batch", 8, "--ideal"),
    "sweep": ("sweep", "--axis", "batch=1,8,64", "--axis", "method=eagle3,ngram", "--efficiency", "ideal"),
}
each_command = pytest.mark.parametrize("name", sorted(COMMANDS))
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def rows(chart: Any) -> list[dict[str, Any]]:
    return [row for values in chart.to_dict()["datasets"].values() for row in values]


@each_command
@pytest.mark.parametrize(
    ("ending", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG\r\n"), (".html", b"<!doctype html>")]
)
def test_every_command_draws_every_format_and_answers_as_before(cli, tmp_path, name, ending, start):
    path = tmp_path / "new folder" / f"chart{ending}"
    ran = cli(*COMMANDS[name], "--chart", path)
    assert ran.code == 0
    assert path.read_bytes().startswith(start)
    assert ran.out == cli(*COMMANDS[name]).out


@each_command
def test_the_theme_is_that_of_the_picture(cli, tmp_path, name):
    for look in theme.COLOURS:
        for ending in (".svg", ".html"):
            cli(*COMMANDS[name], "--chart", tmp_path / f"{look}{ending}", "--theme", look)
            assert theme.COLOURS[look]["background"] in (tmp_path / f"{look}{ending}").read_text()


@each_command
def test_the_chart_is_among_the_inputs(cli, tmp_path, name):
    path = tmp_path / "chart.svg"
    assert cli(*COMMANDS[name], "--chart", path, "--json").json["inputs"]["chart"] == str(path)
    assert cli(*COMMANDS[name], "--json").json["inputs"]["chart"] is None


def test_the_page_needs_nothing_else_and_holds_the_chart(cli, tmp_path):
    path = tmp_path / "page.html"
    cli(*COMMANDS["step"], "--chart", path)
    page = path.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'")
    assert "http" not in policy.group(1)
    assert len(re.findall(r"</script>", page)) == 2
    without_libraries = re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", without_libraries)
    spec = json.loads(re.search(r'vegaEmbed\("#chart", (\{.*\}), \{actions', page).group(1))  # type: ignore[union-attr]
    assert spec["title"] == "Time of a pass, Llama-3.1-8B on H100-SXM, batch 8, context 1024"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_scripts_of_the_page_are_javascript(cli, tmp_path):
    cli(*COMMANDS["plan"], "--chart", tmp_path / "page.html")
    scripts = re.findall(r"<script>(.*?)</script>", (tmp_path / "page.html").read_text(), flags=re.DOTALL)
    assert len(scripts) == 2
    for number, script in enumerate(scripts):
        (tmp_path / f"{number}.js").write_text(script)
        subprocess.run(["node", "--check", tmp_path / f"{number}.js"], check=True, capture_output=True)


def test_a_name_cannot_leave_its_place_in_the_page(cli, tmp_path):
    odd = tmp_path / "<b>&<script>alert(1)<.json"
    odd.write_text(json.dumps(LLAMA))
    words = ("step", "--model", odd, "--hardware", "H100-SXM", "--ideal", "--chart", tmp_path / "page.html")
    assert cli(*words).code == 0
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in page
    assert len(re.findall(r"</?script", page)) == 4


@each_command
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--chart", "chart.pdf"), "chart must end in .html, .svg or .png, got chart.pdf"),
        (("--chart", "chart"), "chart must end in .html, .svg or .png, got chart"),
        (("--chart", "chart.svg", "--theme", "drak"), "theme 'drak' is unknown; did you mean dark"),
        (("--chart", "taken/chart.svg"), "cannot write"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(cli, tmp_path, monkeypatch, name, words, message):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("a file")
    ran = cli(*COMMANDS[name], *words)
    assert ran.code == 2
    assert ran.out == ""
    (line,) = ran.err.strip().splitlines()
    assert line.startswith(f"error: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@each_command
def test_a_missing_extra_is_named_and_needed_for_charts_alone(cli, tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    ran = cli(*COMMANDS[name], "--chart", tmp_path / "chart.svg")
    assert ran.code == 2
    assert ran.err == "error: a chart needs vl-convert: pip install 'specsim[report]'\n"
    assert cli(*COMMANDS[name]).code == 0


@each_command
def test_commands_without_a_chart_do_not_import_altair(name):
    code = f"import sys, specsim.cli.{name}, specsim.cli.chart; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (("gamma=2,4",), "a chart needs a sweep of batch and at most one input besides, got gamma"),
        (("batch=8",), "a chart needs a sweep of batch and at most one input besides, got one scenario"),
        (("batch=1,8", "gamma=2,4", "alpha=0.5,0.7"), "a chart needs a sweep of batch and at most one input besides"),
        (("batch=1,8", "gamma=1:7:1"), "a chart shows at most 6 values of gamma, got 7"),
    ],
)
def test_a_sweep_that_no_chart_shows_is_refused_before_it_is_computed(cli, tmp_path, monkeypatch, axes, message):
    monkeypatch.setattr("specsim.cli.sweep.sweep", None)
    words = [word for axis in axes for word in ("--axis", axis)]
    ran = cli("sweep", *words, "--chart", tmp_path / "chart.svg", "--out", tmp_path / "rows.csv")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_list_is_drawn_as_axes_are(cli, tmp_path):
    listed = tmp_path / "list.csv"
    pd.DataFrame({"batch": [8, 1, 8, 1], "context": [1024, 1024, 4096, 4096]}).to_csv(listed, index=False)
    cli("sweep", "--list", listed, "--efficiency", "ideal", "--chart", tmp_path / "list.svg")
    axes = ("--axis", "context=1024,4096", "--axis", "batch=8,1")
    cli("sweep", *axes, "--efficiency", "ideal", "--chart", tmp_path / "axes.svg")
    one, other = (re.findall(r'aria-label="[^"]+"', (tmp_path / name).read_text()) for name in ("list.svg", "axes.svg"))
    assert len(one) > 4
    assert sorted(one) == sorted(other)


def test_many_contexts_are_a_map_and_few_are_lines():
    contexts = [2**k for k in range(10, 17)]
    assert swept_besides({"batch": BATCHES, "context": contexts}) == "context"
    for number, marks in ((7, {"rect"}), (6, {"line", "point", "rule"})):
        frame = sweep({"batch": BATCHES, "context": contexts[:number]}, efficiency="ideal")
        spec = sweep_chart(frame, efficiency="ideal", theme="light").to_dict()
        assert marks <= {layer["mark"]["type"] for layer in spec["layer"]}


def test_the_title_says_what_all_lines_share_and_nothing_else():
    frame = sweep({"batch": [1, 8], "context": [512, 1024], "alpha": [0.7], "tensor_parallel": [2]}, efficiency="ideal")
    title = sweep_chart(frame, efficiency="ideal", theme="light").title
    assert title == "Speedup of eagle3, γ 4, α 0.7, Llama-3.1-8B on H100-SXM, tensor-parallel 2"


def placed(method: str) -> Scenario:
    gpu = catalog.hardware("H100-SXM")
    place = Placement(target=catalog.model("Llama-3.1-8B"), hardware=gpu, efficiency=Efficiency.ideal())
    return Scenario(
        target=place.cost(place.target),
        drafter=place.drafter(METHODS[method].default(place.target)),
        acceptance=Acceptance.constant(0.5),
        gamma=4,
        context=128,
    )


@pytest.fixture(scope="module")
def marked() -> list[dict[str, Any]]:
    axes = {"batch": BATCHES, "method": ["eagle3", "model", "ngram"], "alpha": [0.5], "context": [128]}
    chart = sweep_chart(sweep(axes, efficiency="ideal"), efficiency="ideal", theme="light")
    return [row for row in rows(chart) if row.get("mark") in ("crossover", "compute-bound")]


@pytest.mark.parametrize("method", ["eagle3", "model", "ngram"])
def test_marks_are_where_the_scenario_crosses_and_turns_compute_bound(marked, method):
    scenario = placed(method)
    mine = {row["mark"]: row for row in marked if row["line"] == method}
    assert mine["crossover"]["batch"] == crossover_batch(scenario, max_batch=BATCHES[-1])
    assert mine["compute-bound"]["batch"] == scenario.target.compute_bound_batch(tokens=5, context=128)
    for row in mine.values():
        assert row["speedup"] == pytest.approx(speedup(replace(scenario, batch=row["batch"])), rel=1e-12)
    assert len([row for row in marked if row["line"] == method]) == 2


def crossed(gains: str, shown: list[int]) -> list[int]:
    """Crossovers of a line that gains at the batches, counted from 1, where `gains` has a +."""
    speedups = [1.1 if sign == "+" else 0.9 for sign in gains]
    line = pd.DataFrame({"batch": range(1, len(gains) + 1), "speedup": speedups})
    return list(_crossovers(line, np.array(shown)))


@pytest.mark.parametrize(
    ("gains", "marks"),
    [
        ("++++++++", []),
        ("--------", []),
        ("+++-----", [3]),
        ("---+++++", [4]),
        ("+--+++++", [1, 4]),
        ("++++-+--", [6]),
        ("+++++-++", []),
    ],
)
def test_one_mark_stands_in_each_interval_whose_ends_differ(gains, marks):
    assert crossed(gains, [1, 2, 4, 8]) == marks


def test_passes_are_shown_up_to_beyond_the_ridge_with_the_one_that_was_asked_for():
    one = Roofline(
        model=catalog.model("Llama-3.1-8B"), hardware=catalog.hardware("H100-SXM"), efficiency=Efficiency.ideal()
    )
    counts = {"tokens": 5, "batch": 10, "context": 2048}
    frame = pd.DataFrame([row for row in rows(step_chart(one, counts, ridge=280.0, theme="light")) if "part" in row])
    assert sorted(frame["tokens"].unique()) == [10, 20, 40, 50, 80, 160, 320, 640]
    for tokens, total in frame.groupby("tokens")["seconds"].sum().items():
        asked = one.pass_seconds(tokens=int(tokens) // 10, batch=10, context=2048)
        assert total / 1000 == pytest.approx(asked, rel=1e-12)
    assert (frame["seconds"] > 0).all()


@pytest.mark.parametrize(("alpha", "charts"), [(0.9, 2), (0.0, 1)])
def test_a_plan_shows_what_moves_its_best_where_that_is_a_drafter(cli, tmp_path, alpha, charts):
    path = tmp_path / "plan.svg"
    assert cli(*COMMANDS["plan"], "--accept", f"ngram={alpha}", "--chart", path).code == 0
    drawn = path.read_text()
    assert "Speedup by drafter, Llama-3.1-8B on H100-SXM, batch 8, context 1024" in drawn
    assert ("What moves the speedup of ngram" in drawn) == (charts == 2)


def test_several_accelerators_are_named(cli, tmp_path):
    words = ("--model", "Llama-3.1-70B", "--hardware", "H100-SXM", "--batch", 8, "--tensor-parallel", 4, "--ideal")
    for command in (("plan", "--method", "ngram"), ("step",)):
        cli(*command, *words, "--chart", tmp_path / "chart.svg")
        assert "Llama-3.1-70B on 4 x H100-SXM, batch 8" in (tmp_path / "chart.svg").read_text()
