"""The matrices and small vectors that a shape consists of, as engines fuse them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specsim.catalog.attention import AttentionBlock, LatentAttention, LinearAttention
from specsim.catalog.experts import Experts
from specsim.catalog.matrix import Matrix

if TYPE_CHECKING:
    from specsim.catalog.model_shape import ModelShape


def dense_matrices(shape: ModelShape) -> tuple[Matrix, ...]:
    """All matrices that every token multiplies with, whatever it is routed to."""
    return (*layer_matrices(shape), *head_matrices(shape), *shape.others)


def layer_matrices(shape: ModelShape) -> tuple[Matrix, ...]:
    """Matrices of the layers, routed experts apart."""
    return (*_attention(shape), *_feed_forward(shape))


def head_matrices(shape: ModelShape) -> tuple[Matrix, ...]:
    """The vocabulary's matrix, where a pass ends with it."""
    return (_matrix(shape, "lm_head", shape.vocabulary, shape.hidden, 1, "outputs"),) if shape.has_lm_head else ()


def expert_matrices(shape: ModelShape) -> tuple[Matrix, ...]:
    """Matrices of one routed expert in each of its layers."""
    experts = shape.experts
    return () if experts is None else tuple(_mlp(shape, "experts", experts.intermediate, experts.layers))


def attention_blocks(shape: ModelShape) -> tuple[AttentionBlock, ...]:
    """Layers that cache, grouped by what they see; windowed ones last."""
    counts = ((shape.full_layers - shape.window_layers, 0), (shape.window_layers, shape.window))
    return tuple(_block(shape, layers, window) for layers, window in counts if layers)


def vectors(shape: ModelShape) -> dict[str, int]:
    """Parameters that are no matrices, by component: norms, biases, sinks and convolutions [1]."""
    sizes = {"attention": _attention_vectors(shape), "norms": _norms(shape)}
    if shape.dense_layers and shape.mlp_bias:
        sizes["mlp"] = shape.dense_layers * _mlp_biases(shape, shape.intermediate)
    experts = shape.experts
    if experts is not None:
        sizes["router"] = experts.layers * experts.count * experts.router_bias
        routed = experts.count * _mlp_biases(shape, experts.intermediate)
        sizes["experts"] = experts.layers * routed * experts.biases
    return sizes


def expert_vectors(shape: ModelShape) -> int:
    """Biases of one routed expert over all its layers [1]."""
    return vectors(shape).get("experts", 0) // shape.experts.count if shape.experts else 0


def _matrix(shape: ModelShape, part: str, outputs: int, inputs: int, count: int, split: str) -> Matrix:
    width = shape.matrix_bytes(part, inputs=inputs)
    return Matrix(part=part, outputs=outputs, inputs=inputs, count=count, bytes_per_weight=width, split=split)


def _attention(shape: ModelShape) -> Iterator[Matrix]:
    if shape.linear is not None:
        yield from _delta_net(shape, shape.linear)
    if shape.full_layers and shape.latent is not None:
        yield from _latent(shape, shape.latent)
    elif shape.full_layers:
        queries = shape.heads * shape.head_dim
        projected = queries * (2 if shape.output_gate else 1) + 2 * shape.kv_heads * shape.head_dim
        yield _matrix(shape, "attention", projected, shape.hidden, shape.full_layers, "outputs")
        yield _matrix(shape, "attention", shape.hidden, queries, shape.full_layers, "inputs")


def _latent(shape: ModelShape, latent: LatentAttention) -> Iterator[Matrix]:
    layers, queries = shape.full_layers, shape.heads * (latent.nope_dim + latent.rope_dim)
    yield _matrix(shape, "attention", latent.q_rank + latent.cached, shape.hidden, layers, "none")
    yield _matrix(shape, "attention", queries, latent.q_rank or shape.hidden, layers, "outputs")
    up = shape.heads * (latent.nope_dim + latent.value_dim)
    yield _matrix(shape, "attention", up, latent.kv_rank, layers, "outputs")
    yield _matrix(shape, "attention", shape.hidden, shape.heads * latent.value_dim, layers, "inputs")


def _delta_net(shape: ModelShape, linear: LinearAttention) -> Iterator[Matrix]:
    # Queries, keys, values and an output gate as wide as the values; then two scalars for each value head.
    yield _matrix(shape, "attention", linear.channels + linear.values, shape.hidden, linear.layers, "outputs")
    yield _matrix(shape, "attention", 2 * linear.value_heads, shape.hidden, linear.layers, "outputs")
    yield _matrix(shape, "attention", shape.hidden, linear.values, linear.layers, "inputs")


def _feed_forward(shape: ModelShape) -> Iterator[Matrix]:
    if shape.dense_layers:
        yield from _mlp(shape, "mlp", shape.intermediate, shape.dense_layers)
    if shape.experts is not None:
        yield from _mixture(shape, shape.experts)


def _mixture(shape: ModelShape, experts: Experts) -> Iterator[Matrix]:
    yield _matrix(shape, "router", experts.count, shape.hidden, experts.layers, "none")
    if experts.shared_intermediate:
        yield from _mlp(shape, "shared_experts", experts.shared_intermediate, experts.layers)
    if experts.shared_gate:
        yield _matrix(shape, "shared_experts", 1, shape.hidden, experts.layers, "none")


def _mlp(shape: ModelShape, part: str, intermediate: int, layers: int) -> Iterator[Matrix]:
    yield _matrix(shape, part, (2 if shape.gated else 1) * intermediate, shape.hidden, layers, "outputs")
    yield _matrix(shape, part, shape.hidden, intermediate, layers, "inputs")


def _block(shape: ModelShape, layers: int, window: int) -> AttentionBlock:
    latent = shape.latent
    return AttentionBlock(
        layers=layers,
        heads=shape.heads,
        kv_heads=1 if latent else shape.kv_heads,
        key_dim=latent.cached if latent else shape.head_dim,
        value_dim=latent.kv_rank if latent else shape.head_dim,
        kv_bytes_per_token=shape.bytes_per_kv * (latent.cached if latent else 2 * shape.kv_heads * shape.head_dim),
        window=window,
    )


def _attention_vectors(shape: ModelShape) -> int:
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    biases = (queries * (2 if shape.output_gate else 1) + 2 * keys) * shape.qkv_bias + shape.hidden * shape.output_bias
    if shape.latent is not None:  # only the down-projections and the output have a bias there
        down = shape.latent.cached + shape.latent.q_rank
        biases = down * shape.qkv_bias + shape.hidden * shape.output_bias
    linear = shape.linear
    states = 0 if linear is None else linear.layers * (linear.channels * linear.kernel + 2 * linear.value_heads)
    return shape.full_layers * (biases + shape.heads * shape.sinks) + states


def _norms(shape: ModelShape) -> int:
    heads = shape.head_dim * 2 if shape.qk_norm else 0
    if shape.qk_norm and shape.qk_norm_over_heads:
        heads = shape.head_dim * (shape.heads + shape.kv_heads)
    if shape.latent is not None:
        heads += shape.latent.q_rank + shape.latent.kv_rank
    states = 0 if shape.linear is None else shape.linear.layers * shape.linear.value_dim
    last = 1 if shape.layers else 0
    return shape.hidden * (shape.norms_per_layer * shape.layers + last) + shape.full_layers * heads + states


def _mlp_biases(shape: ModelShape, intermediate: int) -> int:
    return (2 if shape.gated else 1) * intermediate + shape.hidden
