"""`specsim sweep`: rows to files whole or not at all, the best on the screen, one line for whatever is wrong."""

import json

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from specsim.sweep import sweep, sweep_list

AXES = ("--axis", "method=ngram,eagle3", "--axis", "alpha=0.6,0.8", "--axis", "batch=1:65:32", "--efficiency", "ideal")
GRID = {"method": ["ngram", "eagle3"], "alpha": [0.6, 0.8], "batch": [1, 33, 65]}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_file_holds_all_rows_unrounded(cli, tmp_path, suffix):
    out = tmp_path / "new" / f"rows.{suffix}"
    ran = cli("sweep", *AXES, "--out", out)
    assert ran.code == 0
    assert f"12 scenarios, written to {out}".replace("\n", "") in ran.out.replace("\n", "")
    if suffix == "csv":
        rows = pd.read_csv(out, converters={"speedup": float, "draft_seconds": float})
    else:
        rows = pd.DataFrame([json.loads(line) for line in out.read_text().splitlines()])
    expected = sweep(GRID, efficiency="ideal")
    assert_frame_equal(rows[["speedup", "draft_seconds"]], expected[["speedup", "draft_seconds"]], check_exact=True)
    assert_frame_equal(rows, expected, rtol=1e-12)


def test_alpha_that_is_published_is_null_in_json_lines(cli, tmp_path):
    out = tmp_path / "rows.jsonl"
    assert cli("sweep", "--axis", "method=ngram", "--efficiency", "ideal", "--out", out).code == 0
    assert json.loads(out.read_text())["alpha"] is None


def test_people_get_the_fastest(cli):
    ran = cli("sweep", *AXES)
    assert (ran.code, ran.err.strip()) == (0, "")
    assert "12 scenarios" in ran.out
    rows = [line.split("│")[1].split() for line in ran.out.splitlines() if line.startswith("│")]
    assert len(rows) == 12
    assert rows[0] == [sweep(GRID, efficiency="ideal").nlargest(1, "speedup")["method"].item()]


def test_programs_get_the_envelope(cli):
    ran = cli("sweep", *AXES, "--json")
    assert (ran.code, ran.err.strip()) == (0, "")
    assert ran.json["command"] == "sweep"
    assert ran.result["rows"] == 12
    speeds = [row["speedup"] for row in ran.result["best"]]
    assert speeds == sorted(speeds, reverse=True)
    assert speeds[0] == sweep(GRID, efficiency="ideal")["speedup"].max()


def test_what_does_not_fit_is_in_the_file_and_not_among_the_best(cli, tmp_path):
    out = tmp_path / "rows.csv"
    words = ("--axis", "batch=1,4000", "--axis", "context=100000", "--efficiency", "ideal")
    best = cli("sweep", *words, "--out", out, "--json").result["best"]
    assert [row["batch"] for row in best] == [1]
    assert pd.read_csv(out)["fits"].tolist() == [True, False]


def test_where_nothing_fits_it_says_so(cli):
    ran = cli("sweep", "--axis", "batch=4000,5000", "--axis", "context=100000", "--efficiency", "ideal")
    assert ran.code == 0
    assert ran.out.startswith("2 scenarios. None fits the memory.")


def test_a_list_keeps_its_order(cli, tmp_path):
    listed = pd.DataFrame({"gamma": [3, 1, 2], "method": ["eagle3", "ngram", "eagle3"], "alpha": [0.5, 0.6, 0.7]})
    listed.to_csv(tmp_path / "in.csv", index=False)
    words = ("--list", tmp_path / "in.csv", "--out", tmp_path / "out.csv", "--efficiency", "ideal")
    assert cli("sweep", *words).code == 0
    rows = pd.read_csv(tmp_path / "out.csv")
    assert_frame_equal(rows[list(listed)], listed)
    assert_frame_equal(rows, sweep_list(listed, efficiency="ideal"), rtol=1e-12)


