"""The weight format that a config's `quantization_config` describes."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from specsim import checks
from specsim.catalog.hf_file import Config, size
from specsim.catalog.quantisation import CHANNEL, TENSOR, WeightFormat
from specsim.errors import InputError

# One module per part, as checkpoints name it inside a layer: what a list of exceptions has to match.
_MODULES = {
    "attention": ("self_attn.o_proj", "linear_attn.out_proj"),
    "mlp": ("mlp.down_proj", "feed_forward.down_proj"),
    "shared_experts": ("mlp.shared_expert.down_proj", "mlp.shared_experts.down_proj"),
    "experts": ("mlp.experts.0.down_proj", "mlp.experts.down_proj", "block_sparse_moe.experts.0.w2"),
}
_EXCEPTIONS = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "llm_int8_skip_modules")
FLOAT8_BITS, NVFP4, MXFP4 = 8, (4, 16, 8), (4, 32, 8)


def weight_format(content: Config, place: str, *, layers: int) -> WeightFormat | None:
    """The format and the parts that are stored in it; None for an empty config.

    Parameters
    ----------
    content : mapping
        What `quantization_config` holds.
    place : str
        For messages.
    layers : int
        Layers of the model [1].

    Raises
    ------
    InputError
        A method that is not known, or one without its bits.

    Notes
    -----
    Routers, heads, embeddings and norms are taken to stay as they were. A part stays too when the config's exceptions
    name it in more than half of the layers; exceptions for fewer layers are left out.

    Examples
    --------
    >>> weight_format({"quant_method": "gptq", "bits": 4, "group_size": 128}, "config", layers=32).scale_bits
    20.0
    """
    if not content:
        return None
    method = str(content.get("quant_method") or ("modelopt" if "quant_algo" in content else ""))
    chosen = METHODS[checks.one_of("quant_method", method, METHODS)](content, place)
    if chosen is None:
        return None
    patterns = [str(pattern) for key in _EXCEPTIONS for pattern in content.get(key) or ()]
    return replace(chosen, parts=chosen.without(_left_alone(patterns, layers)))


def has_8_bit_cache(content: Config) -> bool:
    """Whether the checkpoint comes with scales for a cache in 8 bits.

    Examples
    --------
    >>> has_8_bit_cache({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}), has_8_bit_cache({})
    (True, False)
    """
    scheme = content.get("kv_cache_scheme") or content.get("kv_cache_quant_algo")
    return scheme.get("num_bits") == 8 if isinstance(scheme, dict) else str(scheme).upper() == "FP8"


def _left_alone(patterns: Iterable[str], layers: int) -> list[str]:
    """Parts that the exceptions name in most layers."""
    rules = [_rule(pattern) for pattern in patterns]

    def is_named(layer: int, modules: tuple[str, ...]) -> bool:
        return any(rule.match(f"model.layers.{layer}.{module}") for module in modules for rule in rules)

    hits = {part: sum(is_named(layer, modules) for layer in range(layers)) for part, modules in _MODULES.items()}
    return [part for part, count in hits.items() if 2 * count > layers]


def _rule(pattern: str) -> re.Pattern[str]:
    """Exceptions are regular expressions behind "re:", globs, or whole pieces of a name, and cover what is below."""
    if pattern.startswith("re:"):
        return re.compile(pattern[3:])
    if "layers." in pattern:  # multimodal models put the language model elsewhere
        pattern = f"model.{pattern[pattern.index('layers.') :]}"
    if "*" in pattern:
        return re.compile(f"{fnmatch.translate(pattern)}|{fnmatch.translate(f'{pattern}.*')}")
    return re.compile(rf"(.*\.)?{re.escape(pattern)}(\.|$)")


def _format(name: str, bits: int, group_size: int, scale_bits: float) -> WeightFormat:
    return WeightFormat(name=name, bits=bits, group_size=group_size, scale_bits=float(scale_bits))


def _fp8(content: Config, place: str) -> WeightFormat:
    block = content.get("weight_block_size")  # one float32 scale for a block of rows and columns
    return _format("fp8", FLOAT8_BITS, block[0] * block[1] if block else TENSOR, 32)


def _fbgemm(content: Config, place: str) -> WeightFormat:
    return _format("fp8", FLOAT8_BITS, CHANNEL, 32)


def _mxfp4(content: Config, place: str) -> WeightFormat:
    return replace(_format("mxfp4", *MXFP4), parts=("experts",))


def _packed(content: Config, place: str) -> WeightFormat:
    """GPTQ and AWQ: a 16-bit scale and a zero point as wide as a weight, for each group."""
    bits = size(content, "w_bit" if "w_bit" in content else "bits", place)
    group = content.get("group_size", content.get("q_group_size", 128))
    return _format(f"int{bits}", bits, checks.integer(f"{place}: group_size", group, low=CHANNEL), 16 + bits)


def _bitsandbytes(content: Config, place: str) -> WeightFormat | None:
    if content.get("load_in_4bit") or content.get("_load_in_4bit"):
        # A float32 scale per 64 weights; quantised twice, 8 bits and a float32 for each 256 of those.
        return _format("nf4", 4, 64, 8 + 32 / 256 if content.get("bnb_4bit_use_double_quant") else 32)
    if content.get("load_in_8bit") or content.get("_load_in_8bit"):
        return _format("int8", 8, CHANNEL, 32)
    return None


def _compressed_tensors(content: Config, place: str) -> WeightFormat:
    groups = content.get("config_groups") or {}
    weights = [group.get("weights") or {} for group in groups.values()]
    if len({(found.get("num_bits"), found.get("group_size")) for found in weights}) != 1:
        raise InputError(f"{place}: config_groups must hold one format, got {len(weights)} groups")
    return _scheme(weights[0], place)


def _scheme(weights: dict[str, Any], place: str) -> WeightFormat:
    bits = size(weights, "num_bits", place)
    kind = "fp" if weights.get("type") == "float" else "int"
    group = weights.get("group_size")
    block = weights.get("block_structure")
    if weights.get("strategy") == "tensor_group":
        return _format("nvfp4", *NVFP4)
    zero = 0 if weights.get("symmetric", True) else bits
    if block:
        return _format(f"{kind}{bits}", bits, block[0] * block[1], 32)
    if group:
        return _format(f"{kind}{bits}", bits, group, 16 + zero)
    return _format(f"{kind}{bits}", bits, TENSOR if weights.get("strategy") == "tensor" else CHANNEL, 16 + zero)


def _modelopt(content: Config, place: str) -> WeightFormat | None:
    formats = {
        "FP8": ("fp8", FLOAT8_BITS, TENSOR, 32),
        "NVFP4": ("nvfp4", *NVFP4),
        "W4A16_AWQ": ("int4", 4, size(content, "group_size", place, default=128), 16),
        "W8A16": ("int8", 8, CHANNEL, 16),
    }
    if content.get("quant_algo") is None:  # only the cache is quantised
        return None
    return _format(*formats[checks.one_of("quant_algo", str(content["quant_algo"]), formats)])


METHODS: dict[str, Callable[[Config, str], WeightFormat | None]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fbgemm,
    "compressed-tensors": _compressed_tensors,
    "gptq": _packed,
    "awq": _packed,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": _mxfp4,
    "modelopt": _modelopt,
}
