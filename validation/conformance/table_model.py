"""TableCausalLM: a transformers model whose logits are a table's, with a cache that can hold the wrong text.

Whatever takes a causal language model of transformers (assisted generation, packages for speculative decoding) can be
run on it without weights, and what it must produce is known exactly.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from specsim import checks
from specsim.conformance.tables import TableModels
from specsim.errors import InputError


class TableConfig(PretrainedConfig):
    """Sizes that transformers asks for; the table itself is a buffer of the model."""

    model_type = "specsim_table"

    def __init__(self, vocab_size: int = 8, **options: Any) -> None:
        self.vocab_size = vocab_size
        self.hidden_size = self.head_dim = self.intermediate_size = 1
        self.num_hidden_layers = self.num_attention_heads = self.num_key_value_heads = 1
        self.max_position_embeddings = 1 << 20
        super().__init__(**options)


class TableCausalLM(PreTrainedModel, GenerationMixin):
    """One side of `TableModels` as a causal language model; made by `table_model`.

    The cache holds token ids where other models hold keys and values, and what is read from it is what the law sees: a
    caller that fails to crop it, or takes another request's, gets another law, as with any model.
    """

    config_class = TableConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    _supports_cache_class = True

    def __init__(self, config: TableConfig) -> None:
        super().__init__(config)
        self.register_buffer("table", torch.zeros((config.vocab_size,) * 4, dtype=torch.float64))
        self.anchor = torch.nn.Parameter(torch.zeros(1), requires_grad=False)  # callers look for device and dtype here
        self.embedding = torch.nn.Embedding(config.vocab_size, 1)  # and for a vocabulary here
        self.post_init()

    def get_input_embeddings(self) -> torch.nn.Module:
        """The embedding that nothing uses."""
        return self.embedding

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        cache: Any = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """Logits after each of `input_ids`, shape (B, T, V), given what the cache holds.

        `attention_mask` (B, cached and new), where given, leaves out padding on the left.
        """
        held = past_key_values if cache is None else cache
        if held is None and use_cache:
            held = DynamicCache()
        new = input_ids.to(torch.float64)[:, None, :, None]
        tokens = (new if held is None else held.update(new, new, 0)[0])[:, 0, :, 0].to(torch.long)
        logits = self._rows(tokens, attention_mask, count=input_ids.shape[1])
        if isinstance(logits_to_keep, int):
            logits = logits[:, -logits_to_keep:] if logits_to_keep else logits
        else:
            logits = logits[:, logits_to_keep]
        if return_dict is False:
            return (logits, held)
        return CausalLMOutputWithPast(logits=logits, cache=held)

    def _rows(self, tokens: torch.Tensor, mask: torch.Tensor | None, *, count: int) -> torch.Tensor:
        """Rows after the last `count` of `tokens` (B, L)."""
        batch, length = tokens.shape
        start = torch.zeros(batch, dtype=torch.long, device=tokens.device)
        if mask is not None and mask.ndim == 2 and mask.shape[1] >= length:
            start = mask[:, :length].long().argmax(dim=1)
        place = torch.arange(length - count, length, device=tokens.device)
        last = tokens[:, place]
        before = torch.where(place > start[:, None], tokens[:, (place - 1).clamp(min=0)], 0)
        first = torch.where(place >= start[:, None], tokens.gather(1, start[:, None]), last)
        return self.table[first, before, last]


def table_model(
    models: TableModels, side: str, *, eos_id: int | None = None, dtype: Any = torch.float64
) -> TableCausalLM:
    """The target or the draft of table models as a transformers model.

    Parameters
    ----------
    models : TableModels
        Target and draft.
    side : str
        "target" or "draft".
    eos_id : int or None
        The token that ends a text.
    dtype : torch.dtype
        Of its logits; transformers samples from float32 ones.

    Examples
    --------
    >>> import numpy as np
    >>> models = TableModels.random(vocabulary=4, seed=0)
    >>> logits = table_model(models, "target")(torch.tensor([[1, 2, 3]])).logits
    >>> bool(np.allclose(logits[0].numpy(), models.logits("target", models.states([[1, 2, 3]])[0])))
    True
    """
    table = getattr(models, checks.one_of("side", side, ("target", "draft")))
    if eos_id is not None:
        checks.integer("eos_id", eos_id, high=models.vocabulary - 1)
    if dtype not in (torch.float32, torch.float64):
        raise InputError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
    config = TableConfig(vocab_size=models.vocabulary, bos_token_id=None, eos_token_id=eos_id, pad_token_id=eos_id)
    model = TableCausalLM(config)
    model.table = torch.as_tensor(table, dtype=dtype).clone()
    return model.eval()
