"""Engines that others wrote: the frame that runs them, and the results that are kept."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from specsim.cli.main import run as command_line
from specsim.conformance import Output, Request, Rows, TableDecoder, TableModels, TableOracle, Verdict, plan
from specsim.conformance.plan import LEVEL
from specsim.conformance.verdict import CONFORMS, FAILS, INCONCLUSIVE
from specsim.errors import InputError
from validation.claims import engines
from validation.claims.engines import ENGINES, engine, run, tiny_gguf
from validation.claims.engines.checking import Likeliest, check_at
from validation.claims.engines.environment import InstallationError, ready
from validation.claims.engines.protocol import CRASHES, EXPECTED, Case, Environment
from validation.cli.engines import RESULTS, EngineError, run_in
from validation.cli.engines import engines as command

MODELS = TableModels.random(seed=0)
NEEDS = Environment(requirements=("fake==1",), packages=("numpy",))
ROW: dict[str, Any] = {
    "case": str,
    "drafter": str,
    "rule": str,
    "temperature": (int, float, type(None)),
    "gamma": (int, type(None)),
    "model": str,
    "budget": int,
    "tokens": int,
    "requests": int,
    "verdict": str,
    "test": str,
    "hypothesis": str,
    "where": str,
    "smallest_tv": float,
    "expected": str,
    "as_expected": bool,
    "seconds": float,
    "note": str,
}


def verdict(outcome: str = CONFORMS, tokens: int = 10) -> Verdict:
    return Verdict(outcome=outcome, tokens=tokens, requests=1, level=LEVEL, smallest_tv=0.1)


def case(name: str, **change: Any) -> Case:
    fields: dict[str, Any] = {"drafter": "d", "rule": "r", "temperature": 1.0, "gamma": 2, "model": "m", "tokens": 10}
    return Case(**{"name": name, **fields, "run": lambda tokens, seed: verdict(tokens=tokens), **change})


def fake(*cases: Case) -> Any:
    return types.SimpleNamespace(ENVIRONMENT=NEEDS, cases=lambda: cases)


def broken(tokens: int, seed: int) -> Verdict:
    raise RuntimeError("no memory\nleft")


# --- kept results -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_says_what_it_needs_and_keeps_results_of_these_packages(name: str) -> None:
    needs = engine(name).ENVIRONMENT
    stored = json.loads((RESULTS / f"{name}.json").read_text())
    assert needs.requirements or needs.bare
    assert stored["engine"] == name
    assert set(stored["versions"]) == set(needs.packages)
    assert stored["schema"] == 1
    assert stored["level"] == LEVEL
    assert set(stored["device"]) == set(run.DEVICE)
    assert stored["cases"]


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_kept_results_are_whole_and_ended_as_expected(file: Path) -> None:
    assert file.stem in ENGINES
    rows = json.loads(file.read_text())["cases"]
    assert len({row["case"] for row in rows}) == len(rows)
    for row in rows:
        assert {key for key in row if key != "finding"} == set(ROW)
        wrong = {key: row[key] for key, kind in ROW.items() if not isinstance(row[key], kind)}
        assert not wrong
        assert row["expected"] in EXPECTED
        assert row["as_expected"] == (row["verdict"] == row["expected"]), row["case"]
        assert row["as_expected"], row["case"]
        assert row["verdict"] != CONFORMS or 0 < row["smallest_tv"] < 0.5
        assert row["expected"] == CONFORMS or row.get("finding") or row["note"]


@pytest.mark.parametrize("name", ["hf_assisted", "llama_cpp"])
def test_cases_can_be_listed_without_their_engine_and_have_results(name: str) -> None:
    listed = {one.name: one for one in engine(name).cases()}
    rows = {row["case"]: row for row in json.loads((RESULTS / f"{name}.json").read_text())["cases"]}
    assert list(rows) == list(listed)
    assert all(rows[one]["budget"] == listed[one].tokens for one in listed)
    assert {row["temperature"] for row in rows.values()} >= {0.0, 0.7, 1.0, None}
    assert any(row["expected"] == FAILS for row in rows.values()), "a lossy mode is caught"


# --- the child --------------------------------------------------------------------------------------------------------


def test_every_case_is_written_as_soon_as_it_ended(tmp_path: Path) -> None:
    out = tmp_path / "fake.json"

    def second(tokens: int, seed: int) -> Verdict:
        assert [row["case"] for row in json.loads(out.read_text())["cases"]] == ["first"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run("fake", fake(case("first"), case("second", run=second)), out)
    assert [row["case"] for row in json.loads(out.read_text())["cases"]] == ["first"]


def test_finished_cases_are_kept_until_their_setup_changes(tmp_path: Path) -> None:
    out, asked = tmp_path / "fake.json", []

    def counted(tokens: int, seed: int) -> Verdict:
        asked.append((tokens, seed))
        return verdict(FAILS, tokens)

    one = case("one", run=counted)
    assert run.run("fake", fake(one), out)["cases"][0]["as_expected"] is False
    known = replace(one, expect=FAILS, finding="it is wrong")
    (row,) = run.run("fake", fake(known), out)["cases"]  # confirmed by hand: not run again
    assert (row["as_expected"], row["finding"], asked) == (True, "it is wrong", [(10, 0)])
    run.run("fake", fake(replace(known, gamma=3)), out)
    run.run("fake", fake(replace(known, gamma=3)), out, tokens=5)
    run.run("fake", fake(replace(known, gamma=3)), out, tokens=5, seed=1)
    run.run("fake", fake(replace(known, gamma=3)), out, tokens=5, seed=1, fresh=True)
    assert asked == [(10, 0), (10, 0), (5, 0), (5, 1), (5, 1)]


def test_a_crash_is_a_result_and_tried_again(tmp_path: Path) -> None:
    out, crashing = tmp_path / "fake.json", fake(case("bad", run=broken), case("good"))
    first, second = run.run("fake", crashing, out)["cases"]
    assert (first["verdict"], first["hypothesis"], first["tokens"]) == (CRASHES, "RuntimeError: no memory", 0)
    assert second["as_expected"]
    assert run.outcome([first, second]) == 3
    mended = run.run("fake", fake(case("bad"), case("good")), out)["cases"]
    assert run.outcome(mended) == 0
    expected = run.run("fake", fake(case("bad", run=broken, expect=CRASHES, finding="needs memory")), out, fresh=True)
    assert run.outcome(expected["cases"]) == 0
    assert run.outcome([{"as_expected": False, "verdict": INCONCLUSIVE}]) == 1


def test_only_wanted_cases_are_run(tmp_path: Path) -> None:
    out, both = tmp_path / "fake.json", fake(case("cold"), case("warm"))
    assert [row["case"] for row in run.run("fake", both, out, wanted="war")["cases"]] == ["warm"]
    assert [row["case"] for row in run.run("fake", both, out)["cases"]] == ["cold", "warm"]
    with pytest.raises(InputError, match=r"case must be part of a name of fake's cases, got 'hot'"):
        run.run("fake", both, out, wanted="hot")


@pytest.mark.parametrize("text", ["", "[]", '{"engine": "fake"}', '{"engine": "fake", "versions": {}, "cases": 3}'])
def test_a_torn_file_is_refused_and_left(tmp_path: Path, text: str) -> None:
    out = tmp_path / "fake.json"
    out.write_text(text)
    with pytest.raises(InputError, match="must hold results of an engine"):
        run.run("fake", fake(case("one")), out)
    assert out.read_text() == text


def test_cases_say_what_they_expect() -> None:
    with pytest.raises(InputError, match="expect 'passes' is unknown"):
        case("one", expect="passes")
    with pytest.raises(
        InputError, match="finding must come with an expectation other than 'conforms', got it in 'one'"
    ):
        case("one", finding="wrong")
    with pytest.raises(InputError, match="tokens must be at least 1"):
        case("one", tokens=0)
    with pytest.raises(InputError, match="engine 'nope' is unknown"):
        engine("nope")


# --- the parent -------------------------------------------------------------------------------------------------------

CHILD = """#!{python}
import sys
sys.path.insert(0, {root!r})
from specsim.conformance import Verdict
from validation.claims.engines import ENGINES, run
from validation.claims.engines.protocol import Case, Environment

