"""A seeded tiny Llama over bytes: stands in for real weights where none can be had, and in tests."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END = "<|end|>"
BYTES = 256


def tiny_model(*, layers: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """A Llama with random weights and its tokenizer, one token per byte and one that ends the text.

    Parameters
    ----------
    layers
        Decoder layers.
    seed
        Of the weights; torch's own generator is left as it was.

    Returns
    -------
    model, tokenizer
        As Hugging Face loads them.

    Examples
    --------
    >>> model, tokenizer = tiny_model()
    >>> tokenizer("é")["input_ids"], tokenizer.decode([195, 169])
    ([195, 169], 'é')
    """
    config = LlamaConfig(
        vocab_size=BYTES + 1,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        initializer_range=0.2,  # the usual 0.02 gives laws that are all but uniform
        bos_token_id=None,
        eos_token_id=BYTES,
        pad_token_id=BYTES,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
    return model, _byte_tokenizer()


def _byte_tokenizer() -> Any:
    """Token i is byte i; ByteLevel writes bytes as printable characters."""
    shown = _shown_bytes()
    backend = Tokenizer(models.BPE(vocab={character: byte for byte, character in enumerate(shown)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, pad_token=END)


def _shown_bytes() -> list[str]:
    """The character that ByteLevel writes for each byte: itself where printable, else the next one from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(BYTES) if byte not in printable]
    return [chr(byte) if byte in printable else chr(BYTES + others.index(byte)) for byte in range(BYTES)]
