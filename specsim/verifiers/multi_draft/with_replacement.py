"""Recursive rejection of independent candidates: each is judged against what the ones before left of p."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.verifiers.multi_draft import drawing
from specsim.verifiers.multi_draft.candidates import candidate_count, law_pairs
from specsim.verifiers.multi_draft.in_order import InOrder, State, residual_law


class RecursiveWithReplacement(InOrder):
    """Multi-step speculative sampling with candidates drawn independently from q.

    Candidate x stands with probability min(1, p(x) / q(x)); after a rejection p becomes (p - q)+ normalised, and the
    next candidate is judged against that. If none stands, the token is drawn from the last p.

    Notes
    -----
    Lossless. Miao et al. (SpecInfer, arXiv 2305.09781); EAGLE-1 (arXiv 2401.15077). A candidate that was
    rejected and comes again never stands: the residual has no mass there.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> RecursiveWithReplacement().acceptance_vector(p, q, candidates=2).round(4)
    array([0.7 , 0.06])
    """

    name = "recursive_with_replacement"

    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """Independent draws, shape (..., K)."""
        return drawing.with_replacement(q, candidates=candidates, rng=rng)

    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact law of the place and token of the candidate that stands, shape (..., K, V) [1].

        What is left of p does not depend on which candidates were rejected.
        """
        target, draft, lead = law_pairs(p, q)
        reached, shares = np.ones((len(target), 1)), []
        for _ in range(candidate_count(candidates)):
            share = reached * np.minimum(target, draft)
            shares.append(share)
            reached = np.maximum(reached - share.sum(axis=-1, keepdims=True), 0)
            target = residual_law(target, draft)
        return np.stack(shares, axis=-2).reshape(*lead, candidates, -1)

    def _start(self, p: FloatArray, q: FloatArray, *, candidates: int) -> State:
        return State(p, q)

    def _after(self, state: State, tokens: IntArray) -> State:
        assert state.q is not None
        return State(residual_law(state.p, state.q), state.q)
