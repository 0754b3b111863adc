"""A faulty block verification, planted where claims compare it with token verification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.verifiers import Block
from specsim.verifiers.rounds import checked_round


class FirstFailureEnds(Block):
    """Block verification that stops at the first coin that fails, as token verification may: neither lossless nor as
    long.
    """

    name = "block, ended by the first failing coin"
    is_lossless = False

    def survival(
        self, p: ArrayLike, draft: ArrayLike, *, q: ArrayLike | None, drafted: ArrayLike | None = None
    ) -> FloatArray:
        """See `Verifier.survival`."""
        turn = checked_round(p, draft, q=q, drafted=drafted)
        return turn.shaped(np.cumprod(self._chances(turn, self._reach(turn)), axis=1))

    def _accepted(self, passes: Any) -> IntArray:
        return np.asarray(np.logical_and.accumulate(passes, axis=1).sum(axis=1))
