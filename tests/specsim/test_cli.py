"""Every command answers people and programs, and refuses bad input with one line and exit code 2."""

from __future__ import annotations

import json

import click
import pytest

from specsim.cli import main as frame
from specsim.cli.main import COMMANDS, specsim
from specsim.drafters import METHODS
from specsim.records import read_records

LLAMA = ("--model", "Llama-3.1-8B", "--hardware", "H100-SXM")


def every_command():
    context = click.Context(specsim)
    for name in specsim.list_commands(context):
        command = specsim.get_command(context, name)
        yield (name,)
        if isinstance(command, click.Group):
            yield from ((name, inner) for inner in command.commands)


@pytest.mark.parametrize("words", list(every_command()))
def test_every_command_has_help(cli, words):
    ran = cli(*words, "--help")
    assert ran.code == 0
    assert ran.out.startswith("Usage: specsim ")
    assert len(ran.out.splitlines()) > 3


def test_the_commands_of_other_packages_are_found(cli):
    assert {"demo", "validate", *COMMANDS} <= set(specsim.list_commands(click.Context(specsim)))


def test_tau_answers_leviathan(cli):
    result = cli("tau", "--alpha", 0.7, "--gamma", 4, "--c", 0.1, "--json").result
    assert result["E_tokens"] == pytest.approx(2.7731, rel=1e-12)
    assert result["speedup"] == pytest.approx(1.9807857142857144, rel=1e-12)
    assert result["best_gamma"] == 4
    assert sum(result["pmf_accepted"]) == pytest.approx(1)


def test_tau_speaks_to_people(cli):
    ran = cli("tau", "--alpha", "0.8,0.5", "--gamma", 2)
    assert ran.code == 0
    assert "2.2000 tokens per round at gamma 2" in ran.out


def test_the_envelope_is_the_same_everywhere(cli, tmp_path):
    rows = tmp_path / "rows.jsonl"
    commands = [
        ("tau", "--alpha", 0.7, "--gamma", 4),
        ("catalog", "list"),
        ("catalog", "show", "H100-SXM"),
        ("step", *LLAMA),
        ("crossover", *LLAMA, "--alpha", 0.7, "--gamma", 4, "--c", 0.05),
        ("simulate", "rounds", "--alpha", 0.7, "--gamma", 4, "--rounds", 1000),
        ("simulate", "records", rows, "--alpha", 0.7, "--requests", 4, "--rounds", 20),
        ("calibrate", rows),
    ]
    for words in commands:
        ran = cli(*words, "--json")
        assert (ran.code, ran.err) == (0, "")
        assert set(ran.json) == {"schema", "command", "inputs", "result", "assumptions", "version"}
        assert ran.json["schema"] == 1


def test_step_gives_the_datasheet_answer_when_asked(cli):
    ideal = cli("step", *LLAMA, "--context", 0, "--ideal", "--json").result
    assert ideal["ridge_tokens"] == pytest.approx(295.2, abs=0.05)
    assert ideal["bound"] == "memory"
    assumed = cli("step", *LLAMA, "--context", 0, "--json").result
    assert assumed["step_seconds"] > ideal["step_seconds"]


def test_step_agrees_with_its_own_ridge(cli):
    ridge = cli("step", *LLAMA, "--context", 0, "--json").result["ridge_tokens"]
    sides = [cli("step", *LLAMA, "--context", 0, "--tokens", int(ridge) + more, "--json").result for more in (-2, 3)]
    assert [side["bound"] for side in sides] == ["memory", "compute"]


def test_a_group_without_a_command_shows_its_help(cli):
    for words in ((), ("catalog",)):
        ran = cli(*words)
        assert "Usage: specsim" in ran.out + ran.err
        assert "error" not in ran.err


def test_step_of_bare_weights_is_the_textbook_sum(cli):
    """16 GB on an H100: 4.776 ms, 209.4 tokens a second, compute-bound from 295.2 tokens on."""
    words = ("step", "--weight-bytes", 16e9, "--hardware", "H100-SXM", "--ideal", "--context", 0)
    result = cli(*words, "--json").result
    assert result["step_seconds"] == pytest.approx(16e9 / 3.35e12, rel=1e-6)
    assert result["ridge_tokens"] == pytest.approx(989e12 / 3.35e12, rel=1e-6)
    assert "4.776 ms to score 1 token(s) in each of 1 sequence(s), 209.4 tokens/s of plain decoding" in cli(*words).out
    shared = cli(*words, "--tensor-parallel", 4, "--json").result["step_seconds"]
    assert shared == pytest.approx(result["step_seconds"] / 4, rel=1e-5)  # rounded up to whole outputs


