"""Every command answers people and programs, and refuses bad input with one line and exit code 2."""

from __future__ import annotations

import json

import click
import pytest

from specsim.cli import main as frame
from specsim.cli.main import COMMANDS, specsim
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
        (("crossover", *LLAMA, "--alpha", "0.7", "--gamma", 0), "gamma must be at least 1, got 0"),
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
