"""Recursive rejection of candidates drawn without replacement: rejected ones are taken out of q as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.verifiers.multi_draft import drawing
from specsim.verifiers.multi_draft.candidates import candidate_count, law_pairs
from specsim.verifiers.multi_draft.in_order import InOrder, State, residual_law
from specsim.verifiers.multi_draft.rejections import Rejections, removed


class RecursiveWithoutReplacement(InOrder):
    """Multi-step speculative sampling with candidates that are all different.

    As with replacement, and after x was rejected q becomes q without x, normalised, which is the law that the next
    candidate was drawn from.

    Notes
    -----
    Lossless. Chen et al. (Sequoia, arXiv 2402.12374), as `accept_step` of their `Tree/SpecTree.py`; Jeon
    et al. (RSD, arXiv 2402.14160). With as many candidates as q has tokens, and p none beyond these, one always stands.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> RecursiveWithoutReplacement().acceptance_vector(p, q, candidates=3).round(4)
    array([0.7 , 0.12, 0.18])
    """

    name = "recursive_without_replacement"

    def draw(self, q: ArrayLike, *, candidates: int, rng: np.random.Generator) -> IntArray:
        """Different tokens, shape (..., K); -1 where q has no more."""
        return drawing.without_replacement(q, candidates=candidates, rng=rng)

    def accepted_law(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact law of the place and token of the candidate that stands, shape (..., K, V) [1].

        Raises
        ------
        InputError
            V^(K - 1) rejected prefixes are too many.
        """
        target, draft, lead = law_pairs(p, q)
        law = np.zeros((len(target), candidate_count(candidates), target.shape[-1]))
        rejected = Rejections.start(target, draft)
        for place in range(candidates):
            share = rejected.weight[:, None] * np.minimum(rejected.p, rejected.q)
            np.add.at(law[:, place], rejected.owner, share)
            if place < candidates - 1:
                rejected = rejected.all_longer()
        return law.reshape(*lead, candidates, -1)

    def acceptance_vector(self, p: ArrayLike, q: ArrayLike, *, candidates: int) -> FloatArray:
        """Exact probability that each candidate is the one that stands, shape (..., K) [1].

        Two candidates take the time of a sort; K take V^(K - 2) times that, so for more than two and a large
        vocabulary see `estimated_acceptance`.

        Raises
        ------
        InputError
            V^(K - 2) rejected prefixes are too many.
        """
        target, draft, lead = law_pairs(p, q)
        by_place = _by_place(Rejections.start(target, draft), candidates=candidates, grow=Rejections.all_longer)
        return np.stack(list(by_place), axis=-1).reshape(*lead, -1)

    def estimated_acceptance(
        self, p: ArrayLike, q: ArrayLike, *, candidates: int, samples: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """`acceptance_vector` by Monte Carlo over rejected candidates, without coins.

        The last candidate to be rejected before each place is averaged over, not drawn.

        Parameters
        ----------
        p, q : array, shape (V,)
            Laws [1].
        candidates : int
            K [1].
        samples : int
            Paths, drawn in blocks of about 32 MB [1].
        rng : numpy.random.Generator
            Source of the paths.

        Returns
        -------
        estimate, standard_error : array, shape (K,)
            Unbiased; the first two entries are exact [1].
        """
        target, draft, _ = law_pairs(checks.array("p", p, ndim=1), checks.array("q", q, ndim=1))
        total = checks.integer("samples", samples, low=2)
        block = max(1, (1 << 22) // target.shape[-1])
        blocks = []
        for first in range(0, total, block):
            copies = min(block, total - first)
            start = Rejections.start(np.repeat(target, copies, axis=0), np.repeat(draft, copies, axis=0))
            by_place = _by_place(start, candidates=candidates, grow=lambda rejected: rejected.drawn_longer(rng))
            blocks.append(np.stack(list(by_place), axis=-1))
        drawn = np.concatenate(blocks)
        return drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / np.sqrt(total)

    def _start(self, p: FloatArray, q: FloatArray, *, candidates: int) -> State:
        return State(p, q)

    def _after(self, state: State, tokens: IntArray) -> State:
        assert state.q is not None
        return State(residual_law(state.p, state.q), removed(state.q, tokens))


def _by_place(
    rejected: Rejections, *, candidates: int, grow: Callable[[Rejections], Rejections]
) -> Iterator[FloatArray]:
    """The acceptance of one place after the other, for each pair of laws."""
    yield np.minimum(rejected.p, rejected.q).sum(axis=-1)
    for place in range(1, candidate_count(candidates)):
        yield rejected.total(rejected.weight * rejected.next_acceptance())
        if place < candidates - 1:
            rejected = grow(rejected)
