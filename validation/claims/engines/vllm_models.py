"""Tiny Llamas with random weights as folders that vLLM reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

VOCABULARY = 16
"""So few that n-grams repeat themselves, and that whole rows can be listed."""
END = VOCABULARY - 1
WIDTH, HEADS, LAYERS, INNER = 64, 2, 2, 128
SPREAD = 1.5
"""Standard deviation of logits, about [nat]."""
SIDES = ("target", "good", "bad")
NOISE = 0.6
"""Standard deviation of a good draft's logits around the target's, about [nat]."""


def write_models(folder: Path, *, seed: int) -> Any:
    """Write target, good and bad draft to subfolders of these names, and return the target.

    Notes
    -----
    Drafts differ from the target in the last layer only: a good one by noise, a bad one by its sign, q's logits = -p's.
    """
    target = _llama(seed=seed)
    head = target.lm_head.weight.data.clone()
    noise = torch.randn(head.shape, generator=torch.Generator().manual_seed(seed + 1)) * (NOISE / WIDTH**0.5)
    for side, weight in zip(SIDES, (head, head + noise, -head), strict=True):
        target.lm_head.weight.data = weight
        target.save_pretrained(folder / side)
        _tokenizer().save_pretrained(folder / side)
    target.lm_head.weight.data = head
    return target


def _llama(*, seed: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=512,
        initializer_range=0.2,  # the usual 0.02 gives laws that hardly depend on the text
        bos_token_id=None,
        eos_token_id=END,
        pad_token_id=END,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
        torch.nn.init.normal_(model.lm_head.weight, std=SPREAD / WIDTH**0.5)
    return model


def _tokenizer() -> Any:
    """Token i is the word "ti"."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(WordLevel({f"t{number}": number for number in range(VOCABULARY)}, unk_token="t0"))
    backend.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=f"t{END}", pad_token=f"t{END}")
