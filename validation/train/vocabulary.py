"""Which tokens are worth drafting: those that hold most of the target's probability on its own texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specsim import checks


def draft_vocabulary(masses: Sequence[Tensor], *, size: int) -> Tensor:
    """The `size` tokens of the largest summed probability, in rising order.

    Parameters
    ----------
    masses
        (V,) each, see `features.collect`.
    size
        Tokens wanted; all of them where the vocabulary is smaller [1].

    Returns
    -------
    Tensor
        (D,) of int64.

    Examples
    --------
    >>> draft_vocabulary([torch.tensor([0.1, 2.0, 0.0, 1.0])], size=2).tolist()
    [1, 3]
    """
    total = torch.stack(list(masses)).double().sum(0)
    count = min(checks.integer("drafts", size, low=2), len(total))
    return total.topk(count).indices.sort().values


def coverage(masses: Sequence[Tensor], vocabulary: Tensor) -> float:
    """Share of the target's probability that the draft vocabulary holds [1]: no draft law overlaps it by more.

    Examples
    --------
    >>> coverage([torch.tensor([0.5, 2.0, 0.5, 1.0])], torch.tensor([1, 3]))
    0.75
    """
    total = torch.stack(list(masses)).double().sum(0)
    return float(total[vocabulary].sum() / total.sum())
