"""Every row has a source, dense figures and the published number of parameters."""

import json

import pytest

from specsim import catalog
from specsim.catalog import Hardware, ModelShape
from specsim.errors import InputError

PUBLISHED_PARAMETERS = {  # the totals that the models' pages on Hugging Face show for their safetensors
    "SmolLM2-135M": 134_515_008,
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Qwen3-8B": 8_190_735_360,
    "Qwen2.5-7B": 7_615_616_512,
}
LLAMA_8B = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QWEN3_8B = LLAMA_8B | {
    "model_type": "qwen3",
    "num_hidden_layers": 36,
    "intermediate_size": 12288,
    "vocab_size": 151936,
    "head_dim": 128,
}
QWEN25_7B = {
    "model_type": "qwen2",
    "num_hidden_layers": 28,
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "vocab_size": 152064,
}
GPU = {
    "name": "part",
    "memory_bytes": 1e9,
    "bandwidth_bytes_per_second": 1e9,
    "flop_per_second": {"bfloat16": 1e12},
    "source": "here",
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


@pytest.mark.parametrize("name", catalog.hardware_names())
def test_every_gpu_has_a_public_source_a_note_and_dense_figures(name):
    gpu = catalog.hardware(name)
    assert "https://" in gpu.source
    assert gpu.note
    assert gpu.generation
    assert gpu.flop_per_second["float16"] == gpu.flop_per_second["bfloat16"]
    # A sparse figure in one place would break the doubling from 16 to 8 bits.
    assert gpu.peak("int8") == pytest.approx(2 * gpu.peak("bfloat16"), rel=0.02)
    # Bytes and FLOP in SI units: 0.5 to 10 TB/s, 100 to 3000 TFLOP/s.
    assert 5e11 < gpu.bandwidth_bytes_per_second < 1e13
    assert 1e14 < gpu.peak("bfloat16") < 3e15


def test_h100_and_h200_differ_in_memory_only():
    h100, h200 = catalog.hardware("H100-SXM"), catalog.hardware("H200-SXM")
    assert h100.flop_per_second == h200.flop_per_second
    assert h200.bandwidth_bytes_per_second / h100.bandwidth_bytes_per_second == pytest.approx(4.8 / 3.35)


def test_every_model_is_counted():
    assert set(catalog.model_names()) == set(PUBLISHED_PARAMETERS)


@pytest.mark.parametrize("name", catalog.model_names())
def test_parameters_are_the_published_count(name):
    shape = catalog.model(name)
    assert shape.parameters == PUBLISHED_PARAMETERS[name]
    assert shape.source.startswith("https://")
    assert shape.note


@pytest.mark.parametrize("name", catalog.model_names())
def test_a_pass_skips_the_rows_of_an_untied_embedding(name):
    shape = catalog.model(name)
    skipped = 0 if shape.tied_embeddings else shape.vocabulary * shape.hidden
    assert shape.pass_weight_bytes == 2 * (shape.parameters - skipped)
    assert shape.flop_per_token == 2 * (shape.parameters - skipped)


def test_kv_bytes_of_a_token():
    # 2 (keys and values) x 32 layers x 8 heads x 128 numbers x 2 bytes
    assert catalog.model("Llama-3.1-8B").kv_bytes_per_token == 131_072


@pytest.mark.parametrize(
    ("config", "name"), [(LLAMA_8B, "Llama-3.1-8B"), (QWEN3_8B, "Qwen3-8B"), (QWEN25_7B, "Qwen2.5-7B")]
)
def test_a_config_gives_the_catalogue_row(config, name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config))
    from_folder = ModelShape.from_config(tmp_path, name=name)
    from_file = ModelShape.from_config(tmp_path / "config.json", name=name)
    row = catalog.model(name)
    assert from_folder == from_file
    sizes = ("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocabulary", "parameters")
    assert {size: getattr(from_file, size) for size in sizes} == {size: getattr(row, size) for size in sizes}
    assert from_file.weight_bytes == row.weight_bytes


def test_float32_configs_take_four_bytes():
    assert ModelShape.from_config(LLAMA_8B | {"torch_dtype": "float32"}, name="x").bytes_per_weight == 4


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LLAMA_8B | {"model_type": "mixtral"}, "mixtral"),
        (LLAMA_8B | {"attention_bias": True}, "attention_bias"),
        ({key: value for key, value in LLAMA_8B.items() if key != "vocab_size"}, "vocab_size"),
        (LLAMA_8B | {"hidden_size": 0}, "hidden_size"),
    ],
)
def test_configs_that_the_formulas_do_not_cover_are_refused(config, message):
    with pytest.raises(InputError, match=message):
        ModelShape.from_config(config)


@pytest.mark.parametrize("content", ["{", "[1]", None])
def test_unreadable_configs_name_the_file(content, tmp_path):
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"config\.json"):
        ModelShape.from_config(path)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match=r"H100-SXM.*MI300X"):
        catalog.hardware("H100")
    with pytest.raises(InputError, match=r"Llama-3\.1-70B.*SmolLM2"):
        catalog.model("gpt-2")
    with pytest.raises(InputError, match=r"bfloat16.*int8"):
        catalog.hardware("A100-SXM-80GB").peak("float4")


@pytest.mark.parametrize(
    "change",
    [
        {"memory_bytes": 0.0},
        {"bandwidth_bytes_per_second": float("nan")},
        {"flop_per_second": {}},
        {"flop_per_second": {"bfloat16": -1.0}},
        {"source": ""},
        {"watts": -1.0},
    ],
)
def test_hardware_refuses_impossible_facts(change):
    Hardware(**GPU)
    with pytest.raises(InputError):
        Hardware(**GPU | change)


@pytest.mark.parametrize(
    "change", [{"layers": 0}, {"heads": 3, "kv_heads": 2}, {"source": ""}, {"bytes_per_weight": 0.0}, {"hidden": 8.0}]
)
def test_shapes_refuse_impossible_sizes(change):
    ModelShape(**SHAPE)
    with pytest.raises(InputError):
        ModelShape(**SHAPE | change)
