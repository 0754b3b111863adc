"""The fields of a `ModelShape` that a Hugging Face config.json describes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from specsim import checks
from specsim.catalog import hf_quantisation
from specsim.catalog.architectures import ARCHITECTURES, Architecture
from specsim.catalog.attention import LatentAttention, LinearAttention
from specsim.catalog.hf_experts import experts
from specsim.catalog.hf_file import Config, read, size
from specsim.catalog.layer_types import LINEAR, WINDOWED, layer_types, window
from specsim.catalog.quantisation import kv_bytes
from specsim.errors import InputError


def fields(config: str | Path | Config, *, name: str | None, kv_dtype: str) -> dict[str, Any]:
    """Keyword arguments of `ModelShape`; see `ModelShape.from_config`."""
    stated, place = read(config)
    architecture = ARCHITECTURES[checks.one_of("model_type", str(stated.get("model_type")), ARCHITECTURES)]
    content = {**architecture.defaults, **{key: value for key, value in stated.items() if value is not None}}
    if "sliding_window" in stated and stated["sliding_window"] is None:
        content.pop("sliding_window", None)  # null says that there is no window, not that the default holds
    layers = size(content, "num_hidden_layers", place)
    found = {
        "name": name or content.get("_name_or_path") or place,
        "layers": layers,
        "source": place,
        "note": "The language model of a multimodal one." if place.endswith("text_config") else "",
        "tied_embeddings": bool(content.get("tie_word_embeddings", False)),
    }
    return found | {
        **_sizes(content, place),
        **_traits(architecture, content),
        **_attention(architecture, content, place, layers),
        **_feed_forward(architecture, content, place, layers),
        **_storage(content, place, layers=layers, kv_dtype=kv_dtype),
    }


def _sizes(content: Config, place: str) -> dict[str, int]:
    heads = size(content, "num_attention_heads", place)
    hidden = size(content, "hidden_size", place)
    kv_heads = size(content, "num_key_value_heads", place, default=heads)
    if heads % kv_heads:
        rule = f"num_attention_heads must be a multiple of num_key_value_heads {kv_heads}"
        raise InputError(f"{place}: {rule}, got {heads}")
    return {
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": _head_dim(content, place, hidden=hidden, heads=heads),
        "vocabulary": size(content, "vocab_size", place),
    }


def _head_dim(content: Config, place: str, *, hidden: int, heads: int) -> int:
    if "kv_lora_rank" in content:
        return size(content, "v_head_dim", place)
    if "head_dim" not in content and hidden % heads:
        raise InputError(f"{place} has no head_dim and hidden_size {hidden} is no multiple of {heads} heads")
    return size(content, "head_dim", place, default=hidden // heads)


def _traits(architecture: Architecture, content: Config) -> dict[str, bool | int]:
    decided = ("qkv_bias", "output_bias", "mlp_bias", "qk_norm")
    fixed = ("qk_norm_over_heads", "sinks", "output_gate", "norms_per_layer")
    return {trait: architecture.has(trait, content) for trait in decided} | {
        trait: getattr(architecture, trait) for trait in fixed
    }


def _attention(architecture: Architecture, content: Config, place: str, layers: int) -> dict[str, Any]:
    kinds = layer_types(content, place, layers=layers, default=architecture.layer_types)
    linear = kinds.count(LINEAR)
    return {
        "latent": _latent(content, place) if architecture.latent else None,
        "linear": _linear(content, place, linear) if linear else None,
        "window": window(content, place, kinds),
        "window_layers": sum(kind in WINDOWED for kind in kinds),
    }


def _latent(content: Config, place: str) -> LatentAttention:
    return LatentAttention(
        q_rank=size(content, "q_lora_rank", place, default=0),
        kv_rank=size(content, "kv_lora_rank", place),
        rope_dim=size(content, "qk_rope_head_dim", place),
        nope_dim=size(content, "qk_nope_head_dim", place),
        value_dim=size(content, "v_head_dim", place),
    )


def _linear(content: Config, place: str, layers: int) -> LinearAttention:
    return LinearAttention(
        layers=layers,
        key_heads=size(content, "linear_num_key_heads", place),
        key_dim=size(content, "linear_key_head_dim", place),
        value_heads=size(content, "linear_num_value_heads", place),
        value_dim=size(content, "linear_value_head_dim", place),
        kernel=size(content, "linear_conv_kernel_dim", place),
    )


def _feed_forward(architecture: Architecture, content: Config, place: str, layers: int) -> dict[str, Any]:
    style = architecture.mixture
    mixture = experts(content, place, layers=layers, style=style)
    if mixture is not None:
        mixture = replace(mixture, router_bias=architecture.router_bias, biases=architecture.expert_biases)
    key = "intermediate_size_mlp" if style == "llama4" else "intermediate_size"
    is_unused = mixture is not None and mixture.layers == layers  # then configs may leave it out
    width = size(content, key, place, default=mixture.intermediate if mixture and is_unused else None)
    return {"experts": mixture, "intermediate": width}


def _storage(content: Config, place: str, *, layers: int, kv_dtype: str) -> dict[str, Any]:
    width = 4.0 if "float32" in (content.get("dtype"), content.get("torch_dtype")) else 2.0
    quantisation = content.get("quantization_config") or {}
    if kv_dtype == "auto" and hf_quantisation.has_8_bit_cache(quantisation):
        kv_dtype = "fp8"
    return {
        "bytes_per_weight": width,
        "bytes_per_kv": kv_bytes(kv_dtype, bytes_per_weight=width),
        "weights": hf_quantisation.weight_format(quantisation, f"{place}, quantization_config", layers=layers),
    }
