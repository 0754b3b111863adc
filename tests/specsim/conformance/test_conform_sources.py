"""`specsim conform` on sources: what options name, what is written, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner, Result

from specsim.cli.conform_run import judge, run_options
from specsim.cli.conform_sources import source_options
from specsim.cli.output import json_option, seed_option
from specsim.conformance.sources import read_recording
from specsim.errors import AdapterError, InputError

USER = """
from specsim.conformance import TableDecoder, TableModels, TableOracle, Request

MODELS = TableModels.random(seed=0)

def generate(prompt_ids, parameters, seed):
    asked = Request(id="", prompt=tuple(prompt_ids), parameters=parameters, seed=seed)
    return TableDecoder(MODELS).generate([asked])[0].tokens

def broken(prompt_ids, parameters, seed):
    raise RuntimeError("out of memory")

def oracle():
    return TableOracle(MODELS)
"""


@click.command()
@source_options
@run_options
@click.option("--tokens", type=int, default=1000)
@seed_option
@json_option
@click.pass_context
def command(ctx: click.Context, tokens: int, seed: int, as_json: bool, **chosen: Any) -> None:
    """The command with the options of sources alone."""
    ctx.exit(judge(chosen, tokens=tokens, seed=seed, as_json=as_json))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command in a folder with the user's module."""
    (tmp_path / "user_decoder.py").write_text(USER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(command, [str(one) for one in arguments])

    return call


def test_a_lossless_table_decoder_conforms_and_a_faulty_one_does_not(run: Callable[..., Result]) -> None:
    good, bad = run("--table", "mixed"), run("--table", "mixed", "--plant", "accept.always")
    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert good.stdout.startswith("conforms after 1000 tokens")
    assert bad.stdout.startswith("does not conform after ")
    assert "request" in bad.stdout


def test_too_few_tokens_are_inconclusive(run: Callable[..., Result]) -> None:
    assert run("--table", "mixed", "--tokens", 20).exit_code == 2


def test_json_has_what_the_page_needs(run: Callable[..., Result]) -> None:
    found = json.loads(run("--table", "good", "--plant", "bonus.from_q", "--tokens", 4000, "--json").stdout)
    assert found["result"]["outcome"] == "does not conform"
    assert found["inputs"]["source"] == "table decoder, good draft, bonus.from_q"
    assert {"bets", "pit", "scores", "tests", "replays", "left_out"} <= found["result"].keys()
    assert found["result"]["bets"][-1]["log10_margin"] <= 400


def test_files_are_written(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("--table", "mixed", "--plant", "accept.always", "--junit", "out/j.xml", "--replay", "out/r.jsonl")
    assert result.exit_code == 1
    suite = ElementTree.parse(tmp_path / "out/j.xml").getroot()
    assert int(suite.get("failures", "0")) >= 2
    assert suite.get("name") == "table decoder, mixed draft, accept.always"
    assert read_recording(tmp_path / "out/r.jsonl").answers


def test_a_callable_with_its_oracle(run: Callable[..., Result]) -> None:
    good = run("--callable", "user_decoder:generate", "--oracle", "user_decoder:oracle", "--eos-id", 7, "--seeded")
    assert good.exit_code == 0, good.output
    crashed = run("--callable", "user_decoder:broken", "--oracle", "user_decoder:oracle")
    assert isinstance(crashed.exception, AdapterError)
    assert crashed.exception.exit_code == 3
    assert "RuntimeError: out of memory" in str(crashed.exception)


def test_a_run_is_recorded_resumed_and_judged_again(run: Callable[..., Result], tmp_path: Path) -> None:
    assert run("--table", "mixed", "--record", "a.jsonl.gz").exit_code == 0
    assert isinstance(run("--table", "mixed", "--record", "a.jsonl.gz").exception, InputError)
    assert run("--table", "mixed", "--record", "a.jsonl.gz", "--resume", "--tokens", 2000).exit_code == 0
    again = run("--recording", "a.jsonl.gz")
    assert again.exit_code == 0
    assert read_recording(tmp_path / "a.jsonl.gz").vocabulary == 8


def test_a_budget_in_seconds(run: Callable[..., Result]) -> None:
    found = json.loads(run("--table", "mixed", "--seconds", 0.5, "--json").stdout)
    assert 0 < found["result"]["tokens"] < 1_000_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"name one decoder, got 0: --table, --callable, --recording, --url, --llama-cpp, --hf, or --self-test"),
        (["--table", "good", "--url", "http://h"], r"name one decoder, got 2"),
        (["--table", "good", "--plant", "accept.never"], r"plant 'accept.never' is unknown"),
        (["--callable", "user_decoder"], r"callable must be MODULE:NAME, got 'user_decoder'"),
        (["--callable", "user_decoder:nothing"], r"callable must name something that can be imported"),
        (["--callable", "user_decoder:generate"], r"--oracle must be given for this decoder"),
        (["--url", "http://h"], r"--vocabulary must be given for this decoder"),
        (["--llama-cpp", "http://h"], r"--eog-ids must be given for this decoder"),
        (["--url", "h", "--vocabulary", "8"], r"url must be http://HOST"),
        (["--table", "good", "--resume"], r"--resume needs --record FILE"),
        (["--recording", "none.jsonl"], r"cannot read none.jsonl"),
    ],
)
def test_bad_input_is_refused(run: Callable[..., Result], arguments: list[str], message: str) -> None:
    error = run(*arguments).exception
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match=message):
        raise error
