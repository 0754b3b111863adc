"""Bootstrap weights: whole requests are drawn, since the rounds of one text are correlated."""

from __future__ import annotations

import numpy as np

from specsim import checks
from specsim.calibrate.rows import Rows
from specsim.checks import FloatArray


def bootstrap_weights(rows: Rows, *, replicates: int, seed: int) -> FloatArray:
    """How often each of R replicates draws each of n requests, shape (R, n) [1].

    Requests that were decoded plainly, speculatively, or both are drawn apart, so that no replicate lacks one kind; a
    request that is alone in its kind is drawn with the largest group.
    """
    checks.integer("replicates", replicates, low=50)
    n = len(rows.names)
    plainly, drafting = (rows.sums(mask, mask) > 0 for mask in (rows.plain, ~rows.plain))
    kind = plainly * 2 + drafting
    sizes = np.bincount(kind, minlength=4)
    kind = np.where(sizes[kind] == 1, sizes.argmax(), kind)
    rng = np.random.default_rng(seed)
    weights = np.zeros((replicates, n))
    for value in np.unique(kind):
        members = np.flatnonzero(kind == value)
        weights[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=replicates)
    return weights


def ratio(top: FloatArray, bottom: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """A ratio of sums over requests, and its replicates, shape (R,); a replicate with nothing below takes the value.

    Examples
    --------
    >>> value, replicates = ratio(np.array([1.0, 3.0]), np.array([1.0, 1.0]), np.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> value, replicates
    (2.0, array([1., 2.]))
    """
    value = float(top.sum() / bottom.sum())
    below = weights @ bottom
    replicates = np.divide(weights @ top, below, out=np.full(len(weights), value), where=below > 0)
    return value, replicates
