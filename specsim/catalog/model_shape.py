"""ModelShape: the sizes of a decoder-only transformer, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from specsim import checks
from specsim.catalog import components, hf_config, matrices
from specsim.catalog.attention import AttentionBlock, LatentAttention, LinearAttention, multiple
from specsim.catalog.experts import Experts
from specsim.catalog.matrix import Matrix
from specsim.catalog.quantisation import CHANNEL, WeightFormat, kv_bytes
from specsim.checks import FloatArray
from specsim.errors import InputError

SHAREABLE = ("embedding", "lm_head", "layers")
_SIZES = ("hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocabulary", "norms_per_layer")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """Sizes of a decoder: dense or a mixture; grouped-query, latent, windowed or linear attention.

    Parameters
    ----------
    name : str
        Name of the model.
    layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary : int
        Sizes, as in Hugging Face's config.json; `intermediate` is that of layers without a mixture [1].
    tied_embeddings : bool
        Whether the output head is the input embedding: stored once, and still read by every pass.
    source : str
        Where the sizes are published.
    bytes_per_weight, bytes_per_kv : float
        Of one weight that no `weights` format covers, and of one cached number [byte].
    qkv_bias, output_bias, mlp_bias, qk_norm, qk_norm_over_heads : bool
        Biases of projections; norms of queries and keys, per head or over all heads at once.
    note : str
        For readers.
    experts : Experts, optional
        Mixture layers.
    latent : LatentAttention, optional
        Takes the place of grouped-query attention; `kv_heads` and `head_dim` then play no part.
    linear : LinearAttention, optional
        Layers with a state in place of a cache.
    window, window_layers : int
        Tokens that a windowed layer sees, and how many layers are windowed [1].
    output_gate, sinks, gated : bool
        Attention whose queries bring a gate of its output; a learned sink per head; an MLP of three matrices, not two.
    norms_per_layer : int
        Norms as wide as the hidden state, per layer [1].
    weights : WeightFormat, optional
        Quantised storage of some parts.
    others : tuple of Matrix
        Further matrices of a pass: EAGLE's fusing layer, Medusa's heads ...
    shared : tuple of str
        What another model holds in memory and this one only reads: "embedding", "lm_head", "layers".
    has_lm_head : bool
        Whether a pass ends with the vocabulary's matrix.

    Raises
    ------
    InputError
        A size below its least, heads that are no multiple of kv_heads, more layers of a kind than layers, an unknown
        shared part, no source.

    Notes
    -----
    Layers may be 0 when `others` hold all there is (Medusa). A tied matrix that is shared by either name is shared.

    Examples
    --------
    >>> shape = ModelShape(name="two layers", layers=2, hidden=8, heads=2, kv_heads=2, head_dim=4, intermediate=16,
    ...     vocabulary=10, tied_embeddings=False, source="made up")
    >>> shape.parameters, shape.flop_per_token
    (1480, 2720)
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied_embeddings: bool
    source: str
    bytes_per_weight: float = 2.0
    bytes_per_kv: float = 2.0
    qkv_bias: bool = False
    qk_norm: bool = False
    note: str = ""
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm_over_heads: bool = False
    experts: Experts | None = None
    latent: LatentAttention | None = None
    linear: LinearAttention | None = None
    window: int = 0
    window_layers: int = 0
    output_gate: bool = False
    sinks: bool = False
    gated: bool = True
    norms_per_layer: int = 2
    weights: WeightFormat | None = None
    others: tuple[Matrix, ...] = ()
    shared: tuple[str, ...] = ()
    has_lm_head: bool = True

    def __post_init__(self) -> None:
        checks.integer("layers", self.layers, low=0 if self.others else 1)
        for size in _SIZES:
            checks.integer(size, getattr(self, size), low=1)
        checks.positive("bytes_per_weight", self.bytes_per_weight)
        checks.positive("bytes_per_kv", self.bytes_per_kv)
        multiple("heads", self.heads, of="kv_heads", value=self.kv_heads)
        for part in self.shared:
            checks.one_of("shared", part, SHAREABLE)
        self._check_layers()
        if not self.source:
            raise InputError(f"model {self.name!r} must have a source")

    def _check_layers(self) -> None:
        checks.integer("experts.layers", self.experts.layers if self.experts else 0, high=self.layers)
        checks.integer("linear.layers", self.linear.layers if self.linear else 0, high=self.layers)
        checks.integer("window_layers", self.window_layers, high=self.full_layers)
        checks.integer("window", self.window, low=1 if self.window_layers else 0)

    @property
    def full_layers(self) -> int:
        """Layers that cache keys and values, windowed ones among them [1]."""
        return self.layers - (self.linear.layers if self.linear else 0)

    @property
    def dense_layers(self) -> int:
        """Layers with an ordinary MLP [1]."""
        return self.layers - (self.experts.layers if self.experts else 0)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """Matrices that every token of a pass multiplies with; routed experts are not among them."""
        return matrices.dense_matrices(self)

    @property
    def expert_matrices(self) -> tuple[Matrix, ...]:
        """Matrices of one routed expert; their count is the number of mixture layers."""
        return matrices.expert_matrices(self)

    @property
    def attention(self) -> tuple[AttentionBlock, ...]:
        """Layers that cache, grouped by how far they see."""
        return matrices.attention_blocks(self)

    @property
    def parameters(self) -> int:
        """All parameters held in memory: a tied matrix once, shared parts not [1]."""
        return components.parameters(self)

    @property
    def active_parameters(self) -> int:
        """Parameters without the experts that a token is not routed to; embeddings count, as published figures do [1].

        Notes
        -----
        gpt-oss is the exception: its card counts the head and not the embedding.
        """
        if self.experts is None or "layers" in self.shared:
            return self.parameters
        expert = sum(matrix.parameters for matrix in self.expert_matrices) + matrices.expert_vectors(self)
        return self.parameters - (self.experts.count - self.experts.active) * expert

    @property
    def pass_parameters(self) -> int:
        """Parameters that every pass reads whatever its tokens: no routed experts, no rows of the embedding [1]."""
        vectors = sum(count for part, count in matrices.vectors(self).items() if part != "experts")
        return sum(matrix.parameters for matrix in self.matrices) + vectors

    @property
    def weight_bytes(self) -> float:
        """Memory that the weights take, shared parts apart [byte]."""
        return components.stored_bytes(self)

    @property
    def pass_weight_bytes(self) -> float:
        """Weights that one pass reads, however many tokens it scores; routed experts come on top [byte]."""
        vectors = self.pass_parameters - sum(matrix.parameters for matrix in self.matrices)
        return sum(matrix.bytes for matrix in self.matrices) + vectors * self.bytes_per_weight

    @property
    def expert_bytes(self) -> float:
        """One routed expert in all its layers; 0 without a mixture [byte]."""
        biases = matrices.expert_vectors(self) * self.bytes_per_weight
        return sum((matrix.bytes for matrix in self.expert_matrices), start=0.0) + biases

    @property
    def kv_bytes_per_token(self) -> float:
        """Keys and values of one cached token over all layers, before any window drops it [byte]."""
        return sum((block.layers * block.kv_bytes_per_token for block in self.attention), start=0.0)

    @property
    def state_bytes_per_sequence(self) -> float:
        """States of the linear attention layers, whatever the context [byte]."""
        return self.linear.layers * self.linear.state_bytes(self.bytes_per_weight) if self.linear else 0.0

    @property
    def flop_per_token(self) -> int:
        """Multiplications and additions of the matrices for one scored token, attention apart [FLOP]."""
        routed = self.experts.active * sum(matrix.parameters for matrix in self.expert_matrices) if self.experts else 0
        return 2 * (sum(matrix.parameters for matrix in self.matrices) + routed)

    @property
    def attention_flop_per_pair(self) -> int:
        """Attention of one scored token to one cached token that all layers see, over all layers and heads [FLOP]."""
        return sum(block.layers * block.flop_per_pair for block in self.attention)

    def kv_bytes(self, context: int | FloatArray) -> FloatArray:
        """Cache that a pass reads for a sequence with `context` tokens before, windows applied [byte].

        Examples
        --------
        >>> from specsim.catalog import model
        >>> gemma = model("Gemma-3-4B")
        >>> [round(float(gemma.kv_bytes(context) / gemma.kv_bytes_per_token)) for context in (1000, 100_000)]
        [1000, 15579]
        """
        blocks = self.attention
        total = np.zeros_like(np.asarray(context), dtype=np.float64)
        for block in blocks:
            total = total + block.layers * block.kv_bytes_per_token * block.cached_tokens(context)
        return total

    def matrix_bytes(self, part: str, *, inputs: int) -> float:
        """Bytes of one weight of a matrix, scales included [byte]."""
        if self.weights is None or part not in self.weights.parts:
            return self.bytes_per_weight
        return self.weights.bits_per_weight(inputs=inputs) / 8

    def by_component(self) -> dict[str, dict[str, float]]:
        """Parameters and bytes in memory, and FLOP of a scored token, by component.

        Returns
        -------
        dict
            The columns sum to `parameters`, `weight_bytes` and `flop_per_token`; "other" only where there are others.

        Examples
        --------
        >>> from specsim.catalog import model
        >>> parts = model("Qwen3-30B-A3B").by_component()
        >>> {part: round(values["parameters"] / 1e9, 2) for part, values in parts.items() if values["parameters"] > 1e8}
        {'attention': 0.91, 'experts': 28.99, 'lm_head': 0.31, 'embedding': 0.31}
        """
        return components.by_component(self)

    def quantised(self, bits: float, *, group_size: int = 128, kv_dtype: str = "") -> ModelShape:
        """The same model with the linear layers stored in fewer bits; head, router, embedding and norms stay.

        Parameters
        ----------
        bits : float
            Of one weight, without scales [bit].
        group_size : int
            Weights that share a 16-bit scale; 0: one per output [1].
        kv_dtype : str, optional
            Format of the cache: "bfloat16", "fp8" ...; as it was by default.

        Examples
        --------
        >>> from specsim.catalog import model
        >>> small = model("Llama-3.1-8B").quantised(4)
        >>> round(small.weight_bytes / model("Llama-3.1-8B").weight_bytes, 3)
        0.355
        """
        chosen = WeightFormat(name=f"{bits:g} bit", bits=bits, group_size=group_size or CHANNEL)
        others = tuple(
            replace(matrix, bytes_per_weight=chosen.bits_per_weight(inputs=matrix.inputs) / 8)
            if matrix.part in (*chosen.parts, "other")
            else matrix
            for matrix in self.others
        )
        cached = kv_bytes(kv_dtype, bytes_per_weight=self.bytes_per_weight) if kv_dtype else self.bytes_per_kv
        return replace(self, weights=chosen, others=others, bytes_per_kv=cached)

    def first_layers(self, layers: int) -> ModelShape:
        """The model cut off after some layers, head kept: what an early exit runs.

        Notes
        -----
        Mixtures are taken to begin after the dense layers, as DeepSeek's do; windowed and linear layers to be spread
        evenly.

        Examples
        --------
        >>> from specsim.catalog import model
        >>> early = model("DeepSeek-V3").first_layers(10)
        >>> early.dense_layers, early.experts.layers
        (3, 7)
        """
        kept = checks.integer("layers", layers, low=1, high=self.layers)
        mixture = max(0, kept - self.dense_layers)
        linear = round(kept * self.linear.layers / self.layers) if self.linear else 0
        windowed = round((kept - linear) * self.window_layers / self.full_layers) if self.full_layers else 0
        return replace(
            self,
            layers=kept,
            experts=replace(self.experts, layers=mixture) if self.experts and mixture else None,
            linear=replace(self.linear, layers=linear) if self.linear and linear else None,
            window_layers=windowed,
        )

    @classmethod
    def from_config(
        cls, config: str | Path | Mapping[str, Any], *, name: str | None = None, kv_dtype: str = "auto"
    ) -> ModelShape:
        """The shape that a Hugging Face config.json (or its folder, or its content) describes.

        Parameters
        ----------
        config : path or mapping
            A file, a folder that holds config.json, or the parsed content. Of a multimodal model, the language model.
        name : str, optional
            Name to give; by default the one in the file, else the file's.
        kv_dtype : str
            Format of cached numbers: "auto" (that of the weights before quantisation), "bfloat16", "fp8" ...

        Returns
        -------
        ModelShape

        Raises
        ------
        InputError
            No such file, not JSON, an architecture that is not known, a size that is missing or impossible.

        Examples
        --------
        >>> shape = ModelShape.from_config({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8,
        ...     "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 10}, name="tiny")
        >>> shape.kv_heads, shape.head_dim, shape.parameters
        (2, 4, 1480)
        """
        return cls(**hf_config.fields(config, name=name, kv_dtype=kv_dtype))
