"""Symbols that a witness guides: exact twins run on them as they stand, and say what they compute as a formula.

A number is a rational function of symbols together with its value at one rational point. Arithmetic is done on both;
comparisons look at the value alone and are noted. A rule that takes minima and branches is thus followed through one
region of its arguments, in which its result is one formula; other points lead through the other regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sympy import QQ
from sympy.polys.fields import FracElement, field


class Decisions(list[bool]):
    """Outcomes of comparisons, in their order."""

    on_edge = False
    """Whether two different formulas had one value: then the point lies between regions, and in none."""


class Guided:
    """A rational function, its value at the witness, and the comparisons made so far on the way."""

    __slots__ = ("decisions", "form", "value")

    def __init__(self, form: FracElement | None, value: Fraction, decisions: Decisions) -> None:
        self.form, self.value, self.decisions = form, value, decisions

    def _with(self, other: Any, form: Callable[[Any, Any], Any], value: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Guided):
            there, here = other.form, other.value
        elif isinstance(other, (int, Fraction)):
            there, here = QQ(Fraction(other).numerator, Fraction(other).denominator), Fraction(other)
        else:
            return NotImplemented
        return Guided(None if self.form is None else form(self.form, there), value(self.value, here), self.decisions)

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: -a + b, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a, lambda a, b: b / a)

    __radd__, __rmul__ = __add__, __mul__

    def _decide(self, other: Any, decide: Callable[[Fraction, Fraction], bool]) -> bool:
        difference = self - other
        if difference.value == 0 and difference.form is not None and difference.form != 0:
            self.decisions.on_edge = True
        decision = decide(difference.value, Fraction(0))
        self.decisions.append(decision)
        return decision

    def __lt__(self, other: Any) -> bool:
        return self._decide(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> bool:
        return self._decide(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> bool:
        return self._decide(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> bool:
        return self._decide(other, lambda a, b: a >= b)

    def __eq__(self, other: object) -> bool:
        return self._decide(other, lambda a, b: a == b)

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = None  # type: ignore[assignment]


def numbers(values: Sequence[Fraction], *, symbolic: bool) -> list[Guided]:
    """One symbol for each value, or values alone: enough to see which region a point lies in."""
    decisions = Decisions()
    forms = field([f"x{place}" for place in range(len(values))], QQ)[1:] if symbolic else [None] * len(values)
    return [Guided(form, value, decisions) for form, value in zip(forms, values, strict=True)]


def laws(shares: Sequence[Guided], vocabulary: int) -> list[tuple[Any, ...]]:
    """Laws whose last token takes what the others leave."""
    rows = [shares[start : start + vocabulary - 1] for start in range(0, len(shares), vocabulary - 1)]
    return [(*row, 1 - sum(row)) for row in rows]
