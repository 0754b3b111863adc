"""Which slots of a ragged cache each new token may see, and where in its text it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from specsim.topology import Topology


class Pass(NamedTuple):
    """One pass over n new tokens of B rows, row b behind starts[b] cached ones."""

    positions: Tensor
    """(B, n), place of each token in its text."""
    visible: Tensor
    """(B, n, S) of bool, S slots: the longest row and n."""


def layout(
    starts: Sequence[int],
    *,
    span: int,
    trees: Sequence[Topology | None] | None = None,
    width: int | None = None,
    device: torch.device | str = "cpu",
) -> Pass:
    """Positions and visibility of a pass.

    Parameters
    ----------
    starts
        Cached tokens of each row.
    span
        n, new tokens of the longest row; rows with fewer are filled up by tokens that nobody sees.
    trees
        Of each row: None for tokens one after the other, or the tree of the tokens behind the first, which is its
        root.
    width
        S; by default what the longest row and its new tokens take [1].
    device
        Where the tensors go.

    Examples
    --------
    >>> found = layout([2], span=3, trees=[Topology(parents=(-1, -1))])
    >>> found.positions.tolist(), found.visible.int().tolist()
    ([[2, 3, 3]], [[[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 0, 1]]])
    """
    first = torch.tensor(starts, device=device)[:, None]
    positions = first + torch.arange(span, device=device)
    slots = torch.arange(max(starts) + span if width is None else width, device=device)
    visible = slots <= positions[..., None]  # a token stands in the slot of its position unless it is in a tree
    for row, tree in enumerate(trees or ()):
        if tree is not None:
            start, size = starts[row], tree.nodes + 1
            positions[row, 1:size] = start + torch.from_numpy(tree.positions).to(device)
            inner = visible[row, :size, start : start + size]
            inner[1:, 1:] = torch.from_numpy(tree.attention_mask).to(device)
    return Pass(positions=positions, visible=visible)


def additive(visible: Tensor, *, dtype: torch.dtype) -> Tensor:
    """The mask that attention adds to its scores, shape (B, 1, n, S): 0 where visible, else the lowest number."""
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]


def windowed(found: Pass, *, starts: Sequence[int], window: int) -> Tensor:
    """`found.visible` for layers that see the last `window` tokens only, by position in the text.

    Notes
    -----
    Cached tokens stand in the slot of their position; new ones in slots behind their row's start.
    """
    device, span = found.positions.device, found.positions.shape[1]
    places = torch.arange(found.visible.shape[2], device=device).repeat(len(starts), 1)
    for row, start in enumerate(starts):
        places[row, start : start + span] = found.positions[row]
    near = found.positions[..., None] - places[:, None] < window
    return found.visible & near
