"""Candidates that are no draw: the most probable tokens of a drafter, judged by the target alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specsim.checks import FloatArray, IntArray
from specsim.distributions import one_hot
from specsim.verifiers.multi_draft import drawing
from specsim.verifiers.multi_draft.candidates import candidate_count, law_pairs
from specsim.verifiers.multi_draft.in_order import InOrder, State, without_candidate
from specsim.verifiers.multi_draft.protocol import NONE


class TopK(InOrder):
    """The token is drawn from p, and a candidate stands if it is that token.

    `q` is not read when judging.

    Notes
    -----
    Lossless. The law is that of accepting candidate x with probability p(x) and going on with p without x, as EAGLE-2
    (arXiv 2406.16858) does, or of drawing from p first, as DDTree (arXiv 2604.12989) does. One stands with the
    probability that p gives to all of them.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> TopK().acceptance_vector(p, q, candidates=2)
    array([0.2, 0.3])
    """

    name = "top_k"
    needs_draft_rows = False

    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """The most probable tokens, best first, shape (..., K); `rng` is not read."""
        return drawing.most_likely(q, candidates=candidates)

    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact law of the place and token of the candidate that stands, shape (..., K, V) [1]."""
        target, draft, lead = law_pairs(p, q)
        tokens = drawing.most_likely(draft, candidates=candidate_count(candidates))
        chosen = one_hot(np.maximum(tokens, 0), vocabulary=target.shape[-1]) * (tokens != NONE)[..., None]
        return np.asarray(chosen * target[:, None, :]).reshape(*lead, candidates, -1)

    def _start(self, p: FloatArray, q: FloatArray, *, candidates: int) -> State:
        return State(p, None)

    def _after(self, state: State, tokens: IntArray) -> State:
        return without_candidate(state, tokens)