def test_a_place_that_cannot_be_written_is_refused_before_the_work(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("specsim.cli.sweep.sweep", lambda *args, **options: pytest.fail("it was computed first"))
    (tmp_path / "file").write_text("")
    assert cli("sweep", *AXES, "--out", tmp_path / "file" / "rows.csv").code == 2


def test_workers_and_a_resume_folder_change_nothing(cli, tmp_path):
    alone = cli("sweep", *AXES, "--json").result["best"]
    words = ("--workers", 2, "--resume", tmp_path / "kept")
    assert cli("sweep", *AXES, *words, "--json").result["best"] == alone
    assert len(list((tmp_path / "kept").iterdir())) == 2  # a file a method
    assert cli("sweep", *AXES, *words, "--json").result["best"] == alone


CSV = {
    "empty.csv": "",
    "header.csv": "alpha,gamma\n",
    "unknown.csv": "alpha,speed\n0.5,3\n",
    "hole.csv": "alpha,method\n0.5,ngram\n0.6,\n",
    "half.csv": "gamma\n1\n2.5\n",
    "words.csv": "alpha\nhigh\n",
    "range.csv": "alpha,batch\n0.5,0\n",
    "twice.csv": "alpha,alpha\n0.5,0.6\n",
    "ragged.csv": "alpha\n0.5\n0.5,0.6,0.7\n",
}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give either --axis or --list"),
        (("--axis", "alpha=0.5", "--list", "hole.csv"), "give either --axis or --list"),
        (("--axis", "alphas=0.5"), "axis 'alphas' is unknown; did you mean alpha? known: alpha, batch, context"),
        (("--axis", "alpha"), "axis must be NAME=VALUES, got 'alpha'"),
        (("--axis", "alpha="), "axis must be NAME=VALUES, got 'alpha='"),
        (("--axis", "alpha=high"), "axis alpha must have numbers, got 'high'"),
        (("--axis", "alpha=0.5", "--axis", "alpha=0.6"), "axis alpha must be given once, with all its values"),
        (("--axis", "alpha=1.2"), "alpha"),
        (("--axis", "gamma=1.5"), "axis gamma must have whole numbers, or FIRST:LAST:STEP, got '1.5'"),
        (("--axis", "gamma=1:8"), "axis gamma must have whole numbers, or FIRST:LAST:STEP, got '1:8'"),
        (("--axis", "gamma=1:8:0"), "axis gamma must have whole numbers, or FIRST:LAST:STEP, got '1:8:0'"),
        (("--axis", "gamma=8:1:1"), "axis gamma must not be empty"),
        (("--axis", "batch=0"), "must be at least 1, got 0"),
        (("--axis", "model=Llama-9"), "model 'Llama-9' is unknown; did you mean Llama-3"),
        (("--axis", "hardware=H1000"), "hardware 'H1000' is unknown"),
        (("--axis", "method=eagle4"), "method 'eagle4' is unknown; did you mean eagle"),
        (("--axis", "tensor_parallel=3"), "heads must be a multiple of tensor_parallel 3, got 32"),
        (
            ("--axis", "alpha=0.5", "--efficiency", "perfect"),
            "efficiency 'perfect' is unknown; known: assumed, default, ideal",
        ),
        (("--axis", "alpha=0.5", "--workers", 0), "workers must be at least 1, got 0"),
        (("--axis", "alpha=0.5", "--out", "rows.txt"), "out must end in .csv or .jsonl, got rows.txt"),
        (("--axis", "alpha=0.5", "--out", "empty.csv/rows.csv"), "cannot write empty.csv/"),
        (("--axis", "alpha=0.5", "--resume", "empty.csv"), "cannot write empty.csv/"),
        (("--list", "none.csv"), "cannot read none.csv: No such file"),
        (("--list", "."), "cannot read .: "),
        (("--list", "empty.csv"), "empty.csv is no CSV: "),
        (("--list", "header.csv"), "scenarios must not be empty"),
        (("--list", "unknown.csv"), "axis 'speed' is unknown; "),
        (("--list", "hole.csv"), "scenarios must have no empty cell, got one in row 1 of method"),
        (("--list", "half.csv"), "gamma must be whole numbers, got 2.5"),
        (("--list", "words.csv"), "alpha must be an array of numbers"),
        (("--list", "range.csv"), "batch[0] must be at least 1, got 0"),
        (("--list", "twice.csv"), "axis 'alpha.1' is unknown; "),
        (("--list", "ragged.csv"), "ragged.csv is no CSV: "),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_is_written(cli, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name, text in CSV.items():
        (tmp_path / name).write_text(text)
    out = () if "--out" in words else ("--out", "made.csv")
    ran = cli("sweep", *words, *out)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    lines = [line for line in ran.err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert {path.name for path in tmp_path.iterdir()} == set(CSV)
