"""Checked counts in, seconds or counts out: what all drafters do with their arguments."""

from __future__ import annotations

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.roofline import Count, Seconds


def checked(drafted: Count, batch: Count, context: Count) -> tuple[IntArray, IntArray, IntArray]:
    """The three counts as whole numbers: drafted and context of at least 0, batch of at least 1 [1]."""
    return (
        checks.integers("drafted", drafted),
        checks.integers("batch", batch, low=1),
        checks.integers("context", context),
    )


def seconds(values: FloatArray, *counts: IntArray) -> Seconds:
    """`values` broadcast to the shape of all counts; one float where all are single numbers [s].

    Examples
    --------
    >>> seconds(np.array(0.5), np.array([1, 2])), seconds(np.array(0.5), np.array(1))
    (array([0.5, 0.5]), 0.5)
    """
    shape = np.broadcast_shapes(np.shape(values), *(count.shape for count in counts))
    return np.broadcast_to(values, shape).copy() if shape else float(values)


def tokens(values: IntArray) -> Count:
    """An int where there is one number [1]."""
    return values if values.ndim else int(values)


def chain_tokens(drafted: Count) -> Count:
    """The last committed token and every drafted one: what the target scores of a chain [1].

    Examples
    --------
    >>> chain_tokens(4)
    5
    """
    return tokens(np.asarray(checks.integers("drafted", drafted) + 1))
