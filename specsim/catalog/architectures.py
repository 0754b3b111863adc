"""Architectures of Hugging Face by `model_type`: what their code fixes and config.json does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Architecture:
    """What an architecture adds to the sizes in its config.

    Parameters
    ----------
    qkv_bias, output_bias, mlp_bias, qk_norm : bool or str
        Whether it has them; a string names the key that decides.
    qk_norm_over_heads, latent, sinks, output_gate : bool
        As in `ModelShape`.
    norms_per_layer : int
        Norms as wide as the hidden state [1].
    mixture : str
        How its mixture layers are described: "mixtral", "qwen", "qwen_shared", "deepseek", "llama4"; empty for none.
    router_bias, expert_biases : bool
        Biases of the router (DeepSeek's balances the load and is stored beside the parameters), and of the experts.
    layer_types : str
        Which layers are windowed or linear where no `layer_types` lists them: a name in `specsim.catalog.layer_types`.
    defaults : mapping
        Values of keys that its configs may leave out.
    """

    qkv_bias: bool | str = "attention_bias"
    output_bias: bool | str = "attention_bias"
    mlp_bias: bool | str = False
    qk_norm: bool | str = False
    qk_norm_over_heads: bool = False
    norms_per_layer: int = 2
    mixture: str = ""
    router_bias: bool = False
    expert_biases: bool = False
    latent: bool = False
    sinks: bool = False
    output_gate: bool = False
    layer_types: str = "full"
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def has(self, trait: str, content: Mapping[str, Any]) -> bool:
        """Whether a config's model has a bias or norm."""
        decided_by = getattr(self, trait)
        return bool(content.get(decided_by)) if isinstance(decided_by, str) else bool(decided_by)


_GEMMA3 = {
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 4096,
    "tie_word_embeddings": True,
}
_QWEN3 = Architecture(qk_norm=True, layer_types="late_windows", defaults={"head_dim": 128})
_QWEN3_VL = Architecture(qk_norm=True, defaults={"head_dim": 128})
_QWEN3_MOE = Architecture(qk_norm=True, mixture="qwen", layer_types="all_windowed_if_used")
_HYBRID = Architecture(
    qk_norm=True, output_gate=True, layer_types="every_fourth_full", defaults={"head_dim": 256}, mixture="qwen_shared"
)
_DEEPSEEK3 = Architecture(latent=True, mixture="deepseek", router_bias=True)

ARCHITECTURES: dict[str, Architecture] = {
    "llama": Architecture(mlp_bias="mlp_bias"),
    "mistral": Architecture(
        qkv_bias=False, output_bias=False, layer_types="all_windowed", defaults={"sliding_window": 4096}
    ),
    "mixtral": Architecture(qkv_bias=False, output_bias=False, layer_types="all_windowed", mixture="mixtral"),
    "qwen2": Architecture(qkv_bias=True, output_bias=False, layer_types="late_windows"),
    "qwen2_moe": Architecture(
        qkv_bias="qkv_bias", output_bias=False, mixture="qwen_shared", layer_types="listed", defaults={"qkv_bias": True}
    ),
    "qwen3": _QWEN3,
    "qwen3_vl_text": _QWEN3_VL,
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_vl_moe_text": _QWEN3_MOE,
    "qwen3_next": _HYBRID,
    "qwen3_5_text": Architecture(
        qk_norm=True, output_gate=True, layer_types="every_fourth_full", defaults={"head_dim": 256}
    ),
    "qwen3_5_moe_text": _HYBRID,
    "gemma2": Architecture(
        norms_per_layer=4,
        layer_types="alternate",
        defaults={"head_dim": 256, "sliding_window": 4096, "tie_word_embeddings": True},
    ),
    "gemma3_text": Architecture(norms_per_layer=4, qk_norm=True, layer_types="every_sixth_full", defaults=_GEMMA3),
    "deepseek_v2": Architecture(latent=True, mixture="deepseek"),
    "deepseek_v3": _DEEPSEEK3,
    "kimi_k2": _DEEPSEEK3,
    "gpt_oss": Architecture(
        mixture="mixtral",
        router_bias=True,
        expert_biases=True,
        sinks=True,
        layer_types="alternate",
        defaults={"head_dim": 64, "sliding_window": 128, "attention_bias": True},
    ),
    "phi3": Architecture(qkv_bias=False, output_bias=False, layer_types="all_windowed"),
    "olmo2": Architecture(qk_norm=True, qk_norm_over_heads=True),
    "smollm3": Architecture(mlp_bias="mlp_bias", layer_types="listed", defaults={"tie_word_embeddings": True}),
    "granite": Architecture(mlp_bias="mlp_bias"),
    "glm4_moe": Architecture(output_bias=False, qk_norm="use_qk_norm", mixture="deepseek", router_bias=True),
    "llama4_text": Architecture(mixture="llama4", layer_types="chunked", defaults={"head_dim": 128}),
}