ENVIRONMENT = Environment(requirements=("fake==1",), packages=("numpy",))
def ran(tokens, seed):
    return Verdict(outcome="does not conform", tokens=tokens, requests=1, level=1e-6, hypothesis="hasty")
def cases():
    return (Case(name="one", drafter="d", rule="r", temperature=None, gamma=None, model="m", tokens=9, run=ran),)
ENGINES["hf_assisted"] = "__main__"
sys.argv = ["run", *sys.argv[4:]]
run.main()
"""


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def called(*options: str) -> tuple[int, Any]:
    result = CliRunner().invoke(command, ["hf_assisted", "--json", *options], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, json.loads(result.stdout)


def test_an_engine_runs_through_parent_and_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(engines.__file__).parents[3])
    python = script(tmp_path / "python", CHILD.format(python=sys.executable, root=root))
    monkeypatch.setattr("validation.claims.engines.environment.ready", lambda *_, **__: python)
    code, said = called("--out", str(tmp_path), "--tokens", "7", "--seed", "3")
    stored = json.loads((tmp_path / "hf_assisted.json").read_text())
    assert code == 1
    assert said["result"]["engines"]["hf_assisted"] == stored
    assert (stored["seed"], stored["cases"][0]["tokens"], stored["versions"]["numpy"]) == (3, 7, np.__version__)
    assert stored["cases"][0]["hypothesis"] == "hasty"


@pytest.mark.parametrize(
    ("outcome", "is_expected", "code"),
    [(FAILS, True, 0), (FAILS, False, 1), (INCONCLUSIVE, False, 1), (CRASHES, False, 3)],
)
def test_exit_codes_tell_surprises_from_crashes(
    outcome: str, is_expected: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [run._row(case("one", run=lambda tokens, seed: verdict(outcome)), tokens=9, seed=0)]
    rows[0]["as_expected"] = is_expected
    result = {"engine": "hf_assisted", "versions": {}, "cases": rows}
    monkeypatch.setattr("validation.claims.engines.environment.ready", lambda *_, **__: Path("python"))
    monkeypatch.setattr("validation.cli.engines.run_in", lambda *_: result)
    assert called()[0] == code


def test_a_process_that_dies_or_refuses_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with pytest.raises(EngineError, match="the process of hf_assisted ended with code -6; finished cases are kept in"):
        run_in(script(tmp_path / "dies", "#!/bin/sh\nkill -ABRT $$\n"), "hf_assisted", out, [])
    with pytest.raises(InputError, match="hf_assisted cannot be run like this"):
        run_in(script(tmp_path / "refuses", "#!/bin/sh\nexit 2\n"), "hf_assisted", out, [])
    assert EngineError.exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an engine, or all; known are hf_assisted"),
        (["nope"], "engine 'nope' is unknown"),
        (["all", "--tokens", "0"], "0 is not in the range"),
    ],
)
def test_bad_input_of_the_command(arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["validate", "engines", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_engines_are_listed_with_what_they_install() -> None:
    result = CliRunner().invoke(command, ["--list", "--json"], standalone_mode=False)
    listed = json.loads(result.stdout)["result"]["engines"]
    assert list(listed) == list(ENGINES)
    assert listed["llama_cpp"]["requirements"][0].startswith("xllamacpp==")


# --- environments -----------------------------------------------------------------------------------------------------


def test_environments_are_made_once_and_anew_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(
        "validation.claims.engines.environment.venv.create", lambda place, **_: place.mkdir(exist_ok=True)
    )
    monkeypatch.setattr(
        "validation.claims.engines.environment.subprocess.run", lambda command, **_: made.append(" ".join(command[6:]))
    )
    python = ready("fake", NEEDS, folder=tmp_path)
    assert ready("fake", NEEDS, folder=tmp_path) == python
    assert python.parts[-3:-1] == ("fake", "bin") or sys.platform == "win32"
    assert len(made) == 1
    ready("fake", replace(NEEDS, bare=("other",)), folder=tmp_path)
    assert [calls.split()[0] for calls in made] == ["fake==1", "fake==1", "--no-deps"]


def test_what_cannot_be_installed_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "validation.claims.engines.environment.venv.create", lambda place, **_: place.mkdir(exist_ok=True)
    )
    pip = tmp_path / "fake" / "bin" / "python"
    pip.parent.mkdir(parents=True)
    script(pip, "#!/bin/sh\necho 'ERROR: no such thing' >&2\nexit 1\n")
    for _ in range(2):
        with pytest.raises(InstallationError, match=r"cannot install fake==1 -e .*: no such thing"):
            ready("fake", NEEDS, folder=tmp_path)
    with pytest.raises(InputError, match="engines must be run from a checkout of this project"):
        ready("fake", NEEDS, folder=tmp_path, root=tmp_path)
    assert InstallationError.exit_code == 3


# --- one temperature --------------------------------------------------------------------------------------------------


class Warmer(TableDecoder):
    """Verifies at temperature 1 whatever is asked."""

    def verify_parameters(self, parameters: Any) -> Any:
        return replace(parameters, temperature=1.0)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_temperature_is_held_to_its_own_law(temperature: float) -> None:
    """Null at 0.7: the table's law, level 1e-6; at 0 there is no chance."""
    asked, oracle = plan(tokens=2000, vocabulary=8), TableOracle(MODELS)
    right = check_at(temperature, TableDecoder(MODELS), oracle, asked)
    wrong = check_at(temperature, Warmer(MODELS), oracle, asked)
    assert (right.outcome, wrong.outcome) == (CONFORMS, FAILS)
    if temperature == 0:
        assert right.smallest_tv == pytest.approx(1 - 0.01 ** (1 / right.tokens))


