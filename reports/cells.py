"""Rows of an outcome as cells that a person reads and frames that a chart takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from specsim import units
from specsim.errors import InputError

Row = Mapping[str, Any]
NOTHING = "–"


def answered(outcome: Row) -> Row:
    """The result of an outcome with an answer.

    Raises
    ------
    InputError
        Another schema, or no answer.

    Examples
    --------
    >>> answered({"schema": 1, "result": {"answer": "Yes."}})
    {'answer': 'Yes.'}
    """
    if outcome.get("schema") != 1:
        raise InputError(f"outcome schema must be 1, got {outcome.get('schema')!r}")
    result = outcome.get("result")
    if not isinstance(result, Mapping) or not result.get("answer"):
        raise InputError("outcome must have a result with an answer")
    return result


def rows(result: Row, key: str) -> list[Row]:
    """The list under `key`, empty when it is absent or null.

    Raises
    ------
    InputError
        It is there but is not a list of objects.

    Examples
    --------
    >>> rows({"pit": None}, "pit"), rows({}, "pit")
    ([], [])
    """
    found = result.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(row, Mapping) for row in found):
        raise InputError(f"result.{key} must be a list of objects")
    return found


def frame(result: Row, key: str, *, text: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """The list under `key` as a frame, without the rows that lack a finite number; no rows give an empty frame.

    Raises
    ------
    InputError
        Not a list of objects, or no row has one of the columns.

    Examples
    --------
    >>> passes = {"passes": [{"dtype": "float32", "seconds": 0.1}, {"dtype": "float32", "seconds": None}]}
    >>> frame(passes, "passes", text=["dtype"], numbers=["seconds"])["seconds"].tolist()
    [0.1]
    """
    columns = [*text, *numbers]
    whole = pd.DataFrame(rows(result, key))
    if whole.empty:
        return pd.DataFrame(columns=columns)
    lacking = [column for column in columns if column not in whole.columns]
    if lacking:
        raise InputError(f"result.{key} has no {lacking[0]!r} in any row; it has {', '.join(map(str, whole.columns))}")
    values = whole[list(numbers)].apply(pd.to_numeric, errors="coerce").replace([math.inf, -math.inf], math.nan)
    kept: pd.DataFrame = whole.assign(**values)[values.notna().all(axis=1)]
    return kept


def thinned(frame: pd.DataFrame, *, by: Sequence[str], along: str, most: int) -> pd.DataFrame:
    """A frame of at most about `most` rows: of a larger one, neighbours along a column are averaged within each group.

    What is no number keeps the value of the first neighbour; a flag holds where it holds for all.

    Examples
    --------
    >>> long = pd.DataFrame({"drafter": "ngram", "batch": range(100_000), "speedup": 2.0, "fits": True})
    >>> short = thinned(long, by=["drafter"], along="batch", most=4)
    >>> short["batch"].tolist(), short["speedup"].tolist(), short["fits"].tolist()
    ([12499.5, 37499.5, 62499.5, 87499.5], [2.0, 2.0, 2.0, 2.0], [True, True, True, True])
    """
    if len(frame) <= most:
        return frame
    ordered = frame.sort_values([*by, along], kind="stable")
    groups = ordered.groupby(list(by), sort=False)
    pieces = max(1, most // groups.ngroups)
    piece = groups.cumcount() * pieces // groups[along].transform("size")
    how = {name: _average(ordered[name]) for name in ordered.columns if name not in by}
    together = ordered.groupby([*by, piece.rename("piece")], sort=False).agg(how).reset_index()
    return together[list(frame.columns)]


def _average(column: pd.Series[Any]) -> str:
    if pd.api.types.is_bool_dtype(column):
        return "all"
    return "mean" if pd.api.types.is_numeric_dtype(column) else "first"


def missing(value: object) -> bool:
    """Whether there is no number to show: null, NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def figure(value: Any) -> str:
    """A number with three significant digits, or a dash.

    Examples
    --------
    >>> figure(1.6172), figure(None)
    ('1.62', '–')
    """
    return NOTHING if missing(value) else units.significant(float(value))


def count(value: Any) -> str:
    """A whole number with thin spaces between thousands, or a dash."""
    return NOTHING if missing(value) else f"{value:,.0f}".replace(",", "\u2009")


def seconds(value: Any) -> str:
    """A time with an SI prefix, or a dash."""
    return NOTHING if missing(value) else units.human(float(value), "s")


def percent(value: Any) -> str:
    """A ratio as a percentage, or a dash."""
    return NOTHING if missing(value) else units.percent(float(value))


def small(value: Any) -> str:
    """A probability or distance that may be tiny: powers of ten below a thousandth.

    Examples
    --------
    >>> small(0.0821), small(3.1e-12)
    ('0.0821', '3.1 × 10⁻¹²')
    """
    if missing(value) or value == 0 or abs(value) >= 1e-3:
        return figure(value)
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def interval(row: Row, name: str, show: Any = figure, *, low: str | None = None, high: str | None = None) -> str:
    """A value and its interval, such as `1.62 (1.51 – 1.74)`; without an interval the value alone.

    Examples
    --------
    >>> interval({"tau": 2.0, "tau_low": 1.9, "tau_high": 2.1}, "tau")
    '2.00 (1.90 – 2.10)'
    """
    ends = row.get(low or f"{name}_low"), row.get(high or f"{name}_high")
    value = show(row.get(name))
    return value if any(missing(end) for end in ends) else f"{value} ({show(ends[0])} – {show(ends[1])})"