def test_step_shows_the_ideal_beside_what_is_reached(cli):
    words = ("step", "--model", "Llama-3.1-8B", "--hardware", "MI300X", "--tokens", 5, "--batch", 16)
    ran = cli(*words, "--tensor-parallel", 2, "--json")
    result = ran.result
    assert sum(result["parts"].values()) == pytest.approx(result["step_seconds"], rel=1e-9)
    assert result["parts"]["all_reduce"] > 0
    assert result["ideal"]["step_seconds"] < result["step_seconds"]
    assert ran.json["inputs"]["tensor_parallel"] == 2
    assert ran.json["assumptions"] == [result["efficiency"]["source"]]
    told = cli(*words).out
    for part in ("mlp", "attention projections", "ideal: no losses"):
        assert part in told


PARD = ("--alpha", 0.7, "--gamma", 1, "--method", "pard")
CROSSOVER = ("crossover", *LLAMA, "--ideal", "--max-batch", 256)


def test_crossover_lists_the_batches_that_gain(cli):
    ran = cli(*CROSSOVER, "--alpha", 0.5, "--gamma", 4, "--c", 0.1, "--context", 256, "--json")
    result = ran.result
    ((first, last),) = result["gaining_batches"]
    assert (first, last) == (1, result["crossover_batch"])
    assert last < 256
    speeds = {row["batch"]: row["speedup"] for row in result["curve"]}
    assert all((speed >= 1) == (batch <= last) for batch, speed in speeds.items())
    assert max(speeds) == 256
    assert (
        f"Drafting 4 tokens pays at batch 1 to {last};"
        in cli(*CROSSOVER, "--alpha", 0.5, "--gamma", 4, "--c", 0.1, "--context", 256).out
    )


def test_crossover_beyond_the_largest_batch_is_null(cli):
    words = (*CROSSOVER, "--alpha", 0.8, "--gamma", 2, "--context", 100_000)
    result = cli(*words, "--json").result
    assert result["crossover_batch"] is None
    assert result["compute_bound_batch"] is None
    told = " ".join(cli(*words).out.split())
    assert "pays at batch 1 to 256, the largest looked at (256)" in told
    assert "stays memory-bound at every batch" in told


@pytest.mark.parametrize("method", METHODS)
def test_crossover_with_every_drafter(cli, method):
    ran = cli(*CROSSOVER, "--alpha", 0.7, "--gamma", 1, "--method", method, "--max-batch", 2, "--json")
    assert ran.code in (0, 1)
    assert ran.err == ""
    assert [row["batch"] for row in ran.result["curve"]] == [1, 2]
    assert (ran.code == 1) == (ran.result["crossover_batch"] == 0)


def test_crossover_with_acceptance_by_depth_looks_no_deeper(cli):
    result = cli(*CROSSOVER, "--alpha", "0.9,0.9,0.9", "--gamma", 2, "--json").result
    assert {row["best_gamma"] for row in result["curve"][:4]} == {3}


def test_crossover_says_no_with_exit_code_1(cli):
    ran = cli("crossover", *LLAMA, "--alpha", 0.01, "--gamma", 8, "--c", 0.5, "--json")
    assert ran.code == 1
    assert ran.result["crossover_batch"] == 0


def test_rows_made_by_simulate_are_read_by_calibrate(cli, tmp_path):
    rows = tmp_path / "rows.jsonl.gz"
    assert cli("simulate", "records", rows, "--alpha", "0.8,0.6,0.4", "--gammas", "1,3", "--seed", 5).code == 0
    assert {record.gamma for record in read_records(rows)} == {0, 1, 3}
    result = cli("calibrate", rows, "--predict-gamma", "2", "--json").result
    first = result["estimates"]["acceptance[1]"]
    assert first["low"] <= first["value"] <= first["high"]
    assert result["predictions"][0]["gamma"] == 2


