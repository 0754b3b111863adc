"""Rejected prefixes of candidates that are drawn without replacement, with their probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.distributions import sample
from specsim.errors import InputError
from specsim.verifiers.multi_draft.in_order import residual_law
from specsim.verifiers.multi_draft.sorted_rows import places, running_sum

MOST_NUMBERS = 20_000_000
"""Largest table of rejected prefixes times vocabulary that an exact answer may build [1]."""
HUGE = 2.0**500
"""A power of two, so exact, that keeps quotients by the least positive numbers from overflowing [1]."""


class Rejections(NamedTuple):
    """M rejected prefixes with their probabilities, whose laws they are of, and what they leave."""

    pairs: int
    owner: IntArray
    weight: FloatArray
    p: FloatArray
    q: FloatArray

    @classmethod
    def start(cls, p: FloatArray, q: FloatArray) -> Rejections:
        return cls(len(p), np.arange(len(p)), np.ones(len(p)), p, q)

    def total(self, values: FloatArray) -> FloatArray:
        """Summed for each pair of laws."""
        return np.asarray(np.bincount(self.owner, values, minlength=self.pairs), dtype=np.float64)

    def all_longer(self) -> Rejections:
        """Every prefix that is longer by one rejected candidate."""
        chances = np.maximum(self.q - self.p, 0)
        rows, tokens = np.nonzero(chances)
        if rows.size * chances.shape[-1] > MOST_NUMBERS:
            raise InputError(
                f"candidates must be fewer for {chances.shape[-1]} tokens, since {rows.size} rejected prefixes are too"
                " many for an exact answer; estimated_acceptance draws them"
            )
        weight = self.weight[rows] * chances[rows, tokens]
        left = residual_law(self.p, self.q)[rows]
        return Rejections(self.pairs, self.owner[rows], weight, left, removed(self.q[rows], tokens))

    def drawn_longer(self, rng: np.random.Generator) -> Rejections:
        """One prefix longer by one rejected candidate for each, drawn by its probability."""
        chances = np.maximum(self.q - self.p, 0)
        mass = chances.sum(axis=-1)
        chances = np.where(mass[:, None] > 0, chances, self.q + np.finfo(np.float64).tiny)
        tokens = sample(chances, rng.random(len(mass)))
        return Rejections(
            self.pairs, self.owner, self.weight * mass, residual_law(self.p, self.q), removed(self.q, tokens)
        )

    def next_acceptance(self) -> FloatArray:
        """Probability that this candidate is rejected and the next one stands, shape (M,).

        The next one stands with sum_y min(p'(y), q(y) / (1 - q(x))) after x was rejected. p' is the same for all x, so
        one sort by p' / q answers for all of them; x itself adds nothing, since p'(x) is 0 and it comes first. The mass
        of q past a place is summed from the end: where q(x) is nearly 1, subtraction would leave nothing of it.
        """
        rejected, after = np.maximum(self.q - self.p, 0), residual_law(self.p, self.q)
        draft = self.q * HUGE
        ratios = np.divide(after, draft, out=np.full_like(after, np.inf), where=draft > 0)
        order = np.argsort(ratios, axis=-1)
        ratios = np.take_along_axis(ratios, order, axis=-1)
        below = running_sum(np.take_along_axis(after, order, axis=-1))
        above = running_sum(np.take_along_axis(draft, order, axis=-1)[:, ::-1])[:, ::-1]
        rest = others(self.q) * HUGE
        cut = places(ratios, np.divide(1.0, rest, out=np.zeros_like(rest), where=rest > 0), side="right")
        drawn = np.divide(np.take_along_axis(above, cut, axis=-1), rest, out=np.zeros_like(rest), where=rest > 0)
        stands = np.take_along_axis(below, cut, axis=-1) + drawn
        return np.asarray((rejected * np.minimum(stands, 1)).sum(axis=-1))


def others(q: FloatArray) -> FloatArray:
    """1 - q, the largest of a row summed up from the others, since subtraction would leave little of it."""
    rows, largest = np.arange(len(q)), q.argmax(axis=-1)
    rest, light = 1 - q, q.copy()
    light[rows, largest] = 0
    rest[rows, largest] = light.sum(axis=-1)
    return rest


def removed(q: FloatArray, tokens: IntArray) -> FloatArray:
    """Laws without one token each, normalised; zeros where nothing is left."""
    rows = np.arange(len(tokens))
    rest = q.astype(np.float64)
    rest[rows, tokens] = 0
    totals = rest.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(rest, totals, out=rest, where=totals > 0))
