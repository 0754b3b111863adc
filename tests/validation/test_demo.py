"""The demo from end to end on a tiny random model: every part runs, and what is written fits together."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from specsim.records import read_records
from validation.decoder.tiny import tiny_model
from validation.decoder.wheel import UnreachableError
from validation.demo.prompts import prompts
from validation.demo.tables import answer

SMALL = ("--device", "cpu", "--tokens", 14, "--prompts", 3, "--lossless-rounds", 2000, "--lossless-tokens", 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    for part in tiny_model():
        part.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def outcome(folder, out):
    from specsim.cli.main import run

    code = run([str(word) for word in ("demo", "--model", folder, "--out", out, *SMALL, "--json")])
    assert code in (0, 1)  # 1: so small a run need not tell a planted fault, and says so
    return json.loads((out / "demo.json").read_text())


def test_the_file_holds_what_was_promised(outcome):
    assert set(outcome) == {"schema", "command", "inputs", "result", "assumptions", "version"}
    sides = [
        f"{quantity}_{side}" for quantity in ("tau", "round_seconds", "speedup") for side in ("predicted", "measured")
    ]
    for row in outcome["result"]["predictions"]:
        assert {"proposer", "gamma", "held_out", *sides} <= set(row)
        assert all(row[side] > 0 for side in sides)
    for row in outcome["result"]["lossless"]:
        assert {"test", "model", "n", "pvalue", "passed"} <= set(row)


def test_every_drafter_is_measured_at_every_gamma(outcome):
    rows = outcome["result"]["predictions"]
    assert {(row["gamma"], row["held_out"]) for row in rows} == {(1, False), (4, False), (2, True), (6, True)}
    assert len({row["proposer"] for row in rows}) == 3
    assert len(rows) == 12


def test_no_claim_fell(outcome):
    assert {row["verdict"] for row in outcome["result"]["lossless"]} <= {"passed", "inconclusive"}
    assert min(row["pvalue"] for row in outcome["result"]["lossless"]) > 1e-6


def test_errors_are_those_of_the_held_out_rows(outcome):
    held_out = [row for row in outcome["result"]["predictions"] if row["held_out"]]
    sizes = sorted(abs(row["tau_predicted"] / row["tau_measured"] - 1) for row in held_out)
    tau = next(row for row in outcome["result"]["errors"] if row["quantity"] == "tau")
    assert tau["n"] == len(held_out) == 6
    assert tau["median_absolute_error"] == pytest.approx((sizes[2] + sizes[3]) / 2)


def test_the_rows_of_both_phases_can_be_read_and_calibrated(cli, outcome, out):
    seen = read_records(out / "calibration.jsonl.gz")
    assert {record.gamma for record in seen if record.round == 0} == {0, 1, 4}
    assert {record.gamma for record in read_records(out / "held_out.jsonl.gz") if record.round == 0} == {0, 2, 6}
    assert cli("calibrate", out / "calibration.jsonl.gz", "--proposer", "early exit").code == 0
    assert "choose one with --proposer" in cli("calibrate", out / "calibration.jsonl.gz").err


def test_greedy_texts_are_as_long_whoever_drafts(out, outcome):
    """In float32 greedy text does not depend on drafter and gamma, so neither does its length."""
    tokens = Counter()
    for name in ("calibration.jsonl.gz", "held_out.jsonl.gz"):
        run = -1
        for record in read_records(out / name):
            run += record.round == 0
            if record.proposer == "early exit":  # half as long
                continue
            tokens[name, run, record.request] += record.committed
    lengths = {request: {count for (_, _, of), count in tokens.items() if of == request} for _, _, request in tokens}
    assert set(lengths) == {prompt.name for prompt in prompts(3)}
    assert [len(counts) for counts in lengths.values()] == [1, 1, 1]


def test_the_page_is_there_and_opens_with_the_answer(out, outcome):
    page = (out / "report.html").read_text()
    assert outcome["result"]["answer"].split(",")[0][:40] in page
    assert "https://cdn" not in page


def test_a_stand_in_is_said_first(cli, tmp_path, monkeypatch):
    def unreachable(cache):
        raise UnreachableError("no network")

    monkeypatch.setattr("validation.decoder.load.default_folder", unreachable)
    ran = cli("demo", "--out", tmp_path, *SMALL)
    assert ran.code in (0, 1)
    assert ran.out.splitlines()[0].startswith("No real weights")
    assert "not an answer" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "no/such/folder"), "no/such/folder"),
        (("--gammas", "0"), "calibrate_gammas[0] must be in 1..64, got 0"),
        (("--gammas", "two"), "gammas must be whole numbers"),
        (("--prompts", 1), "prompt_count must be in 2..8, got 1"),
        (("--tokens", 1), "tokens must be at least 14 to draft 6 a round, got 1"),
        (("--held-out", "2,8"), "tokens must be at least 18 to draft 8 a round, got 16"),
        (("--dtype", "float8"), "'float8'"),
        (("--device", "tpu"), "'tpu'"),
    ],
)
def test_bad_input_writes_nothing(cli, tmp_path, words, message):
    ran = cli("demo", "--out", tmp_path / "out", *words)
    assert ran.code == 2
    assert message in ran.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(cli, folder, tmp_path):
    (tmp_path / "file").write_text("")
    ran = cli("demo", "--model", folder, "--out", tmp_path / "file" / "out", *SMALL)
    assert ran.code == 2
    assert "cannot write" in ran.err
    assert "calibrate" not in ran.err


def test_a_drafter_with_another_vocabulary_is_refused(cli, folder, tmp_path):
    model, tokenizer = tiny_model()
    other = LlamaForCausalLM(LlamaConfig(**model.config.to_dict() | {"vocab_size": 300}))
    for part in (other, tokenizer):
        part.save_pretrained(tmp_path / "other")
    ran = cli("demo", "--model", folder, "--drafter", tmp_path / "other", "--out", tmp_path / "out", *SMALL)
    assert ran.code == 2
    assert "proposer drafter other must have the target's vocabulary of 257 tokens, got 300" in ran.err
    assert list((tmp_path / "out").iterdir()) == []


def test_the_sentence_says_no_when_nothing_pays():
    row = {"proposer": "a", "gamma": 2, "speedup_predicted": 0.8}
    row |= {"speedup_measured": 0.7, "speedup_measured_low": 0.6, "speedup_measured_high": 0.8}
    assert answer([row], [], is_real=True).startswith("Do not speculate here")
    row |= {"speedup_measured": 1.7, "speedup_measured_low": 1.6, "speedup_measured_high": 1.8}
    assert answer([row], [], is_real=True).startswith("Speculate here: a at gamma 2 decodes at 1.70 times")
    row |= {"speedup_measured_low": 0.9}
    assert "this run cannot tell" in answer([row], [], is_real=True)


def test_placement_stays_within_memory(outcome):
    from specsim.catalog import hardware, model

    rows = outcome["result"]["placement"]
    assert {row["hardware"] for row in rows} == {"H100-SXM", "H200-SXM"}
    for row in rows:
        shape = model(row["model"])
        held = shape.weight_bytes + row["batch"] * 1024 * shape.kv_bytes_per_token
        assert held <= hardware(row["hardware"]).memory_bytes
