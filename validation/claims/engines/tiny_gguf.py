"""Tiny Llamas with random weights as GGUF files, for engines that read these.

Their vocabulary is characters, so that every token is whole text, and small, so that a server can list whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from specsim.checks import FloatArray

VOCABULARY = 64
END = VOCABULARY - 1
"""The token that ends a text."""
WIDTH, HEADS, LAYERS, INNER, CONTEXT = 64, 4, 2, 128, 4096
SPREAD = 2.0
"""Standard deviation of logits, about [nat]."""

Weights = dict[str, FloatArray]


def random_weights(*, seed: int) -> Weights:
    """Weights of a Llama by their names in GGUF files, float32, shapes (outputs, inputs)."""
    rng = np.random.default_rng(seed)
    made: Weights = {}
    for name, shape, scale in _shapes():
        noise = rng.standard_normal(shape) * scale
        made[name] = (1 + 0 * noise if name.endswith("norm.weight") else noise).astype(np.float32)
    return made


def mixed(weights: Weights, other: Weights, *, share: float) -> Weights:
    """Weights between two: `share` of the variance is the other's.

    Examples
    --------
    >>> target, other = random_weights(seed=0), random_weights(seed=1)
    >>> near = mixed(target, other, share=0.0)
    >>> all(np.array_equal(near[name], target[name]) for name in target)
    True
    """
    keep, take = np.float32((1 - share) ** 0.5), np.float32(share**0.5)
    return {
        name: value if name.endswith("norm.weight") else keep * value + take * other[name]
        for name, value in weights.items()
    }


def write_gguf(path: Path, weights: Weights) -> Path:
    """Write the weights with what a reader must know of the model."""
    from gguf import GGUFWriter, TokenType

    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny random Llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*_characters(), b"</s>"])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([*[TokenType.NORMAL] * END, TokenType.CONTROL])
    writer.add_eos_token_id(END)
    writer.add_bos_token_id(END)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    for name, value in weights.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _characters() -> list[bytes]:
    """A character for every token but the last: small letters, then what ASCII has from 0 on."""
    return [chr(ord("a") + number if number < 26 else ord("0") + number - 26).encode() for number in range(END)]


def _shapes() -> Iterator[tuple[str, tuple[int, ...], float]]:
    yield "token_embd.weight", (VOCABULARY, WIDTH), 1.0
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        yield f"{block}attn_norm.weight", (WIDTH,), 0.0
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"{block}{part}.weight", (WIDTH, WIDTH), 2.0 / WIDTH**0.5
        yield f"{block}ffn_norm.weight", (WIDTH,), 0.0
        for part in ("ffn_gate", "ffn_up"):
            yield f"{block}{part}.weight", (INNER, WIDTH), 2.0 / WIDTH**0.5
        yield f"{block}ffn_down.weight", (WIDTH, INNER), 1.0 / INNER**0.5
    yield "output_norm.weight", (WIDTH,), 0.0
    yield "output.weight", (VOCABULARY, WIDTH), SPREAD / WIDTH**0.5
