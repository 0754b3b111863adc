"""RaggedCache: keys and values of texts of different lengths side by side, that can be cut back and compacted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from specsim import checks
from specsim.errors import InputError

GROWTH = 256  # slots; room is made in steps of this


class RaggedCache(Cache):
    """A cache of transformers in which every row (text) has a length of its own.

    Row b holds its tokens in slots 0..lengths[b]-1. A pass over n new tokens writes them behind, in slots
    lengths[b]..lengths[b]+n-1; what a row does not use of them is overwritten by the next pass, and `masks` keeps it
    out of sight meanwhile. So cutting a row back moves no data, and only a tree's accepted path is ever copied.

    Parameters
    ----------
    layers
        Attention layers of the model.
    rows
        B, texts side by side.
    whole
        Show every slot that there is room for, in use or not, and write by index: shapes then recur, as compiled
        models want them.
    device
        Where indices of slots are kept: that of the model.

    Examples
    --------
    >>> cache = RaggedCache(layers=1, rows=2)
    >>> cache.extend([3, 1])
    >>> keys, _ = cache.update(torch.ones(2, 1, 3, 4), torch.ones(2, 1, 3, 4), 0)
    >>> keys.shape, cache.lengths
    (torch.Size([2, 1, 3, 4]), [3, 1])
    >>> cache.cut([2, 1])
    >>> cache.lengths
    [2, 1]
    """

    def __init__(self, *, layers: int, rows: int = 1, whole: bool = False, device: torch.device | str = "cpu") -> None:
        self.lengths = [0] * checks.integer("rows", rows, low=1)
        self.begun = list(self.lengths)
        self.span = 0
        self.whole = whole
        self.device = device
        self.width = 0  # slots that the pass sees: the longest row and its new tokens, or all there is room for
        self.slots: Tensor | None = None  # (B, n), where the tokens of the pass go; None where rows are of one length
        super().__init__(layers=[_Layer(self) for _ in range(checks.integer("layers", layers, low=1))])

    def extend(self, counts: Sequence[int], *, span: int | None = None) -> None:
        """Announce a pass in which row b gets counts[b] tokens; the pass itself `span`, max(counts) or more."""
        self.begun = list(self.lengths)
        self.span = max(counts) if span is None else span
        self.lengths = [length + count for length, count in zip(self.begun, counts, strict=True)]
        used = max(self.begun) + self.span
        self.width = _rounded(used) if self.whole else used
        for layer in self.layers:
            layer.reserve(self.width)
        self.slots = None
        if self.whole or len(set(self.begun)) > 1:
            begun = torch.tensor(self.begun, device=self.device)
            self.slots = begun[:, None] + torch.arange(self.span, device=self.device)

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens of a layer; all its slots in sight."""
        found: tuple[Tensor, Tensor] = self.layers[layer_idx].update(key_states, value_states)
        return found

    def cut(self, lengths: Sequence[int]) -> None:
        """Keep the first lengths[b] tokens of row b."""
        for row, (length, had) in enumerate(zip(lengths, self.lengths, strict=True)):
            checks.integer(f"lengths[{row}]", length, high=had)
        self.lengths = list(lengths)

    @torch.inference_mode()
    def compact(self, kept: Sequence[Sequence[int]]) -> None:
        """Of the tokens of the last pass, row b keeps those at kept[b], in this order; all before them stay.

        Raises
        ------
        InputError
            Places that do not rise, or beyond what the row was given.
        """
        for row, places in enumerate(kept):
            start, given = self.begun[row], self.lengths[row] - self.begun[row]
            if list(places) != sorted(set(places)) or (places and not 0 <= places[0] <= places[-1] < given):
                raise InputError(f"kept[{row}] must be rising places below {given}, got {list(places)}")
            if list(places) != list(range(len(places))):
                for layer in self.layers:
                    layer.move(row, [start + place for place in places], start)
            self.lengths[row] = start + len(places)
        self.begun, self.span = list(self.lengths), 0

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        for layer in self.layers:
            layer.select(rows)
        self.lengths = [self.lengths[row] for row in rows]
        self.begun, self.span = list(self.lengths), 0


class _Layer(CacheLayerMixin):
    """Keys and values of one attention layer, shape (B, heads, slots, size)."""

    is_sliding = False

    def __init__(self, cache: RaggedCache) -> None:
        super().__init__()
        self._cache = cache

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys = key_states.new_zeros((*key_states.shape[:2], 0, key_states.shape[3]))
        self.values = value_states.new_zeros((*value_states.shape[:2], 0, value_states.shape[3]))
        self.is_initialized = True
        self.reserve(self._cache.width)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new tokens of every row behind what it has; all slots in sight."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        width = self._cache.width
        for store, new in ((self.keys, key_states), (self.values, value_states)):
            self._write(store, new)
        return self.keys[:, :, :width], self.values[:, :, :width]

    def reserve(self, width: int) -> None:
        """Make room for `width` slots."""
        if self.is_initialized and width > self.keys.shape[2]:
            self.keys, self.values = _grown(self.keys, width), _grown(self.values, width)

    def _write(self, store: Tensor, new: Tensor) -> None:
        """In one step whatever the rows' lengths; by index alone with `whole`, so that compiled passes recur."""
        slots = self._cache.slots
        if slots is None:
            start = self._cache.begun[0]
            store[:, :, start : start + new.shape[2]] = new
        else:
            rows = torch.arange(slots.shape[0], device=slots.device)[:, None]
            store[rows, :, slots] = new.transpose(1, 2)

    def move(self, row: int, slots: Sequence[int], start: int) -> None:
        """Copy `slots` of a row to `start` and behind."""
        if self.is_initialized:
            for store in (self.keys, self.values):
                store[row, :, start : start + len(slots)] = store[row, :, list(slots)]

    def select(self, rows: Sequence[int]) -> None:
        if self.is_initialized:
            self.keys, self.values = self.keys[list(rows)], self.values[list(rows)]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._cache.width, 0

    def get_seq_length(self) -> int:
        return max(self._cache.begun)

    def get_max_length(self) -> int:
        return -1


def _grown(store: Tensor, width: int) -> Tensor:
    """The same with room for `width` slots and some more; zeros are finite, so masked slots cannot spoil a sum."""
    rows, heads, slots, size = store.shape
    grown = store.new_zeros((rows, heads, _rounded(width), size))
    grown[:, :, :slots] = store
    return grown


def _rounded(width: int) -> int:
    return -(-width // GROWTH) * GROWTH
