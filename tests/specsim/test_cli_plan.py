"""`specsim plan`: one answer for people and programs, and one line for whatever is wrong."""

import json

import pytest

from specsim.catalog import hardware, model
from specsim.drafters import METHODS
from specsim.engines import ENGINES

DENSE = ("plan", "--model", "Llama-3.1-8B", "--hardware", "H100-SXM", "--batch", 8)
QUICK = (*DENSE, "--ideal", "--tensor-parallel", 1, "--method", "eagle3", "--method", "ngram", "--accept", "eagle3=0.7")
TARGETS = {
    "dense 8B": ("Llama-3.1-8B", 1),
    "dense 70B on 4": ("Llama-3.1-70B", 4),
    "mixture": ("Qwen3-30B-A3B", 1),
}


@pytest.mark.parametrize("place", TARGETS)
def test_every_drafter_has_a_row(cli, place):
    name, devices = TARGETS[place]
    words = ("--model", name, "--hardware", "H100-SXM", "--batch", 8, "--tensor-parallel", devices, "--ideal")
    ran = cli("plan", *words, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert {row["method"] for row in ran.result["candidates"]} == {*METHODS, "plain"}
    assert ran.result["rejected"] == {}
    assert ran.result["best"] == ran.result["candidates"][0]["method"]


def test_people_get_a_sentence_a_ranking_and_what_moves_it(cli):
    ran = cli(*QUICK)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Speculate with eagle3, ")
    assert "on 1 H100-SXM: " in ran.out
    assert "times plain decoding (95% interval" in ran.out
    for word in ("eagle3", "ngram", "plain", "what moves the best speedup", "acceptance"):
        assert word in ran.out
    assert "price/1M" not in ran.out  # nobody said what an hour costs
    assert "GPUs" not in ran.out  # one degree alone was asked for


def test_json_is_strict_and_in_si_units(cli):
    ran = cli(*QUICK, "--price", 2.5, "--json")
    json.loads(ran.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    best = ran.result["candidates"][0]
    assert best["memory_bytes"] > model("Llama-3.1-8B").weight_bytes
    assert best["price_per_million"] == pytest.approx(2.5 / 3600 / best["device_tokens_per_second"] * 1e6)
    assert ran.result["candidates"][-1]["speedup_low"] is None  # plain decoding has no interval
    swings = [row["swing"] for row in ran.result["sensitivities"]]
    assert swings == sorted(swings, reverse=True)
    assert any("eagle3: acceptance given" in line for line in ran.json["assumptions"])
    assert ran.json["inputs"]["accept"] == ["eagle3=0.7"]


def test_price_and_degrees_get_their_columns(cli):
    words = cli(
        *DENSE, "--ideal", "--method", "ngram", "--price", 2, "--objective", "user", "--tensor-parallel", "1,2"
    ).out
    assert "price/1M" in words
    ran = cli(*DENSE, "--ideal", "--method", "ngram", "--tensor-parallel", "2,4", "--json")
    assert {row["tensor_parallel"] for row in ran.result["candidates"]} <= {2, 4}


def test_acceptance_by_depth_holds_its_last(cli):
    constant, by_depth = (
        cli(*DENSE, "--ideal", "--method", "eagle3", "--accept", f"eagle3={text}", "--json").result
        for text in (0.7, "0.7,0.7")
    )
    assert constant["candidates"][0]["E_tokens"] == pytest.approx(by_depth["candidates"][0]["E_tokens"], rel=1e-12)


def test_no_speculation_is_an_answer(cli):
    ran = cli(*DENSE, "--ideal", "--method", "eagle3", "--accept", "eagle3=0")
    assert ran.code == 0
    assert ran.out.startswith("Do not speculate: no drafter beats plain decoding here.")
    assert "what moves" not in ran.out


def test_a_slow_drafter_is_listed_with_its_reason(cli):
    ran = cli(*DENSE, "--ideal", "--tensor-parallel", 1, "--user-speed", 250, "--method", "eagle3", "--method", "rest")
    assert ran.code == 0
    assert "- rest: too slow: " in ran.out


@pytest.mark.parametrize("engine", ENGINES)
def test_settings_are_pasted(cli, engine):
    words = (*DENSE, "--ideal", "--tensor-parallel", 1, "--method", "ngram", "--accept", "ngram=0.6", "--for", engine)
    asked = (*words, "--target-model", "who/t", "--schedule", "--rehearse")
    ran = cli(*asked)
    assert ran.code == 0
    assert "who/t" in ran.out
    assert "worthless" in ran.out  # a rehearsal says what its text is
    result = cli(*asked, "--json").result["settings"]
    assert result["engine"] == engine
    assert result["method"] == "ngram"


def test_settings_that_no_engine_has_are_told_and_the_plan_stands(cli):
    words = (*DENSE, "--ideal", "--tensor-parallel", 1, "--method", "hydra", "--for", "vllm")
    assert "No settings: vllm runs none of the plan's methods: hydra: " in cli(*words).out
    assert cli(*words, "--json").result["settings"]["refused"].startswith("vllm runs none")


def test_parts_come_from_files_too(cli, tmp_path):
    (tmp_path / "ours.toml").write_text('base = "H100-SXM"\nprice_per_hour = 2.0')
    config = {
        "model_type": "llama",
        "num_hidden_layers": 16,
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 8192,
        "vocab_size": 128256,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = (
        "--model",
        tmp_path / "config.json",
        "--hardware",
        tmp_path / "ours.toml",
        "--batch",
        4,
        "--method",
        "eagle3",
    )
    ran = cli("plan", *words, "--ideal", "--json")
    assert ran.code == 0
    assert ran.result["candidates"][0]["price_per_million"] > 0


def test_a_model_that_does_not_fit_is_exit_code_1_with_the_remedy(cli):
    large = ("plan", "--model", "Llama-3.1-70B", "--hardware", "H100-SXM", "--ideal", "--method", "ngram", "--json")
    ran = cli(*large, "--batch", 8, "--tensor-parallel", 1)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: Llama-3.1-70B with 8 sequences of 1024 tokens needs ")
    assert ran.err.rstrip().endswith("feasible with weights of 4 bits or tensor parallelism over 2")
    assert len(ran.err.splitlines()) == 1
    assert cli(*large, "--batch", 8, "--tensor-parallel", 2).code == 0


def test_a_speed_that_nothing_reaches_is_exit_code_1(cli):
    ran = cli(*DENSE, "--ideal", "--tensor-parallel", 1, "--method", "ngram", "--user-speed", 1e6)
    assert (ran.code, ran.out) == (1, "")
    assert "no way gives each user 1e+06 tokens/s at batch 8: the fastest is ngram at gamma" in ran.err
    assert len(ran.err.splitlines()) == 1


TOML = {
    "tflops.toml": 'base = "H100-SXM"\nflop_per_second = {bfloat16 = 989.0}',
    "gigabytes.toml": 'base = "H100-SXM"\nmemory_bytes = 80.0',
    "odd.toml": 'base = "H100-SXM"\ncores = 3',
    "broken.toml": "base = ",
}
JSON = {
    "missing.json": {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 10},
    "unknown.json": {"model_type": "abacus"},
}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "Llama-9"), "model 'Llama-9' is unknown; did you mean Llama-3"),
        (("--hardware", "H1000"), "hardware 'H1000' is unknown; did you mean H"),
        (("--method", "eagle4"), "method 'eagle4' is unknown; did you mean eagle"),
        (("--objective", "cheap"), "objective 'cheap' is unknown; known: device, user"),
        (("--for", "tgi"), "engine 'tgi' is unknown; known: llama_cpp, sglang, vllm"),
        (("--task", "poetry"), "task 'poetry' is unknown; known: "),
        (("--kernels", "tgi"), " is unknown; known: "),
        (("--ideal", "--kernels", "vllm"), "give one of --ideal and --kernels, got both"),
        (("--batch", 0), "batch must be at least 1, got 0"),
        (("--batch", -3), "batch must be at least 1, got -3"),
        (("--batch", "many"), "'many' is not a valid integer"),
        (("--context", -1), "context must be at least 0, got -1"),
        (("--user-speed", 0), "user_tokens_per_second must be above 0, got 0"),
        (("--price", -1), "price must be at least 0, got -1"),
        (("--price", "nan"), "price must be at least 0, got nan"),
        (("--tensor-parallel", 0), "tensor_parallel must be at least 1, got 0"),
        (("--tensor-parallel", 3), "heads must be a multiple of tensor_parallel 3, got 32"),
        (("--tensor-parallel", "a,b"), "tensor-parallel must be whole numbers separated by commas, got 'a,b'"),
        (("--accept", "eagle3"), "accept must be METHOD=ALPHA, got 'eagle3'"),
        (("--accept", "eagle3="), "alpha must be a number or numbers separated by commas, got ''"),
        (("--accept", "eagle3=1.2"), "alpha must be in [0, 1], got 1.2"),
        (("--accept", "eagle3=high"), "alpha must be a number or numbers separated by commas, got 'high'"),
        (("--accept", "eagle4=0.5"), "method of acceptance 'eagle4' is unknown; did you mean eagle"),
        (("--accept", "eagle3=0.5", "--accept", "eagle3=0.6"), "accept must be given once for eagle3"),
        (("--hardware", "none.toml"), "none.toml: cannot be read"),
        (
            ("--hardware", "tflops.toml"),
            "flop_per_second.bfloat16 must be in FLOP/s, so 989 TFLOP/s is 989e12; got 989",
        ),
        (("--hardware", "gigabytes.toml"), "memory_bytes must be in byte, so 80 GB is 80e9; got 80"),
        (("--hardware", "odd.toml"), "key 'cores' is unknown; "),
        (("--hardware", "broken.toml"), "broken.toml: must be TOML: "),
        (("--model", "none.json"), "none.json"),
        (("--model", "missing.json"), "num_hidden_layers"),
        (("--model", "unknown.json"), "'abacus' is unknown"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cli, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name, text in TOML.items():
        (tmp_path / name).write_text(text)
    for name, content in JSON.items():
        (tmp_path / name).write_text(json.dumps(content))
    ran = cli(*DENSE, "--method", "ngram", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_drafter_with_another_vocabulary_is_rejected_by_name(cli, tmp_path):
    """A target of a vocabulary that no small model of the catalogue has."""
    config = {
        "model_type": "llama",
        "num_hidden_layers": 8,
        "hidden_size": 1024,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "vocab_size": 77_777,
    }
    (tmp_path / "odd.json").write_text(json.dumps(config))
    words = ("--model", tmp_path / "odd.json", "--hardware", "H100-SXM", "--batch", 1, "--ideal")
    ran = cli("plan", *words, "--method", "model", "--method", "pard", "--method", "ngram", "--json")
    assert ran.code == 0
    assert {row["method"] for row in ran.result["candidates"]} == {"ngram", "plain"}
    for name in ("model", "pard"):
        assert "77777 tokens" in ran.result["rejected"][name]


def test_the_default_is_the_best_that_is_known(cli):
    """A part without a fit takes round figures, and says so."""
    words = ("plan", "--model", "Llama-3.1-8B", "--hardware", "MI300X", "--batch", 1, "--method", "ngram", "--json")
    assert "passes: assumed for CDNA 3: round figures, not measured" in cli(*words).json["assumptions"]
    assert hardware("MI300X").generation == "CDNA 3"