def test_ties_are_free_and_everything_else_is_not() -> None:
    laws = np.log([[0.4, 0.4 - 1e-6, 0.2], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])

    class Fixed:
        def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
            assert requests[0].parameters.temperature == 1
            return Rows(log_p=laws)

    held = Likeliest(Fixed(), margin=1e-3)
    rows = np.exp(held.score([Request(id="a", prompt=(0,))], [Output(tokens=(1, 1, 2), finish_reason="length")]).log_p)
    assert rows.argmax(axis=1).tolist() == [1, 0, 2]
    assert rows.sum() == 3
    assert held.ties == 1


def test_ties_of_listed_tokens() -> None:
    class Listed:
        def score(self, requests: Sequence[Request], outputs: Sequence[Output]) -> Rows:
            return Rows(log_p=np.log([[0.4, 0.4], [0.5, 0.3]]), ids=np.array([[30, 7], [5, 9]]))

    rows = Likeliest(Listed(), margin=1e-3).score(
        [Request(id="a", prompt=(0,))], [Output(tokens=(7, 8), finish_reason="length")]
    )
    assert np.exp(rows.log_p).tolist() == [[0, 1], [1, 0]]
    assert np.asarray(rows.ids).tolist() == [[30, 7], [5, 9]]


# --- tiny models ------------------------------------------------------------------------------------------------------


def test_tiny_llamas_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The file's model has the written weights, ends where it says, and its laws are neither flat nor certain."""
    torch = pytest.importorskip("torch")
    from validation.decoder.pretrained import read_pretrained

    weights, other = tiny_gguf.random_weights(seed=0), tiny_gguf.random_weights(seed=1)
    model, tokenizer = read_pretrained(tiny_gguf.write_gguf(tmp_path / "a.gguf", weights), dtype=torch.float32)
    np.testing.assert_array_equal(model.lm_head.weight.detach().numpy(), weights["output.weight"])
    assert (model.config.vocab_size, tokenizer.eos_token_id) == (tiny_gguf.VOCABULARY, tiny_gguf.END)
    ids = torch.arange(60)[None]
    with torch.no_grad():
        p = torch.softmax(model(ids).logits[0].double(), -1)
    entropy = float(-(p * p.log()).sum(-1).mean())
    assert 1.5 < entropy < 3.5
    near = tiny_gguf.mixed(weights, other, share=0.01)
    gap = (
        np.square(near["output.weight"] - weights["output.weight"]).mean() / np.square(weights["output.weight"]).mean()
    )
    assert gap == pytest.approx(2 - 2 * 0.99**0.5, rel=0.2)
