"""Two ways to each size: the shape's formulas, and the modules that transformers builds from the same config.

Models are built on the meta device, which counts parameters and allocates nothing, so that the largest count too.
Operations and cached numbers are counted in small models that really run.
"""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLMoeConfig,
    Qwen3VLMoeForConditionalGeneration,
)

from specsim.catalog import ModelShape
from specsim.catalog.architectures import ARCHITECTURES

REAL = json.loads((Path(__file__).parents[1] / "reference" / "hf_configs.json").read_text(encoding="utf-8"))
SIZES = {
    "num_hidden_layers": 8,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 20,
    "intermediate_size": 48,
    "vocab_size": 100,
}
MIXTRAL = {"num_local_experts": 4, "num_experts_per_tok": 2}
QWEN = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "decoder_sparse_step": 2}
SHARED = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 40,
}
DEEPSEEK = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "n_shared_experts": 2,
    "first_k_dense_replace": 3,
    "n_group": 1,
    "topk_group": 1,
}
LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 20,
    "kv_lora_rank": 12,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 24,
}
LINEAR = {
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 3,
}
# By model_type: what it needs beyond the sizes, and what else its code can turn on.
NEEDS = {
    "llama": {},
    "mistral": {},
    "mixtral": MIXTRAL,
    "qwen2": {},
    "qwen2_moe": SHARED | {"mlp_only_layers": [1]},
    "qwen3": {},
    "qwen3_vl_text": {},
    "qwen3_moe": QWEN,
    "qwen3_vl_moe_text": QWEN,
    "qwen3_next": SHARED | LINEAR,
    "qwen3_5_text": LINEAR,
    "qwen3_5_moe_text": SHARED | LINEAR,
    "gemma2": {},
    "gemma3_text": {},
    "deepseek_v2": DEEPSEEK | LATENT,
    "deepseek_v3": DEEPSEEK | LATENT,
    "kimi_k2": DEEPSEEK | LATENT,
    "gpt_oss": MIXTRAL,
    "phi3": {},
    "olmo2": {},
    "smollm3": {},
    "granite": {},
    "glm4_moe": DEEPSEEK,
    "llama4_text": MIXTRAL | {"intermediate_size_mlp": 32, "interleave_moe_layer_step": 2},
}
OPTIONS = {
    "llama": {"attention_bias": True, "mlp_bias": True},
    "qwen2_moe": {"qkv_bias": False},
    "qwen3": {"attention_bias": True, "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 5},
    "qwen3_moe": {"attention_bias": True, "mlp_only_layers": [1, 3]},
    "qwen3_next": {"attention_bias": True, "mlp_only_layers": [0]},
    "gemma2": {"attention_bias": True},
    "gemma3_text": {"attention_bias": True},
    "deepseek_v2": {"q_lora_rank": None},
    "deepseek_v3": {"attention_bias": True, "n_shared_experts": 1},
    "olmo2": {"attention_bias": True},
    "smollm3": {"attention_bias": True, "mlp_bias": True},
    "granite": {"attention_bias": True, "mlp_bias": True},
    "glm4_moe": {"attention_bias": True, "use_qk_norm": True},
    "llama4_text": {"attention_bias": True, "interleave_moe_layer_step": 3},
}
TWINS = {"kimi_k2": "deepseek_v3"}  # the same code under another name
VISION = {  # the smallest that builds; it is not counted
    "depth": 1,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_heads": 2,
    "out_hidden_size": 64,
    "deepstack_visual_indexes": [0],
}
MULTIMODAL = {
    "qwen3_vl_text": (Qwen3VLConfig, Qwen3VLForConditionalGeneration),
    "qwen3_vl_moe_text": (Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration),
}
SIGLIP = {
    "hidden_size": 1152,
    "image_size": 896,
    "intermediate_size": 4304,
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "patch_size": 14,
    "vision_use_head": False,
}


def hf_config(config):
    content = {key: value for key, value in config.items() if key not in ("quantization_config", "torch_dtype")}
    kind = content.pop("model_type")
    ends = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None}
    return AutoConfig.for_model(TWINS.get(kind, kind), **ends, **content)


