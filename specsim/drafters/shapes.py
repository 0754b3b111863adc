"""Shapes of drafting heads, sized after the target that they sit on."""

from __future__ import annotations

from specsim.catalog import Matrix, ModelShape

LATENT_HEAD_DIM, LATENT_KV_HEADS = 128, 8


def matrix(target: ModelShape, *, part: str, outputs: int, inputs: int, count: int = 1) -> Matrix:
    """A matrix of a head, as wide as the target's weights that are not quantised."""
    width = target.bytes_per_weight
    return Matrix(part=part, outputs=outputs, inputs=inputs, count=count, bytes_per_weight=width, split="outputs")


def head(
    target: ModelShape,
    *,
    name: str,
    layers: int,
    others: tuple[Matrix, ...] = (),
    shared: tuple[str, ...] = ("embedding", "lm_head"),
    has_lm_head: bool = True,
) -> ModelShape:
    """Dense decoder layers of the target's size, with further matrices.

    Notes
    -----
    Published heads of mixtures are dense, their MLP about as wide as all that a token of the target goes through; those
    of targets with latent attention have ordinary heads of 128 (SpecForge's configurations of EAGLE-3 heads).
    """
    mixture = target.experts
    active = mixture.active * mixture.intermediate + mixture.shared_intermediate if mixture else target.intermediate
    heads, kv_heads, head_dim = target.heads, target.kv_heads, target.head_dim
    if target.latent is not None:
        heads, kv_heads, head_dim = target.hidden // LATENT_HEAD_DIM, LATENT_KV_HEADS, LATENT_HEAD_DIM
    return ModelShape(
        name=f"{name} of {target.name}",
        layers=layers,
        hidden=target.hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate=active,
        vocabulary=target.vocabulary,
        tied_embeddings=target.tied_embeddings,
        source=f"sized after {target.name}",
        bytes_per_weight=target.bytes_per_weight,
        bytes_per_kv=target.bytes_per_kv,
        others=others,
        shared=shared,
        has_lm_head=has_lm_head,
    )


def matrices(target: ModelShape, *, name: str, others: tuple[Matrix, ...]) -> ModelShape:
    """A head without layers: nothing but matrices on the target's last hidden state."""
    return head(target, name=name, layers=0, others=others, shared=("embedding",), has_lm_head=False)
