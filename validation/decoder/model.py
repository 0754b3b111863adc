"""CachedModel: a Hugging Face causal language model reading several texts, with a cache that can be cut back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import torch
from torch import Tensor
from torch.nn.functional import pad

from specsim import checks
from specsim.errors import InputError
from specsim.topology import Topology
from validation.decoder.cache import RaggedCache
from validation.decoder.language_model import LanguageModel, Logits, Reading
from validation.decoder.masks import additive, layout, windowed
from validation.decoder.packed import packed
from validation.decoder.products import filled
from validation.decoder.quantised import is_quantised
from validation.decoder.shared_exit import SharedExit
from validation.memory import enough_memory

_FEW = 64  # tokens of a pass that is worth compiling; prompts are read as they are
_SIZES = "the texts side by side (batch; rows in training), gamma or their length"
_KINDS = {"full_attention", "sliding_attention"}


class CachedModel(LanguageModel):
    """Texts in one Hugging Face model, side by side; meets `LanguageModel`.

    Parameters
    ----------
    hf_model
        Any `AutoModelForCausalLM` with attention layers; it is put in evaluation mode, and has to stay where it is and
        of its type. Several CachedModels may share one, each with its own cache.
    context_limit
        Most tokens of a text; by default what the model's configuration says.
    pack
        On a CPU, lay weights out anew so that passes over few tokens read them faster; see `packed`.
    compiled
        Let torch.compile make one program of a pass over few tokens, with shapes that recur and weights as constants.
        Its first passes take minutes; on two x86 cores the later ones gain nothing over `pack`, so it is for devices
        where the time goes into launching kernels.

    Attributes
    ----------
    device
        Where the weights are.
    cache
        What its layers have read; those before an exit may have read more.

    Raises
    ------
    InputError
        A model with recurrent or chunked layers (their state cannot be cut back), or without a known context limit.

    Notes
    -----
    Logits come back to the CPU as float32. That copy waits for the device, so a clock read after `read` has seen
    all of its work. Every layer caches the whole text, also one that attends to a sliding window, because a window
    that has moved on could not be cut back.

    Examples
    --------
    >>> from validation.decoder.tiny import tiny_model
    >>> model = CachedModel(tiny_model()[0])
    >>> model.score([104, 105]).shape, model.length
    ((2, 257), 2)
    >>> model.truncate(1)
    >>> model.length
    1
    >>> model.begin(2)
    >>> [rows.shape for rows in model.read([[104], [105, 106]]).logits], model.lengths
    ([(1, 257), (2, 257)], [1, 2])
    """

    def __init__(
        self, hf_model: Any, *, context_limit: int | None = None, pack: bool = False, compiled: bool = False
    ) -> None:
        config = hf_model.config.get_text_config(decoder=True)
        self._kinds = set(getattr(config, "layer_types", None) or ())
        unfit = sorted(self._kinds - _KINDS)
        if unfit:
            raise InputError(f"model must have attention layers only, got {', '.join(unfit)}")
        limit = context_limit if context_limit is not None else getattr(config, "max_position_embeddings", None)
        self._given, self._packs = ref(hf_model.eval()), pack  # which need not outlive its packed copy
        self._model = packed(hf_model) if pack else hf_model
        self.device, self._dtype = hf_model.device, hf_model.dtype
        self._fills = self._model is not hf_model and not compiled and not is_quantised(hf_model)
        self._layers = int(config.num_hidden_layers)
        uses_window = getattr(config, "use_sliding_window", True)
        self._window = getattr(config, "sliding_window", None) if uses_window else None
        self.vocabulary_size = int(config.vocab_size)
        self.context_limit = checks.integer("context_limit", limit, low=1)
        frozen = {"freezing": True}  # weights become constants, which packs them too
        self._compiled = torch.compile(hf_model.forward, dynamic=True, options=frozen) if compiled else None
        self.passes_compiled = 0
        self._exit: SharedExit | None = None
        self.begin(1)

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each row now [token]."""
        if self._exit is None:
            return self.cache.lengths
        return [length - ahead for length, ahead in zip(self.cache.lengths, self._exit.ahead, strict=True)]

    def begin(self, rows: int) -> None:
        """See `LanguageModel.begin`."""
        whole = self._compiled is not None
        self.cache = RaggedCache(layers=self._layers, rows=rows, whole=whole, device=self.device)
        if self._exit is not None:
            self._exit.begin()

    def cut(self, lengths: Sequence[int]) -> None:
        """See `LanguageModel.cut`."""
        self._forget_ahead()
        self.cache.cut(lengths)

    def compact(self, kept: Sequence[Sequence[int]]) -> None:
        """See `LanguageModel.compact`."""
        self._forget_ahead()
        self.cache.compact(kept)

    def select(self, rows: Sequence[int]) -> None:
        """See `LanguageModel.select`."""
        self._forget_ahead()
        self.cache.select(rows)
        if self._exit is not None:
            self._exit.begin()

    def exit_after(self, layers: int) -> SharedExit:
        """The first `layers` of this model's layers, drafting into its cache; the same one until others are asked for.

        Raises
        ------
        InputError
            See `SharedExit`; or the model was dropped after it had been packed.
        """
        if self._exit is None or self._exit.layers != layers:
            given = self._given()
            if given is None:
                raise InputError("model must still be held to be cut at an exit, only its packed copy is")
            self._forget_ahead()
            self._exit = SharedExit(self, given, layers=layers, pack=self._packs)
        return self._exit

    def read(
        self,
        tokens: Sequence[Sequence[int]],
        *,
        keep: int | None = None,
        trees: Sequence[Topology | None] | None = None,
        layers: Sequence[int] = (),
    ) -> Reading:
        """See `LanguageModel.read`."""
        model, states = self._model, None
        if self._exit is not None and any(self._exit.ahead) and not layers and not any(trees or ()):
            model, states = self._exit.rest, self._exit.states(tokens)
        self._forget_ahead()
        return self.run(model, tokens, keep=keep, trees=trees, layers=layers, states=states)

    def run(
        self,
        model: Any,
        tokens: Sequence[Sequence[int]],
        *,
        keep: int | None = None,
        trees: Sequence[Topology | None] | None = None,
        layers: Sequence[int] = (),
        states: Sequence[Tensor] | None = None,
        has_head: bool = True,
    ) -> Reading:
        """`read` with a model of some layers; `states` of each row (n_b, d) stand in for tokens; no head, no logits."""
        counts = [len(row) for row in tokens]
        checks.integer("number of tokens", max(counts), low=1)
        self._check_room(counts, trees)
        span = max(counts)
        if self._fills:
            span = filled(span, rows=len(counts), dtype=self._dtype)
        wanted = _wanted(counts, keep)
        head: dict[str, Any] = {}
        if has_head:
            head["logits_to_keep"] = 0 if wanted is None else torch.tensor(wanted, device=self.device)
        with torch.inference_mode(), enough_memory(self._pass(span), lower=_SIZES):
            runs = self._compiled_form(span) if model is self._model else model
            self.cache.extend(counts, span=span)
            output = runs(
                **self._inputs(tokens, states, span),
                cache=self.cache,
                use_cache=True,
                output_hidden_states=bool(layers),
                **head,
                **self._seen(span, trees),
            )
            logits = output.logits.float().cpu().numpy() if has_head else None
        return Reading(
            logits=[] if logits is None else _picked(logits, counts, keep, wanted),
            features=_features(output, layers, counts) if layers else None,
        )

    def _forget_ahead(self) -> None:
        if self._exit is not None:
            self._exit.forget()

    def _inputs(self, tokens: Sequence[Sequence[int]], states: Sequence[Tensor] | None, span: int) -> dict[str, Tensor]:
        """Tokens, or states in their place, of all rows, each filled up to `span`."""
        if states is not None:
            return {"inputs_embeds": torch.stack([pad(row, (0, 0, 0, span - len(row))) for row in states])}
        return {"input_ids": torch.tensor([[*row, *[0] * (span - len(row))] for row in tokens], device=self.device)}

    def _pass(self, span: int) -> str:
        return (
            f"a pass of {span} tokens in each of {len(self.lengths)} texts, the longest with {max(self.lengths)} cached"
        )

    def _compiled_form(self, span: int) -> Any:
        """The model, or its compiled form for a pass over few tokens; the first pass makes the cache, as it is."""
        if self._compiled is None or span > _FEW or not any(self.cache.lengths):
            return self._model
        self.passes_compiled += 1
        return self._compiled

    def _seen(self, span: int, trees: Sequence[Topology | None] | None) -> dict[str, Any]:
        """Positions and masks."""
        starts = self.cache.begun
        found = layout(starts, span=span, trees=trees, width=self.cache.width, device=self.device)
        positions = found.positions.clamp_(max=self.context_limit - 1)  # of tokens that only fill up a row
        full = additive(found.visible, dtype=self._dtype)
        if self._window is None:
            return {"position_ids": positions, "attention_mask": full}
        near = additive(windowed(found, starts=starts, window=self._window), dtype=self._dtype)
        masks = {"full_attention": full, "sliding_attention": near}
        return {"position_ids": positions, "attention_mask": masks if self._kinds else near}

    def _check_room(self, counts: Sequence[int], trees: Sequence[Topology | None] | None) -> None:
        for row, count in enumerate(counts):
            tree = trees[row] if trees else None
            checks.integer(
                "context", self.cache.lengths[row] + (1 + tree.depth if tree else count), high=self.context_limit
            )


def _wanted(counts: Sequence[int], keep: int | None) -> list[int] | None:
    """The columns that some row wants logits of; None for all of them."""
    if keep is None or keep >= max(counts):
        return None
    return sorted({column for count in counts for column in _last(count, keep)}) or [0]


def _picked(logits: Logits, counts: Sequence[int], keep: int | None, wanted: Sequence[int] | None) -> list[Logits]:
    """Of each row the logits that it wants."""
    if wanted is None:
        return [rows[:count] for rows, count in zip(logits, counts, strict=True)]
    place = {column: index for index, column in enumerate(wanted)}
    return [rows[[place[column] for column in _last(count, keep)]] for rows, count in zip(logits, counts, strict=True)]


def _last(count: int, keep: int | None) -> range:
    return range(0 if keep is None else max(0, count - keep), count)


def _features(output: Any, layers: Sequence[int], counts: Sequence[int]) -> list[Tensor]:
    picked = torch.cat([output.hidden_states[layer] for layer in layers], dim=-1)
    return [picked[row, :count] for row, count in enumerate(counts)]
