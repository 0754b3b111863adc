"""Shapes: published counts to the last parameter, hand-counted matrices, limiting cases, configs that are refused."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import catalog
from specsim.catalog import AttentionBlock, Experts, LatentAttention, LinearAttention, Matrix, ModelShape, WeightFormat
from specsim.catalog.architectures import ARCHITECTURES
from specsim.errors import InputError

# What the config.json of each row's source says about the shape and its storage.
CONFIGS = json.loads((Path(__file__).parents[1] / "reference" / "hf_configs.json").read_text(encoding="utf-8"))
# Totals that the models' pages on Hugging Face show for their safetensors; exceptions are explained.
PUBLISHED_PARAMETERS = {
    "SmolLM2-135M": 134_515_008,
    "SmolLM2-1.7B": 1_711_376_384,
    "Llama-3.2-1B": 1_235_814_400,
    "Llama-3.2-3B": 3_212_749_824,
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-3.3-70B": 70_553_706_496,
    "Llama-3.1-405B": 405_853_388_800,
    "Qwen2.5-0.5B": 494_032_768,
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen2.5-72B": 72_706_203_648,
    "Qwen3-0.6B": 751_632_384 - 151_936 * 1024,  # the files of these two hold the tied head a second time
    "Qwen3-1.7B": 2_031_739_904 - 151_936 * 2048,
    "Qwen3-8B": 8_190_735_360,
    "Qwen3-32B": 32_762_123_264,
    "Qwen3-30B-A3B": 30_532_122_624,
    "Qwen3-235B-A22B": 235_093_634_560,
    "Qwen3-Next-80B-A3B": 79_674_391_296,  # shown for Qwen3-Coder-Next, the same shape without a drafting module
    "Mistral-7B-v0.3": 7_248_023_552,
    "Mistral-Small-24B": 23_572_403_200,
    "Mixtral-8x7B": 46_702_792_704,
    "Mixtral-8x22B": 140_620_634_112,
    "DeepSeek-V3": 671_026_419_200,  # the 671B of arXiv 2412.19437 summed over the main model's tensors, no scales
    "Kimi-K2": 1_026_408_232_448,  # likewise
    "gpt-oss-20b": 20_914_757_184,  # 20.91B and 116.83B in the model card, arXiv 2508.10925, table 1
    "gpt-oss-120b": 116_829_156_672,
    "Gemma-3-4B": 4_300_079_472 - 419_816_304,  # pages show the model with its vision tower and projector, whose
    "Gemma-3-12B": 12_187_325_040 - 421_290_864,  # parameters tests/validation/test_model_shape_twin.py counts
    "Gemma-3-27B": 27_432_406_640 - 423_060_336,
}
# Active parameters in billions, as the model cards round them, and what they leave out.
PUBLISHED_ACTIVE = {
    "Qwen3-30B-A3B": (3.3, "nothing"),
    "Qwen3-235B-A22B": (22, "nothing"),
    "Mixtral-8x7B": (12.9, "nothing"),
    "Mixtral-8x22B": (39, "nothing"),
    "DeepSeek-V3": (37, "embedding"),
    "Kimi-K2": (32, "embedding"),
    "gpt-oss-20b": (3.61, "embedding"),
    "gpt-oss-120b": (5.13, "embedding"),
}
SHAPE = {
    "name": "tiny",
    "layers": 1,
    "hidden": 8,
    "heads": 2,
    "kv_heads": 1,
    "head_dim": 4,
    "intermediate": 16,
    "vocabulary": 10,
    "tied_embeddings": True,
    "source": "here",
}
TINY = ModelShape(**SHAPE)
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 16,
    "vocab_size": 10,
}
BLOCK = AttentionBlock(layers=3, heads=8, kv_heads=4, key_dim=16, value_dim=16, kv_bytes_per_token=256.0, window=100)
NAMES = catalog.model_names()
MIXTURES = [name for name in NAMES if catalog.model(name).experts]


def size(shape, part):
    """(outputs, inputs, count) of the matrices of one part."""
    return [(matrix.outputs, matrix.inputs, matrix.count) for matrix in shape.matrices if matrix.part == part]


# The catalogue against what is published


def test_every_model_is_counted():
    assert set(NAMES) == set(PUBLISHED_PARAMETERS) == set(CONFIGS)
    assert set(MIXTURES) == {*PUBLISHED_ACTIVE, "Qwen3-Next-80B-A3B"}  # whose 3B is rounded too far to compare


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_the_published_count(name):
    shape = catalog.model(name)
    assert shape.parameters == PUBLISHED_PARAMETERS[name]
    assert shape.source.startswith("https://huggingface.co/")
    assert shape.note


@pytest.mark.parametrize("name", PUBLISHED_ACTIVE)
def test_active_parameters_are_the_published_ones(name):
    shape = catalog.model(name)
    billions, without = PUBLISHED_ACTIVE[name]
    counted = shape.active_parameters - (shape.vocabulary * shape.hidden if without == "embedding" else 0)
    assert counted / 1e9 == pytest.approx(billions, rel=0.02)  # half a digit of the coarsest, 22


@pytest.mark.parametrize(("name", "published"), [("gpt-oss-20b", 13_761_264_768), ("gpt-oss-120b", 65_248_815_744)])
def test_bytes_are_those_of_the_published_files(name, published):
    # total_size in the checkpoints' model.safetensors.index.json; the router's bias and all else is bfloat16 there.
    assert catalog.model(name).weight_bytes == published


def test_bytes_of_kimi_are_those_of_its_files():
    # Blocks at the edge of a matrix have a whole scale, and the router's bias four bytes: 6e-8 more in all.
    assert catalog.model("Kimi-K2").weight_bytes == pytest.approx(1_029_173_256_720, rel=1e-7)


def test_weights_in_fp8_are_those_of_deepseek_v3s_files():
    # The page counts 680,571,043,840 of F8_E4M3, the drafting module among them: one more mixture layer.
    shape = catalog.model("DeepSeek-V3")
    converted = [matrix for matrix in shape.matrices if matrix.part in shape.weights.parts]
    routed = 256 * sum(matrix.parameters for matrix in shape.expert_matrices)
    one = [matrix for matrix in converted if matrix.part != "mlp"]
    one_layer = sum(matrix.parameters // matrix.count for matrix in one) + routed // 58
    assert sum(matrix.parameters for matrix in converted) + routed + one_layer == 680_571_043_840


@pytest.mark.parametrize("name", NAMES)
def test_a_config_gives_the_catalogue_row(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[name]))
    from_folder = ModelShape.from_config(tmp_path, name=name)
    from_file = ModelShape.from_config(tmp_path / "config.json", name=name)
    row = catalog.model(name)
    assert from_folder == from_file
    differ = [
        field.name
        for field in fields(row)
        if field.name not in ("source", "note") and getattr(row, field.name) != getattr(from_file, field.name)
    ]
    assert differ == []


def test_unknown_models_list_the_known_ones():
    with pytest.raises(InputError, match=r"Llama-3\.1-70B.*SmolLM2"):
        catalog.model("gpt-2")


# What follows from a shape


def test_matrices_are_fused_as_engines_fuse_them():
    shape = catalog.model("Llama-3.1-8B")
    assert size(shape, "attention") == [(4096 + 2 * 1024, 4096, 32), (4096, 4096, 32)]
    assert size(shape, "mlp") == [(2 * 14336, 4096, 32), (4096, 14336, 32)]
    assert size(shape, "lm_head") == [(128256, 4096, 1)]
    assert [matrix.split for matrix in shape.matrices] == ["outputs", "inputs", "outputs", "inputs", "outputs"]


def test_matrices_of_a_mixture_with_latent_attention():
    shape = catalog.model("DeepSeek-V3")
    assert size(shape, "attention") == [
        (1536 + 512 + 64, 7168, 61),
        (128 * 192, 1536, 61),
        (128 * 256, 512, 61),
        (7168, 128 * 128, 61),
    ]
    assert size(shape, "mlp") == [(2 * 18432, 7168, 3), (7168, 18432, 3)]
    assert size(shape, "router") == [(256, 7168, 58)]
    assert size(shape, "shared_experts") == [(2 * 2048, 7168, 58), (7168, 2048, 58)]
    assert [(m.part, m.outputs, m.inputs, m.count) for m in shape.expert_matrices] == [
        ("experts", 2 * 2048, 7168, 58),
        ("experts", 7168, 2048, 58),
    ]
    assert not size(shape, "experts")


def test_matrices_of_gated_delta_nets():
    shape = catalog.model("Qwen3-Next-80B-A3B")
    assert size(shape, "attention") == [
        (2 * 2048 + 2 * 4096, 2048, 36),
        (64, 2048, 36),
        (2048, 4096, 36),
        (2 * 4096 + 2 * 512, 2048, 12),  # queries bring a gate
        (2048, 4096, 12),
    ]
    assert size(shape, "shared_experts")[-1] == (1, 2048, 48)


def test_an_mlp_without_a_gate_has_two_matrices():
    assert size(replace(TINY, gated=False), "mlp") == [(16, 8, 1), (8, 16, 1)]
    assert TINY.parameters - replace(TINY, gated=False).parameters == 16 * 8


@pytest.mark.parametrize("name", NAMES)
def test_components_sum_to_the_whole(name):
    for shape in (catalog.model(name), catalog.model(name).quantised(4), catalog.model(name).first_layers(5)):
        parts = shape.by_component().values()
        assert sum(part["parameters"] for part in parts) == shape.parameters
        assert sum(part["bytes"] for part in parts) == pytest.approx(shape.weight_bytes, rel=1e-12)
        assert sum(part["flop_per_token"] for part in parts) == shape.flop_per_token


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_what_a_pass_reads_with_all_experts_and_the_embedding(name):
    shape = catalog.model(name)
    routed = shape.experts.count * shape.expert_bytes if shape.experts else 0
    looked_up = 0 if shape.tied_embeddings else shape.vocabulary * shape.hidden * shape.bytes_per_weight
    assert shape.pass_weight_bytes + routed + looked_up == pytest.approx(shape.weight_bytes, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_flop_are_two_for_each_active_weight_of_a_matrix(name):
    shape = catalog.model(name)
    looked_up = 0 if shape.tied_embeddings else shape.vocabulary * shape.hidden
    weights = shape.active_parameters - looked_up
    assert 2 * weights * 0.999 < shape.flop_per_token < 2 * weights  # norms, biases and convolutions multiply no matrix


def test_flop_of_a_dense_layer_are_those_of_the_matrices():
    # queries, keys, values 8 -> 8 + 4 + 4; output 8 -> 8; MLP three times 8 x 16; head 8 -> 10
    assert TINY.flop_per_token == 2 * (8 * 16 + 8 * 8 + 3 * 8 * 16 + 8 * 10)
    assert TINY.parameters == TINY.flop_per_token // 2 + 3 * 8
    assert TINY.attention_flop_per_pair == 4 * 2 * 4


def test_a_tied_head_is_stored_once_and_still_read():
    untied = replace(TINY, tied_embeddings=False)
    assert untied.parameters - TINY.parameters == 80
    assert untied.pass_parameters == TINY.pass_parameters == TINY.parameters
    assert untied.flop_per_token == TINY.flop_per_token


def test_a_mixture_of_one_is_a_dense_model_with_a_router():
    mixture = replace(TINY, experts=Experts(count=1, active=1, intermediate=16, layers=1))
    assert mixture.parameters == mixture.active_parameters == TINY.parameters + 8
    assert mixture.flop_per_token == TINY.flop_per_token + 2 * 8
    assert mixture.pass_weight_bytes + mixture.expert_bytes == TINY.pass_weight_bytes + 2 * 8


# Attention and its cache


def test_kv_bytes_of_a_token():
    # 2 (keys and values) x 32 layers x 8 heads x 128 numbers x 2 bytes
    assert catalog.model("Llama-3.1-8B").kv_bytes_per_token == 131_072
    # DeepSeek-V2 caches 512 + 64 numbers per layer, whatever the heads: arXiv 2405.04434, table 1
    assert catalog.model("DeepSeek-V3").kv_bytes_per_token == 61 * 576 * 2
    assert catalog.model("Qwen3-Next-80B-A3B").kv_bytes_per_token == 12 * 2 * 2 * 256 * 2


def test_a_latent_is_attended_to_as_one_wide_head():
    (block,) = catalog.model("DeepSeek-V3").attention
    assert (block.kv_heads, block.key_dim, block.value_dim) == (1, 576, 512)
    assert block.flop_per_pair == 2 * 128 * (576 + 512)


def test_windows_cut_the_cache_of_the_layers_that_have_one():
    shape = catalog.model("gpt-oss-20b")
    assert [(block.layers, block.window) for block in shape.attention] == [(12, 0), (12, 128)]
    contexts = np.array([0, 1, 128, 129, 1000])
    layer = shape.kv_bytes_per_token / 24
    assert shape.kv_bytes(contexts) == pytest.approx(12 * layer * (contexts + np.minimum(contexts, 128)))
    assert shape.kv_bytes(1000) == pytest.approx(12 * layer * 1128)


@given(context=st.integers(0, 10**6), window=st.integers(1, 10**5), windowed=st.integers(0, 3))
def test_a_window_only_ever_saves(context, window, windowed):
    full = replace(TINY, layers=3)
    shape = replace(full, window=window, window_layers=windowed)
    assert shape.kv_bytes_per_token == full.kv_bytes_per_token
    assert shape.kv_bytes(context) <= full.kv_bytes(context) == context * full.kv_bytes_per_token
    assert (shape.kv_bytes(context) == full.kv_bytes(context)) == (context <= window or windowed == 0)


def test_a_state_does_not_grow_and_is_no_cache():
    linear = LinearAttention(layers=1, key_heads=2, key_dim=8, value_heads=4, value_dim=16, kernel=4)
    shape = replace(TINY, linear=linear)
    # a state of 4 heads x 8 x 16 in float32; three inputs of 2 x 2 x 8 + 64 channels in bfloat16
    assert shape.state_bytes_per_sequence == 4 * 8 * 16 * 4 + 3 * (32 + 64) * 2
    assert shape.attention == ()
    assert (shape.kv_bytes_per_token, shape.kv_bytes(1000), shape.attention_flop_per_pair) == (0, 0, 0)
    assert TINY.state_bytes_per_sequence == 0


# Tensor parallelism


@given(devices=st.integers(1, 300), outputs=st.integers(1, 300), split=st.sampled_from(["outputs", "inputs", "none"]))
def test_shards_cover_a_matrix_and_waste_less_than_a_row_each(devices, outputs, split):
    matrix = Matrix(part="mlp", outputs=outputs, inputs=outputs, count=3, bytes_per_weight=0.5, split=split)
    shard = matrix.sharded(devices)
    copies = 1 if split == "none" else devices
    assert matrix.parameters <= copies * shard.parameters < matrix.parameters + 3 * copies * outputs
    assert matrix.sharded(1) == matrix


def test_cached_heads_are_divided_and_then_copied():
    assert BLOCK.sharded(1) == BLOCK
    assert BLOCK.sharded(2) == replace(BLOCK, heads=4, kv_heads=2, kv_bytes_per_token=128.0)
    assert BLOCK.sharded(8) == replace(BLOCK, heads=1, kv_heads=1, kv_bytes_per_token=64.0)
    (latent,) = catalog.model("DeepSeek-V3").attention
    assert latent.sharded(8).kv_bytes_per_token == latent.kv_bytes_per_token
    assert latent.sharded(8).flop_per_pair == latent.flop_per_pair // 8


@pytest.mark.parametrize(
    ("block", "devices", "message"),
    [
        (BLOCK, 3, "heads must be a multiple of tensor_parallel 3, got 8"),
        (replace(BLOCK, heads=24, kv_heads=8), 12, "tensor_parallel must be a multiple of kv_heads 8, got 12"),
        (replace(BLOCK, heads=24, kv_heads=8), 3, "kv_heads must be a multiple of tensor_parallel 3, got 8"),
        (BLOCK, 0, "tensor_parallel must be at least 1, got 0"),
    ],
)
def test_devices_that_do_not_divide_the_heads_are_refused(block, devices, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        block.sharded(devices)


# Drafters: further matrices, shared parts, fewer layers


def fusing(**change):
    return Matrix(**{"part": "other", "outputs": 8, "inputs": 16, "count": 1, "bytes_per_weight": 2.0} | change)


def test_shared_parts_are_read_but_not_held():
    target = replace(TINY, tied_embeddings=False)
    head = replace(target, others=(fusing(split="outputs"),), shared=("embedding", "lm_head"))
    assert head.parameters == target.parameters - 160 + 128
    assert head.weight_bytes == 2 * head.parameters
    assert head.pass_weight_bytes == target.pass_weight_bytes + 2 * 128
    assert head.flop_per_token == target.flop_per_token + 2 * 128
    assert head.by_component()["other"] == {"parameters": 128, "bytes": 256.0, "flop_per_token": 256}
    assert "other" not in target.by_component()


@pytest.mark.parametrize("shared", [("embedding",), ("lm_head",), ("embedding", "lm_head")])
def test_a_tied_matrix_is_shared_by_either_name(shared):
    assert replace(TINY, shared=shared).parameters == TINY.parameters - 80


@pytest.mark.parametrize("name", ["Llama-3.1-8B", "Qwen3-30B-A3B", "Qwen3-Next-80B-A3B"])
def test_a_model_that_shares_everything_holds_nothing_and_reads_the_same(name):
    target = catalog.model(name)
    early = replace(target.first_layers(4), shared=("embedding", "lm_head", "layers"))
    assert (early.parameters, early.weight_bytes, early.active_parameters) == (0, 0, 0)
    assert early.pass_weight_bytes == target.first_layers(4).pass_weight_bytes > 0


def test_heads_alone_need_no_layers():
    # Medusa, arXiv 2401.10774: a residual layer and a vocabulary matrix per head
    heads = (
        fusing(outputs=8, inputs=8, count=4, split="outputs"),
        fusing(part="lm_head", outputs=10, inputs=8, count=4, split="outputs"),
    )
    medusa = replace(TINY, layers=0, others=heads, shared=("embedding",), has_lm_head=False)
    assert medusa.parameters == medusa.pass_parameters == 4 * (64 + 80)
    assert medusa.attention == ()
    assert medusa.flop_per_token == 2 * 4 * (64 + 80)


@pytest.mark.parametrize("name", NAMES)
def test_all_layers_are_the_model(name):
    shape = catalog.model(name)
    assert shape.first_layers(shape.layers) == shape


@pytest.mark.parametrize("name", NAMES)
def test_fewer_layers_cost_less_of_everything(name):
    shape = catalog.model(name)
    cut = [shape.first_layers(layers) for layers in range(1, shape.layers + 1)]
    for measure in ("parameters", "flop_per_token", "kv_bytes_per_token"):
        values = [getattr(one, measure) for one in cut]
        assert values == sorted(values)
    assert [one.layers for one in cut] == list(range(1, shape.layers + 1))


def test_dense_layers_come_before_a_mixture():
    shape = catalog.model("DeepSeek-V3")
    kept = [shape.first_layers(layers) for layers in (2, 3, 4, 10)]
    assert [(one.dense_layers, one.experts.layers if one.experts else 0) for one in kept] == [
        (2, 0),
        (3, 0),
        (3, 1),
        (3, 7),
    ]


def test_kinds_of_layers_stay_in_proportion():
    hybrid, windowed = (
        catalog.model("Qwen3-Next-80B-A3B").first_layers(24),
        catalog.model("gpt-oss-20b").first_layers(6),
    )
    assert (hybrid.linear.layers, hybrid.full_layers) == (18, 6)
    assert (windowed.window_layers, windowed.layers) == (3, 6)


# Formats


def test_quantising_to_16_bits_changes_nothing_but_scales():
    shape = catalog.model("Llama-3.1-8B")
    assert shape.quantised(16, group_size=10**9).weight_bytes == pytest.approx(shape.weight_bytes, rel=1e-6)
    assert shape.quantised(4).bytes_per_kv == 2
    assert shape.quantised(4, kv_dtype="fp8").kv_bytes_per_token == shape.kv_bytes_per_token / 2


def test_quantising_leaves_head_embedding_router_and_norms():
    shape = catalog.model("Qwen3-30B-A3B")
    before, after = shape.by_component(), shape.quantised(4, group_size=32).by_component()
    ratio = {part: after[part]["bytes"] / before[part]["bytes"] for part in before if before[part]["bytes"]}
    assert ratio == pytest.approx(
        {"attention": 4.5 / 16, "experts": 4.5 / 16, "router": 1, "lm_head": 1, "embedding": 1, "norms": 1}
    )


def test_quantising_reaches_further_matrices_but_not_heads():
    others = (fusing(split="outputs"), fusing(part="lm_head", split="outputs"))
    small = replace(TINY, others=others).quantised(4, group_size=0)
    assert [matrix.bytes_per_weight for matrix in small.others] == [(4 + 16 / 16) / 8, 2.0]


@pytest.mark.parametrize(
    ("quantisation", "bits", "converted"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 128**2, "all"),
        ({"quant_method": "fp8"}, 8, "all"),
        ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["self_attn"]}, 8 + 32 / 8, "mlp"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128, "all"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8 + 24 / 8, "all"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, 4 + 20 / 64, "all"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5, "all"),
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
            4 + (8 + 32 / 256) / 64,
            "all",
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8 + 32 / 8, "all"),
        ({"quant_method": "bitsandbytes"}, 16, "none"),
        ({"quant_method": "mxfp4"}, 16, "none"),  # which leaves all but experts alone
        ({"quant_algo": "NVFP4", "ignore": ["model.layers.*.self_attn*", "lm_head"]}, 4.5, "mlp"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["lm_head"]}, 8, "all"),
        ({"quant_method": "modelopt", "quant_algo": None}, 16, "none"),
        ({}, 16, "none"),
    ],
)
def test_formats_of_configs(quantisation, bits, converted):
    shape = ModelShape.from_config(LLAMA | {"quantization_config": quantisation})
    width = {part: 8 * shape.matrix_bytes(part, inputs=8) for part in ("attention", "mlp", "router", "lm_head")}
    expected = {"all": ("attention", "mlp"), "mlp": ("mlp",), "none": ()}[converted]
    assert width == {part: bits if part in expected else 16 for part in width}


@pytest.mark.parametrize(
    ("weights", "bits"),
    [
        ({"num_bits": 8, "type": "float", "strategy": "tensor"}, 8),
        ({"num_bits": 8, "type": "float", "strategy": "channel"}, 8 + 16 / 8),
        ({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}, 8 + 32 / 128**2),
        ({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}, 4.5),
        ({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": False}, 4.625),
        ({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}, 4.5),
    ],
)
def test_formats_of_compressed_tensors(weights, bits):
    group = {"config_groups": {"group_0": {"weights": weights, "targets": ["Linear"]}}, "ignore": ["lm_head"]}
    shape = ModelShape.from_config(LLAMA | {"quantization_config": {"quant_method": "compressed-tensors"} | group})
    assert 8 * shape.matrix_bytes("mlp", inputs=8) == bits
    assert shape.matrix_bytes("lm_head", inputs=8) == 2


@pytest.mark.parametrize(
    ("ignored", "converted"),
    [
        (["re:.*self_attn.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], ()),
        (["model.layers.0.self_attn.o_proj", "model.layers.1.self_attn.o_proj"], ("mlp",)),
        (["model.layers.0.self_attn"], ("attention", "mlp")),  # one of two layers is not most of them
        (["model.language_model.layers.*.mlp"], ("attention",)),
        (["language_model.model.layers.0.mlp*", "language_model.model.layers.1.mlp*"], ("attention",)),
        (["attn", "ml"], ("attention", "mlp")),  # pieces of a piece name nothing
    ],
)
def test_exceptions_name_parts(ignored, converted):
    quantisation = {"quant_method": "fp8", "ignored_layers": ignored}
    parts = ModelShape.from_config(LLAMA | {"quantization_config": quantisation}).weights.parts
    assert tuple(part for part in parts if part in ("attention", "mlp")) == converted


def test_experts_alone_are_mxfp4_in_gpt_oss():
    shape = ModelShape.from_config(CONFIGS["gpt-oss-20b"])
    assert shape.weights.parts == ("experts",)
    assert {matrix.bytes_per_weight for matrix in shape.matrices} == {2.0}
    assert {matrix.bytes_per_weight for matrix in shape.expert_matrices} == {4.25 / 8}


def test_a_file_of_the_quantiser_beside_the_config_is_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    quantisation = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": quantisation}))
    shape = ModelShape.from_config(tmp_path)
    assert (shape.matrix_bytes("mlp", inputs=8), shape.bytes_per_kv) == (1, 1)


@pytest.mark.parametrize(
    ("change", "kv_dtype", "width"),
    [
        ({}, "auto", 2),
        ({"torch_dtype": "float32"}, "auto", 4),
        ({"dtype": "float32"}, "bfloat16", 2),
        ({}, "fp8", 1),
        ({"quantization_config": {"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8}}}, "auto", 1),
        ({"quantization_config": {"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8}}}, "bfloat16", 2),
        ({"quantization_config": {"quant_method": "fp8", "kv_cache_scheme": None}}, "auto", 2),
    ],
)
def test_formats_of_the_cache(change, kv_dtype, width):
    assert ModelShape.from_config(LLAMA | change, kv_dtype=kv_dtype).bytes_per_kv == width


def test_float32_configs_take_four_bytes():
    assert ModelShape.from_config(LLAMA | {"torch_dtype": "float32"}, name="x").bytes_per_weight == 4


# Configs


def test_a_multimodal_config_gives_its_language_model():
    config = {"model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "text_config": {"sliding_window": 1024}}
    config["text_config"] |= {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    shape = ModelShape.from_config(config, name="Gemma-3-4B")
    assert "language model" in shape.note
    assert shape.parameters == PUBLISHED_PARAMETERS["Gemma-3-4B"]
    inside, outside = {"tie_word_embeddings": False}, {"tie_word_embeddings": True}
    qwen = {"model_type": "qwen3_vl", "text_config": LLAMA | {"model_type": "qwen3_vl_text"} | inside}
    assert not ModelShape.from_config(qwen).tied_embeddings
    assert ModelShape.from_config(qwen | outside).tied_embeddings  # the whole model's word counts


def test_names_come_from_the_caller_the_file_or_its_place():
    assert ModelShape.from_config(LLAMA, name="mine").name == "mine"
    assert ModelShape.from_config(LLAMA | {"_name_or_path": "theirs"}).name == "theirs"
    assert ModelShape.from_config(LLAMA).name == "config"


def test_null_means_no_window_and_a_missing_window_means_the_default():
    mistral = LLAMA | {"model_type": "mistral"}
    assert ModelShape.from_config(mistral).window == 4096
    assert ModelShape.from_config(mistral | {"sliding_window": None}).window_layers == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, r"model_type 'gpt2' is unknown.*deepseek_v3.*llama.*qwen3_moe"),
        ({"model_type": None}, r"model_type 'None' is unknown"),
        ({"hidden_size": 0}, "config: hidden_size must be at least 1, got 0"),
        ({"vocab_size": -5}, "config: vocab_size must be at least 1, got -5"),
        ({"num_hidden_layers": 2.0}, r"config: num_hidden_layers must be a whole number, got 2\.0"),
        ({"intermediate_size": "16"}, "config: intermediate_size must be a whole number, got '16'"),
        ({"vocab_size": None}, "config has no vocab_size"),
        ({"num_attention_heads": 3, "num_key_value_heads": 2}, "multiple of num_key_value_heads 2, got 3"),
        ({"num_attention_heads": 3, "num_key_value_heads": 3}, "no head_dim and hidden_size 8 is no multiple of 3"),
        ({"layer_types": ["full_attention"]}, "layer_types must have num_hidden_layers 2 entries, got 1"),
        ({"layer_types": ["full_attention", "mamba"]}, r"layer_types\[1\] must be one of .*, got 'mamba'"),
        ({"layer_types": ["sliding_attention"] * 2}, "config has no sliding_window"),
        ({"model_type": "smollm3", "use_sliding_window": True}, "use_sliding_window and no layer_types"),
        ({"text_config": 3}, "config text_config must be an object, got 3"),
        ({"quantization_config": {"quant_method": "hqq"}}, "quant_method 'hqq' is unknown.*awq.*gptq"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config has no bits"),
        ({"quantization_config": {"quant_algo": "MIXED_PRECISION"}}, "quant_algo 'MIXED_PRECISION' is unknown"),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, "config_groups must hold one format, got 0"),
        (
            {"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3},
            "config: num_experts_per_tok must be at most the 2 experts, got 3",
        ),
        ({"model_type": "deepseek_v3", "moe_layer_freq": 2, "n_routed_experts": 2}, "moe_layer_freq must be 1, got 2"),
    ],
)
def test_configs_that_are_impossible_are_refused(change, message):
    latent = {"kv_lora_rank": 4, "qk_rope_head_dim": 2, "qk_nope_head_dim": 2, "v_head_dim": 4}
    base = LLAMA | latent if change.get("model_type") == "deepseek_v3" else LLAMA
    with pytest.raises(InputError, match=message) as caught:
        ModelShape.from_config(base | change)
    assert "\n" not in str(caught.value)


def refusal(config):
    try:
        ModelShape.from_config(config)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_a_size_that_is_left_out_has_a_default_or_is_missed_by_name(name):
    config = CONFIGS[name].get("text_config", CONFIGS[name])
    left_out = {key: {other: value for other, value in config.items() if other != key} for key in config}
    refused = {key: message for key, rest in left_out.items() if (message := refusal(rest))}
    assert all(key in message for key, message in refused.items())
    assert {"num_hidden_layers", "hidden_size", "model_type"} <= set(refused)


@pytest.mark.parametrize("content", ["{", "[1]", None])
def test_unreadable_configs_name_the_file(content, tmp_path):
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"config\.json"):
        ModelShape.from_config(path)


def test_every_architecture_has_a_known_way_to_its_layers():
    from specsim.catalog.layer_types import RULES

    assert {architecture.layer_types for architecture in ARCHITECTURES.values()} == set(RULES)


# Impossible shapes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"heads": 3, "kv_heads": 2}, "heads must be a multiple of kv_heads 2, got 3"),
        ({"source": ""}, "model 'tiny' must have a source"),
        ({"bytes_per_weight": 0.0}, "bytes_per_weight must be above 0, got 0"),
        ({"bytes_per_kv": float("nan")}, "bytes_per_kv must be above 0, got nan"),
        ({"hidden": 8.0}, r"hidden must be a whole number, got 8\.0"),
        ({"shared": ("head",)}, "shared 'head' is unknown.*embedding, layers, lm_head"),
        ({"window_layers": 2, "window": 5}, r"window_layers must be in 0\.\.1, got 2"),
        ({"window_layers": 1}, "window must be at least 1, got 0"),
        (
            {"experts": Experts(count=2, active=1, intermediate=4, layers=2)},
            r"experts\.layers must be in 0\.\.1, got 2",
        ),
        (
            {"linear": LinearAttention(layers=2, key_heads=1, key_dim=1, value_heads=1, value_dim=1)},
            r"linear\.layers must be in 0\.\.1, got 2",
        ),
    ],
)
def test_shapes_refuse_impossible_sizes(change, message):
    with pytest.raises(InputError, match=message):
        ModelShape(**SHAPE | change)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: fusing(split="rows"), "split 'rows' is unknown.*inputs, none, outputs"),
        (lambda: fusing(split="none", part="head"), "part 'head' is unknown"),
        (lambda: fusing(split="none", count=0), "count must be at least 1, got 0"),
        (lambda: replace(BLOCK, kv_heads=3), "heads must be a multiple of kv_heads 3, got 8"),
        (lambda: replace(BLOCK, window=-1), "window must be at least 0, got -1"),
        (lambda: Experts(count=2, active=3, intermediate=4, layers=1), r"experts\.active must be in 1\.\.2, got 3"),
        (
            lambda: LatentAttention(q_rank=0, kv_rank=0, rope_dim=1, nope_dim=1, value_dim=1),
            "kv_rank must be at least 1",
        ),
        (lambda: WeightFormat(name="", bits=0), r"bits must be in \(0, 32\], got 0"),
        (lambda: WeightFormat(name="", bits=4, group_size=-2), "group_size must be at least -1, got -2"),
        (lambda: WeightFormat(name="", bits=4, parts=("norms",)), "part 'norms' is unknown"),
        (lambda: TINY.first_layers(2), r"layers must be in 1\.\.1, got 2"),
        (lambda: TINY.quantised(4, kv_dtype="int3"), "kv_dtype 'int3' is unknown.*bfloat16.*fp8"),
    ],
)
def test_parts_refuse_impossible_sizes(build, message):
    with pytest.raises(InputError, match=message):
        build()
