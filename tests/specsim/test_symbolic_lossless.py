"""Losslessness with symbols for the laws: in every region of p and q what is emitted is the target's law, as a formula.

The rules are the enumerating twins, which the package is tested against elsewhere; see `tests.reference.guided`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest

from tests.reference import exact, exact_rules, exact_trees
from tests.reference.guided import Guided, laws, numbers

Difference = list[Guided]
"""Emitted minus target, for every text."""
Play = Callable[[list[Guided]], Difference]


def chain(rule: exact.Rule, *, gamma: int, vocabulary: int) -> tuple[int, Play]:
    """How many free shares there are, and the game: laws for every prefix, one round, the rest from the target."""
    p_texts = [text for k in range(gamma + 1) for text in product(range(vocabulary), repeat=k)]
    q_texts = [text for text in p_texts if len(text) < gamma]

    def play(shares: list[Guided]) -> Difference:
        rows = laws(shares, vocabulary)
        p, q = dict(zip(p_texts, rows, strict=False)), dict(zip(q_texts, rows[len(p_texts) :], strict=True))
        found = exact_rules.round_text(p.__getitem__, q.__getitem__, rule, gamma=gamma)
        return [
            found.get(text, 0) - prod(p[text[:k]][x] for k, x in enumerate(text))
            for text in product(range(vocabulary), repeat=gamma + 1)
        ]

    return (vocabulary - 1) * (len(p_texts) + len(q_texts)), play


def candidates(judge: exact_trees.Judge, draws: exact_trees.Draws, *, count: int, vocabulary: int) -> tuple[int, Play]:
    """The same for one token with several candidates."""

    def play(shares: list[Guided]) -> Difference:
        p, q = laws(shares, vocabulary)
        found = exact_trees.emitted(exact_trees.step_law(p, q, judge, draws, count=count), vocabulary)
        return [one - other for one, other in zip(found, p, strict=True)]

    return 2 * (vocabulary - 1), play


def point(draw: random.Random, size: int, vocabulary: int) -> list[Fraction]:
    """Free shares of random laws without zeros."""
    shares: list[Fraction] = []
    while len(shares) < size:
        weights = [Fraction(draw.randint(1, 99)) for _ in range(vocabulary)]
        shares += [weight / sum(weights) for weight in weights[:-1]]
    return shares


def regions(size: int, play: Play, *, vocabulary: int, points: int) -> list[Sequence[Any]]:
    """The formulas of the difference in every region that one of many random points lies in."""
    draw = random.Random(1)
    found: dict[tuple[bool, ...], Sequence[Any]] = {}
    for _ in range(points):
        values = point(draw, size, vocabulary)
        traced = numbers(values, symbolic=False)
        play(traced)
        region = tuple(traced[0].decisions)
        if region not in found:
            followed = numbers(values, symbolic=True)
            forms = [difference.form for difference in play(followed)]
            if not followed[0].decisions.on_edge:
                found[region] = forms
    return list(found.values())


GAMES = {
    "rejection, 3 tokens": (chain(exact.rejection, gamma=1, vocabulary=3), 3, 6),
    "rejection, 2 drafts": (chain(exact.rejection, gamma=2, vocabulary=2), 2, 8),
    "one-hot drafts": (chain(exact.lookup, gamma=2, vocabulary=2), 2, 1),
    "block, 3 tokens": (chain(exact_rules.block, gamma=1, vocabulary=3), 3, 6),
    "block, 2 drafts": (chain(exact_rules.block, gamma=2, vocabulary=2), 2, 8),
    "block, 3 tokens and 2 drafts": (chain(exact_rules.block, gamma=2, vocabulary=3), 3, 3),
    "recursive, with replacement": (
        candidates(exact_trees.recursive_with_replacement, exact_trees.independent, count=2, vocabulary=3),
        3,
        6,
    ),
    "recursive, without replacement": (
        candidates(exact_trees.recursive_without_replacement, exact_trees.distinct, count=2, vocabulary=3),
        3,
        6,
    ),
}
"""By name: the game, its vocabulary, and how many regions there are at least."""


@pytest.mark.parametrize("name", GAMES)
def test_the_difference_is_zero_as_a_formula(name: str) -> None:
    (size, play), vocabulary, least = GAMES[name]
    found = regions(size, play, vocabulary=vocabulary, points=150 if size < 20 else 3)
    assert len(found) >= least
    assert all(form == 0 for forms in found for form in forms)


FAULTS = {
    "correction from p": (chain(exact.residual_is_p, gamma=1, vocabulary=2), 2),
    "bonus from q": (chain(exact.bonus_from_q, gamma=1, vocabulary=2), 2),
    "first coin that fails": (chain(exact_rules.early_exit, gamma=2, vocabulary=2), 2),
    "unscaled residual": (chain(exact_rules.unscaled_residual, gamma=2, vocabulary=3), 3),  # of 2, it is the scaled one
    "second candidate against p": (
        candidates(exact_trees.second_against_p, exact_trees.independent, count=2, vocabulary=2),
        2,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_leaves_a_formula_that_is_not_zero(name: str) -> None:
    """At the first of many random points where the laws differ."""
    (size, play), vocabulary = FAULTS[name]
    draw = random.Random(1)
    points = (point(draw, size, vocabulary) for _ in range(60))
    values = next(values for values in points if any(play(numbers(values, symbolic=False))))
    assert any(difference.form != 0 for difference in play(numbers(values, symbolic=True)))


def test_guided_numbers_compute_what_their_values_do() -> None:
    x, y = numbers([Fraction(1, 3), Fraction(3, 4)], symbolic=True)
    made = min(1, (2 - x) / y) * 3 + 1 / x - Fraction(1, 2) * y
    assert made.value == 3 + 3 - Fraction(3, 8)
    assert made.form == 3 + 1 / x.form - y.form / 2
    assert x.decisions == [False]  # (2 - x) / y is not below 1
    assert not bool(x - x)
