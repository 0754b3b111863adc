"""Where the texts of a batch end, for all requests at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.checks import IntArray
from specsim.conformance.batch import FINISH, Batch
from specsim.conformance.table_laws import NONE
from specsim.stats.rows import BoolArray

STOP, LENGTH = FINISH.index("stop"), FINISH.index("length")


def ends(batch: Batch, rows: IntArray, size: IntArray, stops: BoolArray) -> tuple[IntArray, IntArray]:
    """How many of the new tokens of some requests are kept, and why the text ends there (0 if it does not).

    Parameters
    ----------
    batch : Batch
        Before these tokens.
    rows : array (M,)
        Which requests.
    size : array (M,)
        New tokens of each.
    stops : array of bool (M, W)
        After which of them the text ends; those past `size` are not read.
    """
    width = stops.shape[1]
    real = stops & (np.arange(width) < size[:, None])
    first = np.where(real.any(axis=1), real.argmax(axis=1) + 1, width + 1)
    limits = np.array([parameters.max_tokens for parameters in batch.kinds])[batch.kind[rows]]
    left = limits - batch.count[rows]
    emitted = np.minimum(np.minimum(size, first), left)
    return emitted, np.where(first <= emitted, STOP, np.where(emitted == left, LENGTH, 0))


def ended_by_eos(batch: Batch, rows: IntArray, block: IntArray) -> BoolArray:
    """Which tokens of a block (M, W) are end-of-text tokens of their request."""
    found = np.zeros(block.shape, dtype=bool)
    for kind, parameters in enumerate(batch.kinds):
        if parameters.eos_ids:
            here = np.flatnonzero(batch.kind[rows] == kind)
            found[here] = np.isin(block[here], parameters.eos_ids)
    return found


def ended_by_sequence(batch: Batch, rows: IntArray, block: IntArray) -> BoolArray:
    """After which tokens of a block (M, W) the output ends with a stop sequence of its request."""
    found = np.zeros(block.shape, dtype=bool)
    for kind, parameters in enumerate(batch.kinds):
        here = np.flatnonzero(batch.kind[rows] == kind)
        for sequence in parameters.stop_sequences:
            found[here] |= _ends_with(batch, rows[here], block[here], sequence)
    return found


def _ends_with(batch: Batch, rows: IntArray, block: IntArray, sequence: Sequence[int]) -> BoolArray:
    before = len(sequence) - 1
    places = batch.count[rows, None] + np.arange(-before, 0)
    tail = np.where(places >= 0, batch.output[rows[:, None], np.maximum(places, 0)], NONE)
    text = np.concatenate((tail, block), axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(text, len(sequence), axis=1)
    return np.asarray((windows == np.asarray(sequence)).all(axis=-1))
