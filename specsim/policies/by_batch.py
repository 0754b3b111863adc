"""A schedule settled beforehand: how deep to draft at each batch size."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from specsim import checks
from specsim.errors import InputError
from specsim.policies.load import Load


@dataclass(frozen=True, kw_only=True, slots=True)
class ByBatch:
    """Depths by the number of sequences that decode, such as `specsim.capacity.gamma_schedule` makes them.

    Parameters
    ----------
    rows : tuple of (int, int, int)
        First batch, last batch, gamma: ranges that follow each other from batch 1 on; beyond the last, its gamma is
        held [1].

    Raises
    ------
    InputError
        No rows, ranges that leave a gap or overlap, a negative gamma.

    Examples
    --------
    >>> import numpy as np
    >>> schedule = ByBatch(rows=((1, 8, 5), (9, 64, 2), (65, 256, 0)))
    >>> seconds, lengths = np.ones(6), np.zeros((6, 6), dtype=int)
    >>> load = Load(batch=10, waiting=0, round_seconds=seconds, step_seconds=seconds, lengths=lengths)
    >>> schedule.gamma(load)
    2
    """

    rows: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError("rows must hold one range of batches at least, got none")
        start = 1
        for place, (first, last, depth) in enumerate(self.rows):
            if first != start:
                raise InputError(f"rows[{place}] must begin at batch {start}, got {first}")
            start = checks.integer(f"rows[{place}] last batch", last, low=first) + 1
            checks.integer(f"rows[{place}] gamma", depth)

    @property
    def name(self) -> str:
        """What it goes by."""
        return "by batch"

    @property
    def deepest(self) -> int:
        """The largest gamma of the schedule [1]."""
        return max(depth for _, _, depth in self.rows)

    def gamma(self, load: Load) -> int:
        """Of the row whose range holds the batch [1]."""
        return self.rows[bisect_right(self.rows, load.batch, key=lambda row: row[0]) - 1][2]
