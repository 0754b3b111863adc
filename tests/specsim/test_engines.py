"""Settings hold only flags that the engines' current releases know, and say what the plan says."""

import ast
import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim.engines import ENGINES, METHODS, OFFERED, Asked, llama_cpp, sglang, vllm
from specsim.engines.offered import VERSIONS
from specsim.errors import InfeasibleError, InputError

PLAN = {"target": "meta-llama/Llama-3.1-70B-Instruct", "gamma": 4, "max_batch": 64, "max_context": 8192}
WEIGHTS = dict.fromkeys(METHODS, "someone/drafter") | {
    "ngram": None,
    "suffix": None,
    "lookahead": None,
    "draft_verify": None,
    "layer_skip": None,
    "sparse_kv": None,
    "mtp": None,
}
CASES = [(engine, method) for engine in ENGINES for method in METHODS]
SERVED = [(engine, method) for engine, methods in OFFERED.items() for method in methods]
FULL = {
    "tensor_parallel": 4,
    "draft_tensor_parallel": 4,
    "schedule": [(1, 8, 4), (9, 32, 2), (33, 64, 0)],
    "acceptance": [0.8, 0.7, 0.6, 0.5],
}
# Every key that the settings may use, as the release named in VERSIONS has it.
VLLM_KEYS = {
    "method",
    "model",
    "num_speculative_tokens",
    "prompt_lookup_min",
    "prompt_lookup_max",
    "parallel_drafting",
    "draft_tensor_parallel_size",
    "num_speculative_tokens_per_batch_size",
    "rejection_sample_method",
    "synthetic_acceptance_rates",
}
VLLM_METHODS = {"ngram", "draft_model", "suffix", "eagle", "eagle3", "mtp", "dflash", "dspark"}
SGLANG_KEYS = {
    "model_path",
    "tp_size",
    "max_running_requests",
    "context_length",
    "speculative_algorithm",
    "speculative_draft_model_path",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_dflash_block_size",
    "speculative_dspark_block_size",
    "speculative_ngram_max_bfs_breadth",
    "speculative_ngram_external_corpus_path",
    "speculative_ngram_external_sam_budget",
}
SGLANG_METHODS = {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK"}
LLAMA_CPP_KEYS = {
    "model",
    "hf-repo",
    "parallel",
    "ctx-size",
    "split-mode",
    "spec-type",
    "spec-draft-model",
    "spec-draft-hf",
    "spec-draft-n-max",
    "spec-ngram-simple-size-m",
    "spec-synth-rates",
}
LLAMA_CPP_METHODS = {"draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark", "ngram-simple"}
KEYS = {"vllm": VLLM_KEYS, "sglang": SGLANG_KEYS, "llama_cpp": LLAMA_CPP_KEYS}
NAMES = {"vllm": VLLM_METHODS, "sglang": SGLANG_METHODS, "llama_cpp": LLAMA_CPP_METHODS}
NAME_KEY = {"vllm": "method", "sglang": "speculative_algorithm", "llama_cpp": "spec-type"}
# Gone from the engines, but alive in blog posts: as a whole word of a command, or as a key.
REMOVED = {
    "--speculative-model",
    "--speculative_model",
    "speculative_model",
    "--num-speculative-tokens",
    "--num_speculative_tokens",
    "[ngram]",
    "--ngram-prompt-lookup-max",
    "--ngram-prompt-lookup-min",
    "ngram_prompt_lookup_max",
    "ngram_prompt_lookup_min",
    "--use-v2-block-manager",
    "use_v2_block_manager",
    "speculative_token_tree",
    "speculative_disable_by_batch_size",
    "disable_by_batch_size",
    "acceptance_method",
    "synthetic_acceptance_rate",
    "medusa",
    "mlp_speculator",
    "deepseek_mtp",
    "--speculative-ngram-min-match-window-size",
    "--speculative-ngram-max-match-window-size",
    "LOOKAHEAD",
    "--draft",
    "--draft-n",
    "--draft-max",
    "--draft-min",
    "--draft-n-min",
    "--spec-ngram-size-n",
    "--spec-ngram-size-m",
    "--spec-ngram-min-hits",
}


def answer(engine, method, **more):
    """The settings, or None where the engine does not offer the method."""
    try:
        return ENGINES[engine](method=method, draft_model=WEIGHTS[method], **PLAN | more)
    except InfeasibleError:
        return None


def words(settings):
    """All words of the command, of its JSON, and of the config."""
    found = set(shlex.split(settings.command)) | set(settings.config) | set(map(str, settings.config.values()))
    return found | {word.split("=")[0] for word in found}


@pytest.mark.parametrize(("engine", "method"), CASES)
def test_an_answer_or_who_has_one(engine, method):
    settings = answer(engine, method, **FULL)
    assert (settings is not None) == (method in OFFERED[engine])
    if settings is None:
        with pytest.raises(InfeasibleError) as refused:
            ENGINES[engine](method=method, draft_model=WEIGHTS[method], **PLAN)
        told = str(refused.value)
        assert told.startswith(f"{engine} ({VERSIONS[engine]}) does not offer {method}; ")
        offering = [other for other in ENGINES if method in OFFERED[other]]
        assert all(other in told.split("; ")[1] for other in offering)
        assert ("no engine here does" in told) == (not offering)


@pytest.mark.parametrize("full", [{}, FULL], ids=["plain", "full"])
@pytest.mark.parametrize(("engine", "method"), SERVED)
def test_only_flags_of_the_current_release(engine, method, full):
    settings = answer(engine, method, **full)
    assert set(settings.config) <= KEYS[engine]
    assert settings.config[NAME_KEY[engine]] in NAMES[engine]
    assert not words(settings) & REMOVED
    assert (settings.engine, settings.version) == (engine, VERSIONS[engine])


def test_removed_flags_would_be_seen():
    old = "vllm serve m --speculative-model [ngram] --num-speculative-tokens=4 --use-v2-block-manager"
    planted = answer("vllm", "ngram")
    planted = type(planted)(engine="vllm", version="old", command=old, config={"ngram_prompt_lookup_max": 4})
    assert words(planted) & REMOVED == {
        "--speculative-model",
        "[ngram]",
        "--num-speculative-tokens",
        "--use-v2-block-manager",
        "ngram_prompt_lookup_max",
    }


@pytest.mark.parametrize("full", [{}, FULL], ids=["plain", "full"])
@pytest.mark.parametrize(("engine", "method"), SERVED)
def test_command_config_and_snippet_say_the_same(engine, method, full):
    settings = answer(engine, method, **full)
    assert json.loads(json.dumps(settings.config)) == settings.config
    split = shlex.split(settings.command)
    assert "\n" not in settings.command
    if engine == "vllm":
        assert split[:3] == ["vllm", "serve", PLAN["target"]]
        assert json.loads(split[split.index("--speculative-config") + 1]) == settings.config
    else:
        given_flags = dict(
            zip(split[-2 * len(settings.config) :: 2], split[1 - 2 * len(settings.config) :: 2], strict=True)
        )
        assert given_flags == {f"--{key.replace('_', '-')}": str(value) for key, value in settings.config.items()}
    if engine != "llama_cpp":
        call = ast.parse(settings.snippet).body[-1].value
        arguments = ast.literal_eval(call.keywords[0].value)
        assert arguments.get("speculative_config", arguments) == settings.config


def test_engines_and_tables_agree():
    assert set(ENGINES) == set(OFFERED) == set(VERSIONS)
    assert all(set(methods) <= set(METHODS) for methods in OFFERED.values())
    # What nobody serves: a drafter planned with one of these needs an engine of its own.
    unserved = {"lookahead", "draft_verify", "layer_skip", "sparse_kv", "medusa", "hydra", "gloeckle"}
    assert set(METHODS) - set().union(*OFFERED.values()) == unserved


def test_vllm_in_full():
    settings = vllm(method="eagle3", draft_model="yuhuili/EAGLE3-LLaMA3.1-Instruct-70B", **PLAN, **FULL)
    assert settings.config == {
        "method": "eagle3",
        "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-70B",
        "num_speculative_tokens": 4,
        "draft_tensor_parallel_size": 4,
        "num_speculative_tokens_per_batch_size": [[1, 8, 4], [9, 32, 2], [33, 64, 0]],
        "rejection_sample_method": "synthetic",
        "synthetic_acceptance_rates": [0.8, 0.56, 0.336, 0.168],
    }
    assert settings.command.startswith(
        "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-num-seqs 64 --max-model-len 8192 "
        "--speculative-config '{"
    )


@given(st.lists(st.floats(0, 1), min_size=4, max_size=12))
def test_rehearsals_accept_by_survival(acceptance):
    rates = vllm(method="suffix", **PLAN, acceptance=acceptance).config["synthetic_acceptance_rates"]
    # What vLLM checks: one rate for each draft, in [0, 1], not rising.
    assert len(rates) == PLAN["gamma"]
    assert all(0 <= rate <= 1 for rate in rates)
    assert rates == sorted(rates, reverse=True)
    product = 1.0
    for rate, alpha in zip(rates, acceptance, strict=False):
        product *= alpha
        assert rate == pytest.approx(product, abs=1e-11)
    length = 1 + sum(rates)
    variable = shlex.split(sglang(method="ngram", **PLAN, acceptance=acceptance).command)[0]
    assert float(variable.removeprefix("SGLANG_SIMULATE_ACC_LEN=")) == pytest.approx(length, rel=1e-5)
    given_rates = llama_cpp(method="ngram", **PLAN, acceptance=acceptance).config["spec-synth-rates"].split(",")
    assert [float(rate) for rate in given_rates] == pytest.approx(rates, rel=1e-5, abs=1e-11)


def test_parallel_drafters_are_said_to_be():
    for method in METHODS:
        settings = answer("vllm", method)
        if settings is not None:
            assert settings.config.get("parallel_drafting", False) == (method in ("pard", "p_eagle"))


def test_a_draft_model_is_split_like_its_target():
    split = {"tensor_parallel": 4, "draft_tensor_parallel": 1}
    settings = vllm(method="model", draft_model="d", **PLAN, **split)
    assert settings.config["draft_tensor_parallel_size"] == 4
    assert "over 4 devices, where the plan has 1" in settings.notes[0]
    assert vllm(method="eagle3", draft_model="d", **PLAN, **split).config["draft_tensor_parallel_size"] == 1
    assert "where the plan has 1" in sglang(method="eagle3", draft_model="d", **PLAN, **split).notes[0]
    with pytest.raises(InfeasibleError, match="over 1 device or over the target's 4, not 2"):
        vllm(method="eagle3", draft_model="d", **PLAN, tensor_parallel=4, draft_tensor_parallel=2)


def test_trees_go_to_sglang():
    tree = {"draft_model": "d", "tree": (59, 10, 6), **PLAN}
    config = sglang(method="eagle2", **tree).config
    assert config["speculative_num_steps"] == 6
    assert config["speculative_eagle_topk"] == 10
    assert config["speculative_num_draft_tokens"] == 60  # with the last accepted token
    for engine in (vllm, llama_cpp):
        with pytest.raises(InfeasibleError, match="verifies a chain, not a tree; sglang does"):
            engine(method="eagle3", **tree)
    with pytest.raises(InfeasibleError, match="drafts chains with dflash, not trees"):
        sglang(method="dflash", **tree)


def test_sglang_verifies_one_token_more_than_it_drafts():
    assert sglang(method="model", draft_model="d", **PLAN).config["speculative_num_draft_tokens"] == 5
    assert sglang(method="ngram", **PLAN).config["speculative_num_draft_tokens"] == 5
    assert sglang(method="dflash", draft_model="d", **PLAN).config["speculative_dflash_block_size"] == 5
    assert sglang(method="dspark", **PLAN).config["speculative_dspark_block_size"] == 4


def test_a_tree_rehearses_its_depth():
    plan = PLAN | {"tree": (20, 4, 3), "acceptance": [0.9, 0.8, 0.5]}
    command = sglang(method="eagle2", draft_model="d", **plan).command
    assert command.startswith("SGLANG_SIMULATE_ACC_LEN=2.98 SGLANG_SIMULATE_ACC_METHOD=match-expected python3 ")


def test_dspark_rehearses_with_all_drafts_verified():
    for method in ("dspark", "dflash"):
        command = sglang(method=method, draft_model="d", **PLAN, acceptance=[0.5] * 4).command
        assert ("SGLANG_RAGGED_VERIFY_MODE=static" in shlex.split(command)) == (method == "dspark")


def test_rest_is_sglangs_corpus():
    config = sglang(method="rest", draft_model="corpus.jsonl", **PLAN).config
    assert config["speculative_ngram_external_corpus_path"] == "corpus.jsonl"
    # SGLang's own check: the corpus may fill all nodes but the root.
    assert config["speculative_ngram_external_sam_budget"] == config["speculative_num_draft_tokens"] - 1
    assert "speculative_draft_model_path" not in config


def test_llama_cpp_takes_files_and_repositories():
    files = llama_cpp(method="model", **PLAN | {"target": "a b.gguf"}, draft_model="d.gguf").config
    assert (files["model"], files["spec-draft-model"]) == ("a b.gguf", "d.gguf")
    repositories = llama_cpp(method="model", **PLAN, draft_model="who/d").config
    assert (repositories["hf-repo"], repositories["spec-draft-hf"]) == (PLAN["target"], "who/d")
    assert repositories["ctx-size"] == 64 * 8192  # slots share it
    assert "split-mode" not in repositories
    assert llama_cpp(method="mtp", **PLAN, tensor_parallel=2).config["split-mode"] == "tensor"


def test_awkward_names_survive_the_shell():
    target = 'models/it\'s "mine" $HOME'
    for engine in ENGINES.values():
        assert target in shlex.split(engine(method="ngram", **PLAN | {"target": target}).command)


def test_a_schedule_that_an_engine_cannot_follow_is_noted():
    schedule = {"schedule": [(1, 64, 4)]}
    for engine in (sglang, llama_cpp):
        assert any(
            "no schedule by batch size: 4 drafts" in note for note in engine(method="ngram", **PLAN, **schedule).notes
        )
    assert any("V1 drafts 4" in note for note in vllm(method="suffix", **PLAN, **schedule).notes)
    assert not any("V1 drafts" in note for note in vllm(method="ngram", **PLAN, **schedule).notes)


@pytest.mark.parametrize("engine", ENGINES)
def test_rehearsals_are_marked(engine):
    with_rates, without = answer(engine, "ngram", acceptance=[0.5] * 4), answer(engine, "ngram")
    assert "worthless" in with_rates.notes[-1]
    assert not any("worthless" in note for note in without.notes)
    assert "synth" not in without.command.lower()
    assert "SIMULATE" not in without.command


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "eagle"}, "method 'eagle' is unknown; did you mean eagle"),
        ({"target": ""}, "target must be a model's name or path, got ''"),
        ({"gamma": 0}, "gamma must be at least 1, got 0"),
        ({"gamma": 2.0}, "gamma must be a whole number, got 2.0"),
        ({"max_batch": 0}, "max_batch must be at least 1, got 0"),
        ({"max_context": 0}, "max_context must be at least 1, got 0"),
        ({"tensor_parallel": 0}, "tensor_parallel must be at least 1, got 0"),
        ({"draft_model": "d"}, "draft_model must be None for ngram or a name, got 'd'"),
        ({"method": "eagle3"}, r"draft_model must name the weights \(or corpus\) for eagle3, got None"),
        ({"method": "eagle3", "draft_model": ""}, "draft_model must be None for eagle3 or a name, got ''"),
        ({"tree": (4, 2)}, r"tree must be \(nodes, top_k, depth\), got \(4, 2\)"),
        ({"tree": (4, 0, 2)}, r"tree\[1\] must be at least 1, got 0"),
        ({"tree": (7, 2, 2)}, r"tree of top_k 2 and depth 2 must have 2..6 nodes, got 7"),
        ({"tree": (3, 2, 4)}, r"must have 4..14 nodes, got 3"),
        ({"schedule": []}, "schedule must have a row"),
        ({"schedule": [(1, 8)]}, r"schedule\[0\] must be \(first batch, last batch, gamma\), got \(1, 8\)"),
        ({"schedule": [(2, 8, 4)]}, r"schedule\[0\] must start at batch 1, got 2"),
        ({"schedule": [(1, 8, 4), (10, 12, 1)]}, r"schedule\[1\] must start at batch 9, got 10"),
        ({"schedule": [(1, 8, 4), (8, 12, 1)]}, r"schedule\[1\] must start at batch 9, got 8"),
        ({"schedule": [(1, 0, 4)]}, r"schedule\[0\]\[1\] must be at least 1, got 0"),
        ({"schedule": [(1, 8, 5)]}, r"schedule\[0\]\[2\] must be in 0..4, got 5"),
        ({"acceptance": [0.5, 1.5, 0.5, 0.5]}, r"acceptance\[1\] must be in \[0, 1\], got 1.5"),
        ({"acceptance": [0.5]}, "acceptance must have 4 values, one by depth, got 1"),
        ({"acceptance": [0.5, 0.5], "tree": (9, 2, 3)}, "acceptance must have 3 values"),
    ],
)
def test_plans_that_cannot_be_are_refused(change, message):
    Asked(method="ngram", **PLAN)
    for ask in (Asked, *ENGINES.values()):
        with pytest.raises(InputError, match=message):
            ask(**{"method": "ngram", **PLAN} | change)
