"""Reference laws of a batch, cut into those of its outputs and put together again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specsim.conformance.protocol import Rows
from specsim.errors import AdapterError

_COLUMNS = ("log_p", "ids", "log_q")


def stacked(parts: Sequence[Rows]) -> Rows:
    """Laws of several outputs as those of one batch."""
    columns = {name: [getattr(part, name) for part in parts] for name in _COLUMNS}
    widths = [{None if array is None else np.shape(array)[1] for array in some} for some in columns.values()]
    if any(len(width) != 1 for width in widths):
        raise AdapterError("the oracle must list as many tokens for each output, and the same columns")
    return _rows({name: None if some[0] is None else np.concatenate(some) for name, some in columns.items()})


def part(rows: Rows, start: int, end: int) -> Rows:
    """Laws of tokens `start` to `end - 1` of a batch."""
    cut = {name: getattr(rows, name) for name in _COLUMNS}
    return _rows({name: None if array is None else np.asarray(array)[start:end] for name, array in cut.items()})


def _rows(columns: Mapping[str, Any]) -> Rows:
    return Rows(**columns)
