"""Whether a draft-length decision looks at what it decides about."""

from __future__ import annotations

from numpy.typing import ArrayLike

from specsim import checks


def anticipated_depth(lengths: ArrayLike) -> int | None:
    """The first draft whose being judged depends on itself or on a later draft.

    Parameters
    ----------
    lengths : array of int, shape (V,) * G
        How many drafts are judged, for every chain x_1..x_G that may be drafted in one context.

    Returns
    -------
    int or None
        A depth k in 1..G such that "at least k are judged" is no function of x_1..x_(k-1); None if there is none, and
        then the decision leaves a lossless verifier lossless.

    Examples
    --------
    >>> anticipated_depth([1, 1, 1]), anticipated_depth([1, 0, 0])  # always one; only if x_1 is token 0
    (None, 1)
    >>> anticipated_depth([[2, 2], [1, 1]])  # stop after x_1 = 1, and keep it
    """
    counts = checks.integers("lengths", lengths)
    for depth in range(1, counts.ndim + 1):
        judged = counts >= depth
        unseen = tuple(range(depth - 1, counts.ndim))
        if (judged.any(axis=unseen) != judged.all(axis=unseen)).any():
            return depth
    return None
