"""Numbers as people read them; the only place where SI values are scaled."""

from __future__ import annotations

import math

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def human(value: float, unit: str = "", *, digits: int = 3) -> str:
    """A number with an SI prefix and `digits` significant digits.

    Examples
    --------
    >>> human(4.776e-3, "s"), human(16e9, "B"), human(3.35e12, "B/s")
    ('4.78 ms', '16.0 GB', '3.35 TB/s')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {unit}".strip()
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale or scale == _PREFIXES[-1][0]:
            return f"{significant(value / scale, digits=digits)} {prefix}{unit}".strip()
    raise AssertionError("the last prefix takes every value")


def significant(value: float, *, digits: int = 3) -> str:
    """A number with `digits` significant digits and no exponent.

    Examples
    --------
    >>> significant(2.7731), significant(209.42, digits=4)
    ('2.77', '209.4')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def percent(value: float, *, digits: int = 1) -> str:
    """A ratio as a percentage.

    Examples
    --------
    >>> percent(0.0731)
    '7.3 %'
    """
    return f"{100 * value:.{digits}f} %"