def test_slow_predictions_and_names_in_brackets_read_as_they_are(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = cli("simulate", "records", "of[b].jsonl", "--alpha", 0.3, "--c", 0.6)
    assert "to of[b].jsonl" in made.out
    words = cli("calibrate", "of[b].jsonl", "--predict-gamma", 2, "--level", 0.999).out
    assert "99.9 % interval" in words
    assert " m (" not in words  # a speedup below 1 is no number of thousandths


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tau", "--alpha", "1.2", "--gamma", 4), "alpha must be in [0, 1], got 1.2"),
        (("tau", "--alpha", "high", "--gamma", 4), "alpha must be"),
        (("tau", "--alpha", "0.7", "--gamma", 0), "gamma must be at least 1, got 0"),
        (("tau", "--alpha", "0.7", "--gamma", 4, "--c", -1), "c must be at least 0, got -1"),
        (("tau", "--gamma", 4), "give "),
        (("tau", "--alpha", "0.7"), "Missing option '--gamma'"),
        (("tau", "--alpha", "0.7,0.6", "--gamma", 3), "gamma must be in 0..2"),
        (("frob",), "command 'frob' is unknown; known: "),
        (("catalog", "show", "H1000"), "catalog row 'H1000' is unknown"),
        (("step", "--model", "Llama-9", "--hardware", "H100-SXM"), "'Llama-9' is unknown; did you mean Llama-3"),
        (("step", "--model", "none.json", "--hardware", "H100-SXM"), "none.json"),
        (("step", *LLAMA, "--tokens", 0), "tokens must be at least 1, got 0"),
        (("step", *LLAMA, "--weight-bytes", 1e9), "give one of --model and --weight-bytes"),
        (("step", "--hardware", "H100-SXM"), "give one of --model and --weight-bytes"),
        (("step", "--hardware", "H100-SXM", "--weight-bytes", -1), "weight-bytes must be above 0, got -1"),
        (("step", "--model", "Llama-3.1-8B", "--hardware", "H1000"), "hardware 'H1000' is unknown; did you mean H"),
        (("step", *LLAMA, "--ideal", "--batch", -1), "batch must be at least 1, got -1"),
        (("step", *LLAMA, "--ideal", "--tensor-parallel", 3), "heads must be a multiple of tensor_parallel 3, got 32"),
        (("step", *LLAMA, "--ideal", "--tensor-parallel", 0), "tensor_parallel must be at least 1, got 0"),
        (
            ("step", *LLAMA, "--ideal", "--tensor-parallel", "1,2"),
            "tensor-parallel must be one whole number, got '1,2'",
        ),
        (
            ("step", *LLAMA, "--ideal", "--tensor-parallel", "two"),
            "tensor-parallel must be whole numbers separated by commas",
        ),
        (("step", *LLAMA, "--ideal", "--kernels", "vllm"), "give one of --ideal and --kernels, got both"),
        (("step", *LLAMA, "--kernels", "tgi"), " is unknown; known: "),
        (("step", "--model", "Llama-3.1-8B", "--hardware", "none.toml"), "none.toml: cannot be read"),
        (("crossover", *LLAMA, "--alpha", "0.7", "--gamma", 0), "gamma must be at least 1, got 0"),
        ((*CROSSOVER, "--alpha", "0.7,0.6", "--gamma", 3), "gamma must be in 0..2"),
        ((*CROSSOVER, "--alpha", "1.2", "--gamma", 3), "alpha must be in [0, 1], got 1.2"),
        ((*CROSSOVER, "--alpha", "0.7", "--gamma", 3, "--c", -1), "c must be at least 0, got -1"),
        ((*CROSSOVER, "--alpha", "0.7", "--gamma", 3, "--max-batch", 0), "max_batch must be at least 1, got 0"),
        (
            (*CROSSOVER, "--alpha", "0.7", "--gamma", 3, "--c", 0.1, "--method", "eagle3"),
            "give one of --c and --method, got both",
        ),
        (
            (*CROSSOVER, "--alpha", "0.7", "--gamma", 3, "--method", "eagle4"),
            "method 'eagle4' is unknown; did you mean eagle",
        ),
        (
            (*CROSSOVER, "--alpha", "0.7", "--gamma", 9, "--method", "medusa"),
            "gamma must be at most 5 for medusa, got 9",
        ),
        (
            ("crossover", "--model", "DeepSeek-V3", "--hardware", "MI300X", "--tensor-parallel", 8, *PARD),
            "no smaller model of the catalogue has the 129280 tokens of DeepSeek-V3",
        ),
        (("simulate", "rounds", "--alpha", "0.7", "--gamma", 4, "--rounds", 0), "rounds must be at least 1, got 0"),
        (("simulate", "records", "x.jsonl", "--alpha", "0.7", "--rounds", 0), "rounds must be at least 1, got 0"),
        (("simulate", "records", "x.jsonl", "--alpha", "0.7", "--requests", 0), "requests must be at least 1, got 0"),
        (("calibrate", "none.jsonl"), "cannot read none.jsonl"),
        (("validate", "run", "lossless"), "claim 'lossless' is unknown"),
        (("demo", "--gammas", "4", "--held-out", "4"), "held_out_gammas must not be calibrated on, got 4 in both"),
        (("demo", "--temperature", "-1"), "temperature must be at least 0, got -1"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cli, words, message):
    ran = cli(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_bug_is_told_apart_from_bad_input(cli, monkeypatch):
    @click.command()
    def broken() -> None:
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr(frame, "_load", lambda name, target: broken)
    ran = cli("tau")
    assert ran.code == 3
    assert "surprise" in ran.err


def test_an_interrupt_is_no_error_of_ours(cli, monkeypatch):
    @click.command()
    def slow() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(frame, "_load", lambda name, target: slow)
    ran = cli("tau")
    assert (ran.code, ran.err.strip()) == (130, "interrupted")


def test_a_missing_extra_is_named(cli, monkeypatch):
    monkeypatch.setitem(COMMANDS, "tau", "no_such_package.cli:tau")
    ran = cli("tau", "--alpha", 1)
    assert ran.code == 2
    assert "needs the package 'no_such_package'" in ran.err


def test_json_is_strict(cli):
    ran = cli("crossover", *LLAMA, "--alpha", 0.7, "--gamma", 4, "--ideal", "--json")
    json.loads(ran.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
