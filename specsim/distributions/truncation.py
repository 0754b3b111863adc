"""Warps that leave some tokens out: each keeps the most probable one."""

from __future__ import annotations

import numpy as np

from specsim.checks import FloatArray


def top_k(rows: FloatArray, k: int) -> FloatArray:
    """Logits with all below the k-th largest banned; ties with it stay."""
    cut = np.partition(rows, -k, axis=-1)[..., -k, None]
    return np.where(rows < cut, rows.dtype.type(-np.inf), rows)


def top_p(law: FloatArray, mass: float) -> FloatArray:
    """Laws of the fewest most probable tokens whose mass reaches `mass`; of tokens tied at the cut lower ids stay."""
    ascending = np.sort(law, axis=-1)
    slack = 4 * np.finfo(law.dtype).eps  # a mass that reaches top_p but for rounding has reached it
    tail = (np.cumsum(ascending, axis=-1, dtype=np.float64) <= 1 - mass + slack).sum(axis=-1, keepdims=True)
    tail = np.minimum(tail, law.shape[-1] - 1)
    cut = np.take_along_axis(ascending, tail, axis=-1)
    above, tied = law > cut, law == cut
    room = law.shape[-1] - tail - above.sum(axis=-1, keepdims=True)
    return _restricted(law, above | (tied & (np.cumsum(tied, axis=-1) <= room)))


def min_p(law: FloatArray, share: float) -> FloatArray:
    """Laws of the tokens that have at least `share` of the largest probability."""
    return _restricted(law, law >= law.dtype.type(share) * law.max(axis=-1, keepdims=True))


def _restricted(law: FloatArray, kept: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> FloatArray:
    weights = np.where(kept, law, 0)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
