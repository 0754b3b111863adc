"""Laws that are computed when a rule asks for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError


class LazyRows:
    """The target's laws of one round of one sequence, each computed when a rule first asks for it.

    Rules that judge token by token never ask for rows behind the first draft that falls; all others take them as the
    array (G + 1, V) that they stand for.

    Parameters
    ----------
    row : callable
        The law (V,) after the first k drafts [1].
    count : int
        G + 1 [1].
    vocabulary : int
        V [1].

    Raises
    ------
    InputError
        A law of another shape, when it is asked for.

    Examples
    --------
    >>> asked = []
    >>> rows = LazyRows(lambda k: asked.append(k) or np.array([0.5, 0.5]), count=4, vocabulary=2)
    >>> from specsim.verifiers import Rejection
    >>> found = Rejection().verify(rows, [0, 0, 0], q=[[1.0, 0.0]] * 3, rng=np.random.default_rng(0))
    >>> int(found.accepted), asked
    (0, [0])
    """

    def __init__(self, row: Callable[[int], FloatArray], *, count: int, vocabulary: int) -> None:
        self.shape = (count, vocabulary)
        self.ndim = 2
        self._row = row
        self._known: dict[int, FloatArray] = {}

    def row(self, depth: int) -> FloatArray:
        """The law after `depth` drafts, shape (V,) [1]."""
        if depth not in self._known:
            law = np.asarray(self._row(depth))
            if law.shape != self.shape[1:]:
                raise InputError(f"row {depth} must have shape {self.shape[1:]}, got {law.shape}")
            self._known[depth] = law if np.issubdtype(law.dtype, np.floating) else law.astype(np.float64)
        return self._known[depth]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        """All rows."""
        return np.stack([self.row(depth) for depth in range(self.shape[0])], dtype=dtype)

    def __getitem__(self, index: tuple[IntArray | int, ...]) -> FloatArray:
        """As of an array (1, G + 1, V), for the one sequence or none."""
        sequence, depth, *token = index
        depths = np.broadcast_to(depth, np.shape(sequence))
        rows = [self.row(int(each)) for each in depths] or [np.empty((0, self.shape[1]))]
        found = np.atleast_2d(rows[0])
        return found[np.arange(len(found)), token[0]] if token else found
