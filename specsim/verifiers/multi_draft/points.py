"""Draws as points on [0, 1], moved so that the first of K has a given law: how an optimal candidate is picked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.checks import FloatArray, IntArray
from specsim.verifiers.multi_draft.optimum import by_ratio
from specsim.verifiers.multi_draft.sorted_rows import places, running_sum

HALVINGS = 60


class Points(NamedTuple):
    """Where draws lie on [0, 1] and where they are moved to, for N pairs of laws; see `Optimal`.

    Tokens are in the order of falling p / q.
    """

    candidates: int
    place: IntArray
    """(N, V): where each token is in that order."""
    edges: FloatArray
    """(N, V + 1): of the intervals on [0, 1]."""
    share: FloatArray
    """(N, V): the law of the draw whose moved point comes first."""
    density: FloatArray
    """(N, V): of that law with respect to length."""
    turn: FloatArray
    """(N, V): G' exceeds the density from the left edge of the interval to here."""
    excess: FloatArray
    """(N, V + 1): integral of (G' - density)+ up to each edge."""
    deficit: FloatArray
    """(N, V + 1): integral of (density - G')+ up to each edge."""

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray, *, candidates: int) -> Points:
        order = by_ratio(p, q)[:, ::-1]
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(p.shape[-1])[None, :], axis=-1)
        target, draft = (np.take_along_axis(law, order, axis=-1) for law in (p, q))
        mass, edges = (np.minimum(sums / sums[:, -1:], 1.0) for sums in (running_sum(target), running_sum(draft)))
        share = np.maximum(target + np.diff(_shift(_first_point(edges, candidates) - mass)), 0)
        width = np.diff(edges)
        density = np.divide(share, width, out=np.zeros_like(width), where=width > 0)
        turn = np.clip(_where_slope_is(density, candidates), edges[:, :-1], edges[:, 1:])
        at_turn = _first_point(turn, candidates)
        rise = at_turn - _first_point(edges[:, :-1], candidates) - density * (turn - edges[:, :-1])
        fall = density * (edges[:, 1:] - turn) - (_first_point(edges[:, 1:], candidates) - at_turn)
        excess, deficit = (running_sum(np.maximum(part, 0)) for part in (rise, fall))
        return cls(candidates, place, edges, share, density, turn, excess, deficit)

    def selection(self) -> FloatArray:
        """The law of the picked candidate by token, (N, V)."""
        return self._at(self.share, self.place)

    def of_draws(self, tokens: IntArray, rng: np.random.Generator) -> FloatArray:
        """A point for each candidate, (N, K): uniform on its token's interval, then moved."""
        place = np.take_along_axis(self.place, tokens, axis=-1)
        left, right = self._at(self.edges, place), self._at(self.edges, place + 1)
        points = left + (right - left) * rng.random(tokens.shape)
        if self.candidates == 1:
            return points
        partners = self._partners(points, place)
        here, there = _slope(points, self.candidates), _slope(partners, self.candidates)
        off, gap = np.abs(here - self._at(self.density, place)), np.abs(here - there)
        moves = rng.random(tokens.shape) * gap < off
        return np.where(moves, partners, points)

    def _partners(self, points: FloatArray, place: IntArray) -> FloatArray:
        """What each point would change places with: as much deficit before it as there is excess before the point."""
        turn, density = self._at(self.turn, place), self._at(self.density, place)
        is_excess = points < turn
        edge = np.where(is_excess, self._at(self.edges, place), turn)
        grown = np.abs(
            _first_point(points, self.candidates) - _first_point(edge, self.candidates) - density * (points - edge)
        )
        level = grown + np.where(is_excess, self._at(self.excess, place), self._at(self.deficit, place))
        return np.where(is_excess, self._inverse(level, of_deficit=True), self._inverse(level, of_deficit=False))

    def _inverse(self, level: FloatArray, *, of_deficit: bool) -> FloatArray:
        """Where the deficit (or the excess) up to a point reaches a level."""
        sums = self.deficit if of_deficit else self.excess
        place = np.minimum(places(sums[:, 1:], level, side="left"), self.density.shape[-1] - 1)
        left, turn, right = self._at(self.edges, place), self._at(self.turn, place), self._at(self.edges, place + 1)
        low, high = (turn, right) if of_deficit else (left, turn)
        start, density, wanted = low, self._at(self.density, place), level - self._at(sums, place)
        base = _first_point(start, self.candidates)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            grown = np.abs(_first_point(middle, self.candidates) - base - density * (middle - start))
            low, high = np.where(grown < wanted, middle, low), np.where(grown < wanted, high, middle)
        return (low + high) / 2

    @staticmethod
    def _at(rows: FloatArray, place: IntArray) -> FloatArray:
        return np.take_along_axis(rows, place, axis=-1)


def _shift(slack: FloatArray) -> FloatArray:
    """What the running sums of p are changed by, (N, V + 1), given how far G is above them.

    The law of the picked draw may have running sums up to G. Before the place where G falls short most, p is cut down
    to that; behind it, what was cut off is filled in again as early as G lets it. So it is at most p before and at
    least p behind, and no law that fits under G shares more with p; its density still falls.
    """
    is_before = np.arange(slack.shape[-1]) < slack.argmin(axis=-1)[:, None]
    before = np.minimum(np.minimum.accumulate(slack, axis=-1), 0)
    behind = np.minimum.accumulate(slack[:, ::-1], axis=-1)[:, ::-1]
    return np.where(is_before, before, behind)


def _first_point(t: FloatArray, candidates: int) -> FloatArray:
    """G(t): the probability that the least of K uniform points is below t."""
    return 1 - (1 - t) ** candidates


def _slope(t: FloatArray, candidates: int) -> FloatArray:
    return candidates * (1 - t) ** (candidates - 1)


def _where_slope_is(density: FloatArray, candidates: int) -> FloatArray:
    if candidates == 1:
        return np.where(density < 1, 1.0, 0.0)
    return 1 - (density / candidates) ** (1 / (candidates - 1))
