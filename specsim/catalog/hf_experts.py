"""The mixture layers that a Hugging Face config describes, in each of the ways in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specsim.catalog.experts import Experts
from specsim.catalog.hf_file import Config, size
from specsim.errors import InputError


def experts(content: Config, place: str, *, layers: int, style: str) -> Experts | None:
    """The mixture of a config, or None where no layer has one.

    Raises
    ------
    InputError
        A size that is missing or impossible; the message names the key and the place.

    Examples
    --------
    >>> mixtral = {"num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 16}
    >>> experts(mixtral, "config", layers=4, style="mixtral").layers
    4
    """
    found = _STYLES[style](content, place, layers) if style else None
    if not found or not found["layers"]:
        return None
    if found["active"] > found["count"]:
        rule = f"num_experts_per_tok must be at most the {found['count']} experts"
        raise InputError(f"{place}: {rule}, got {found['active']}")
    return Experts(**found)


Found = dict[str, Any]


def _active(content: Config, place: str) -> int:
    return size(content, "num_experts_per_tok", place)


def _mixtral(content: Config, place: str, layers: int) -> Found:
    return {
        "count": size(content, "num_local_experts", place),
        "active": _active(content, place),
        "intermediate": size(content, "intermediate_size", place),
        "layers": layers,
    }


def _qwen(content: Config, place: str, layers: int) -> Found:
    count = size(content, "num_experts", place, low=0)
    period = size(content, "decoder_sparse_step", place, default=1)
    dense = set(content.get("mlp_only_layers") or ())
    sparse = [layer for layer in range(layers) if layer not in dense and (layer + 1) % period == 0]
    return {
        "count": count,
        "active": _active(content, place),
        "intermediate": size(content, "moe_intermediate_size", place),
        "layers": len(sparse) if count else 0,
    }


def _qwen_shared(content: Config, place: str, layers: int) -> Found:
    shared = size(content, "shared_expert_intermediate_size", place)
    return _qwen(content, place, layers) | {"shared_intermediate": shared, "shared_gate": True}


def _deepseek(content: Config, place: str, layers: int) -> Found:
    if content.get("moe_layer_freq", 1) != 1:
        raise InputError(f"{place}: moe_layer_freq must be 1, got {content['moe_layer_freq']!r}")
    width = size(content, "moe_intermediate_size", place)
    return {
        "count": size(content, "n_routed_experts", place),
        "active": _active(content, place),
        "intermediate": width,
        "layers": max(0, layers - size(content, "first_k_dense_replace", place, low=0)),
        "shared_intermediate": width * size(content, "n_shared_experts", place, low=0, default=0),
    }


def _llama4(content: Config, place: str, layers: int) -> Found:
    period = size(content, "interleave_moe_layer_step", place, default=1)
    listed = content.get("moe_layers")
    width = size(content, "intermediate_size", place)
    return {
        "count": size(content, "num_local_experts", place),
        "active": _active(content, place),
        "intermediate": width,
        "layers": layers // period if listed is None else len(listed),
        "shared_intermediate": width,
    }


_STYLES: dict[str, Callable[[Config, str, int], Found]] = {
    "mixtral": _mixtral,
    "qwen": _qwen,
    "qwen_shared": _qwen_shared,
    "deepseek": _deepseek,
    "llama4": _llama4,
}