def modules(config):
    """The language model and its head, on the meta device."""
    if config["model_type"] in MULTIMODAL:
        kind, whole = MULTIMODAL[config["model_type"]]
        tied = config.get("tie_word_embeddings", False)
        with torch.device("meta"):
            model = whole(kind(text_config=config, vision_config=VISION, tie_word_embeddings=tied))
        return torch.nn.ModuleList([model.model.language_model, model.lm_head])
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(hf_config(config))


def count(model):
    """Parameters, and the router's bias where it is kept as a buffer: checkpoints store it all the same."""
    balance = sum(buffer.numel() for name, buffer in model.named_buffers() if "e_score_correction_bias" in name)
    return sum(parameter.numel() for parameter in model.parameters()) + balance


def tiny(kind, **more):
    return SIZES | NEEDS[kind] | {"model_type": kind} | more


def running(config):
    torch.manual_seed(0)
    built = hf_config(config)
    built._experts_implementation = "eager"
    return AutoModelForCausalLM.from_config(built, attn_implementation="eager").eval()


def test_every_architecture_has_a_twin():
    assert set(NEEDS) == set(ARCHITECTURES)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", NEEDS)
def test_parameters_of_every_architecture(kind, tied):
    config = tiny(kind, tie_word_embeddings=tied)
    assert ModelShape.from_config(config).parameters == count(modules(config))


@pytest.mark.parametrize("kind", OPTIONS)
def test_parameters_with_everything_turned_on(kind):
    plain, config = tiny(kind), tiny(kind, **OPTIONS[kind])
    counted = count(modules(config))
    assert ModelShape.from_config(config).parameters == counted
    assert counted != count(modules(plain))  # what is turned on does count


@st.composite
def sizes(draw):
    kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return {
        "num_hidden_layers": draw(st.integers(1, 9)),
        "hidden_size": kv_heads * group * draw(st.integers(1, 9)),
        "num_attention_heads": kv_heads * group,
        "num_key_value_heads": kv_heads,
        "head_dim": 2 * draw(st.integers(1, 9)),
        "intermediate_size": draw(st.integers(1, 90)),
        "vocab_size": draw(st.integers(2, 200)),
        "tie_word_embeddings": draw(st.booleans()),
    }


# The ones whose code ignores head_dim, takes heads as a latent's, or lays mixtures out by layer are fixed cases above.
@pytest.mark.parametrize(
    "kind", ["llama", "mistral", "mixtral", "qwen3", "gemma2", "gemma3_text", "gpt_oss", "granite"]
)
@given(drawn=sizes())
@settings(max_examples=15, deadline=None)
def test_parameters_of_any_size(kind, drawn):
    config = tiny(kind, **drawn)
    assert ModelShape.from_config(config).parameters == count(modules(config))


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral", "mixtral", "qwen3_moe", "olmo2", "phi3"])
def test_head_dim_that_is_not_stated_is_derived_as_the_code_does(kind):
    config = {key: value for key, value in tiny(kind).items() if key != "head_dim"}
    assert ModelShape.from_config(config).head_dim == 16
    assert ModelShape.from_config(config).parameters == count(modules(config))


@pytest.mark.parametrize("kind", ["qwen3", "gemma2", "gemma3_text", "gpt_oss", "llama4_text", "qwen3_next"])
def test_head_dim_that_is_not_stated_is_the_default_of_the_code(kind):
    config = {key: value for key, value in tiny(kind).items() if key != "head_dim"}
    assert ModelShape.from_config(config).head_dim == hf_config(config).head_dim != 16
    assert ModelShape.from_config(config).parameters == count(modules(config))


@pytest.mark.parametrize("name", REAL)
def test_parameters_of_real_models(name):
    config = REAL[name].get("text_config", REAL[name])
    assert ModelShape.from_config(config).parameters == count(modules(config))


