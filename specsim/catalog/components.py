"""What a model keeps in memory and multiplies with, component by component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from specsim.catalog import matrices
from specsim.catalog.matrix import Matrix

if TYPE_CHECKING:
    from specsim.catalog.model_shape import ModelShape

COMPONENTS = ("attention", "mlp", "router", "experts", "shared_experts", "lm_head", "embedding", "norms")


def parameters(shape: ModelShape) -> int:
    """All parameters held in memory [1]."""
    return sum(matrix.parameters for matrix in _stored(shape)) + sum(_stored_vectors(shape).values())


def stored_bytes(shape: ModelShape) -> float:
    """Bytes of all of them [byte]."""
    vectors = sum(_stored_vectors(shape).values()) * shape.bytes_per_weight
    return sum((matrix.bytes for matrix in _stored(shape)), start=0.0) + vectors


def by_component(shape: ModelShape) -> dict[str, dict[str, float]]:
    """Parameters and bytes in memory, FLOP of a scored token; a component that is not named otherwise is "other"."""
    stored, vectors = _stored(shape), _stored_vectors(shape)
    multiplied = [*shape.matrices, *_copies(shape.expert_matrices, shape.experts.active if shape.experts else 0)]
    rows: dict[str, dict[str, float]] = {}
    for name in (*COMPONENTS, *(["other"] if any(matrix.part == "other" for matrix in shape.others) else [])):
        own = [matrix for matrix in stored if matrix.part == name]
        plain = vectors.get(name, 0)
        rows[name] = {
            "parameters": sum(matrix.parameters for matrix in own) + plain,
            "bytes": sum((matrix.bytes for matrix in own), start=0.0) + plain * shape.bytes_per_weight,
            "flop_per_token": 2 * sum(matrix.parameters for matrix in multiplied if matrix.part == name),
        }
    return rows


def _stored(shape: ModelShape) -> list[Matrix]:
    """Matrices in memory: each expert, no part that is shared, no head that is the embedding."""
    held = list(shape.others)
    if "layers" not in shape.shared:
        held += matrices.layer_matrices(shape)
        held += _copies(shape.expert_matrices, shape.experts.count if shape.experts else 0)
    if not shape.tied_embeddings and "lm_head" not in shape.shared:
        held += matrices.head_matrices(shape)
    return held


def _stored_vectors(shape: ModelShape) -> dict[str, int]:
    """The embedding, which is looked up and not multiplied, and the small vectors of the layers."""
    vectors = {} if "layers" in shape.shared else matrices.vectors(shape)
    is_shared = "embedding" in shape.shared or (shape.tied_embeddings and "lm_head" in shape.shared)
    return vectors | ({} if is_shared else {"embedding": shape.vocabulary * shape.hidden})


def _copies(kind: Iterable[Matrix], number: int) -> list[Matrix]:
    return [replace(matrix, count=matrix.count * number) for matrix in kind]