@pytest.mark.parametrize(
    ("name", "published"),
    [("Gemma-3-4B", 4_300_079_472), ("Gemma-3-12B", 12_187_325_040), ("Gemma-3-27B", 27_432_406_640)],
)
def test_gemma_with_its_vision_tower_is_the_published_whole(name, published):
    text = REAL[name]["text_config"]
    with torch.device("meta"):
        whole = Gemma3ForConditionalGeneration(Gemma3Config(text_config=text, vision_config=SIGLIP))
    assert count(whole) == published  # safetensors total on the model's page
    seeing = count(whole.model.vision_tower) + count(whole.model.multi_modal_projector)
    assert ModelShape.from_config(REAL[name]).parameters == published - seeing


@pytest.mark.parametrize(
    "config",
    [
        *(tiny(kind) for kind in ("qwen2", "qwen3", "gemma2", "gemma3_text", "gpt_oss", "qwen3_next", "qwen3_5_text")),
        tiny("gpt_oss", num_hidden_layers=7),
        tiny("gemma2", num_hidden_layers=3),
        tiny("qwen3", **OPTIONS["qwen3"]),
        tiny("qwen2", use_sliding_window=True, sliding_window=16, max_window_layers=3),
        tiny("llama4_text", attention_chunk_size=32),
        tiny("llama4_text", attention_chunk_size=32, no_rope_layers=[1, 1, 0, 1, 0, 0, 0, 1]),
        tiny("gemma3_text", sliding_window_pattern=3),
        tiny("smollm3", layer_types=["full_attention"] * 8),
        tiny("gpt_oss", layer_types=["sliding_attention"] * 5 + ["full_attention"] * 3),
    ],
    ids=lambda config: config["model_type"],
)
def test_layers_see_what_the_code_lets_them_see(config):
    kinds = hf_config(config).layer_types
    shape = ModelShape.from_config(config)
    assert shape.window_layers == sum(kind in ("sliding_attention", "chunked_attention") for kind in kinds)
    assert (shape.linear.layers if shape.linear else 0) == kinds.count("linear_attention")


# Left out: linear attention, whose recurrence the shape does not count; llama4, whose code here multiplies with all
# experts; qwen3_vl, which is qwen3; kimi_k2, which is deepseek_v3.
RUNNING = set(NEEDS) - {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "llama4_text", "kimi_k2", *MULTIMODAL}


@pytest.mark.parametrize("kind", sorted(RUNNING))
def test_operations_and_cached_numbers_of_a_pass(kind):
    """A pass over n tokens takes n times `flop_per_token`, and n^2 times what a pair costs: no mask saves any here."""
    config = tiny(kind)
    if kind.startswith("deepseek"):
        del config["head_dim"]  # which that code takes for the rotary part
    shape = ModelShape.from_config(config)
    model = running(config)
    counted, cached = zip(*(_run(model, tokens) for tokens in (1, 5)), strict=True)
    pair = (counted[1] - 5 * counted[0]) // 20
    assert counted[0] - pair == shape.flop_per_token
    if shape.latent is None:  # transformers expands the latent: another cost per pair, another cache
        assert pair == shape.attention_flop_per_pair
        assert [shape.bytes_per_kv * numbers for numbers in cached] == [shape.kv_bytes(1), shape.kv_bytes(5)]


def _run(model, tokens):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        out = model(torch.arange(1, tokens + 1)[None], use_cache=True)
    numbers = sum(layer.keys.numel() + layer.values.numel() for layer in out.past_key_values.layers)
    return counter.get_total_flops(), numbers


def test_the_state_of_linear_attention_is_what_the_code_keeps():
    config = tiny("qwen3_next")
    shape = ModelShape.from_config(config)
    model = running(config)
    with torch.no_grad():
        layers = model(torch.arange(1, 6)[None], use_cache=True).past_key_values.layers
    kept = [layer for layer in layers if hasattr(layer, "recurrent_states")]
    state = sum(layer.recurrent_states[0].numel() for layer in kept)
    # The code keeps as many inputs as the kernel is wide, one more than the next token needs and than engines keep.
    inputs = sum(layer.conv_states[0].numel() for layer in kept) * 2 // 3
    assert shape.state_bytes_per_sequence == 4 * state + 2 * inputs
    assert len(kept) == 6
